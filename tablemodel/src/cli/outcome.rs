//! What a command has to say, as text or as JSON, and its exit code.

use std::{fmt, io, path::Path};

use serde_json::{Value as Json, json};

/// All is well.
pub(super) const DONE: u8 = 0;
/// The command could not be carried out.
pub(super) const FAILED: u8 = 1;
/// Something has drifted, is refused, or is not as it should be.
pub(super) const DRIFTED: u8 = 2;
/// Entities are set aside.
pub(super) const SET_ASIDE: u8 = 3;
/// Something passing is in the way: other programs, a pause, a busy store.
pub(super) const WAITING: u8 = 4;
/// Stopped by Ctrl-C, as shells say it.
pub(super) const STOPPED: u8 = 130;

/// What a command ended with.
#[derive(Debug)]
pub(super) struct Outcome {
    pub(super) code: u8,
    /// For people, a line each.
    pub(super) lines: Vec<String>,
    /// For programs.
    pub(super) data: Json,
}

impl Outcome {
    pub(super) fn failed(error: &Failure) -> Self {
        Self::error(FAILED, &error.to_string())
    }

    /// What went wrong, with the code of its kind.
    pub(super) fn error(code: u8, error: &str) -> Self {
        Self { code, lines: vec![format!("error: {error}")], data: json!({ "error": error }) }
    }

    /// Whether there is no result to print.
    fn is_error(&self) -> bool {
        self.data.get("error").is_some()
    }

    /// Prints it, and gives the exit code.
    pub(super) fn print(self, as_json: bool) -> u8 {
        use io::Write;
        let is_error = self.is_error();
        let mut text = match (as_json, self.data) {
            (true, Json::Object(mut data)) => {
                data.insert("exit".to_owned(), json!(self.code));
                Json::Object(data).to_string()
            }
            _ => self.lines.join("\n"),
        };
        if !text.is_empty() {
            text.push('\n');
        }
        let told = match is_error && !as_json {
            true => io::stderr().write_all(text.as_bytes()),
            false => io::stdout().write_all(text.as_bytes()).and_then(|()| io::stdout().flush()),
        };
        match told {
            // A reader that has gone away needs no answer.
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe && self.code == DONE => {
                let _ = writeln!(io::stderr(), "error: what was done cannot be told: {error}");
                FAILED
            }
            _ => self.code,
        }
    }
}

/// The object with one more member.
pub(super) fn with(mut object: Json, name: &str, value: Json) -> Json {
    if let Json::Object(members) = &mut object {
        members.insert(name.to_owned(), value);
    }
    object
}

/// Why a command could not be carried out, and what to do.
#[derive(Debug)]
pub(super) struct Failure(pub(super) String);

impl Failure {
    pub(super) fn file(what: &str, path: &Path, error: &io::Error) -> Self {
        Self(format!("cannot {what} {}: {error}", path.display()))
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

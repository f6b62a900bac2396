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
        told_as(self.code, told, |line| drop(writeln!(io::stderr(), "{line}")))
    }
}

/// The exit code where an answer with this one was written so: a reader that has gone away needs none, a full disk is a failure.
fn told_as(code: u8, told: io::Result<()>, tell: impl FnOnce(String)) -> u8 {
    match told {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe && code == DONE => {
            tell(format!("error: what was done cannot be told: {error}"));
            FAILED
        }
        _ => code,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_that_cannot_be_written_is_a_failure_unless_nobody_reads_it() {
        let code = |code, kind: Option<io::ErrorKind>| {
            let mut lines = Vec::new();
            let code = told_as(code, kind.map_or(Ok(()), |kind| Err(kind.into())), |line| lines.push(line));
            (code, lines.len())
        };
        assert_eq!(code(DONE, None), (DONE, 0));
        assert_eq!(code(DONE, Some(io::ErrorKind::BrokenPipe)), (DONE, 0));
        assert_eq!(code(DONE, Some(io::ErrorKind::StorageFull)), (FAILED, 1));
        assert_eq!(code(SET_ASIDE, Some(io::ErrorKind::StorageFull)), (SET_ASIDE, 0));
    }
}

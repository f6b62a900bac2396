//! `backup` and `restore`: the file of a store, as it is at one moment, to a new file, with the blobs beside it.
//! How each is told; what is done is the library's.

use serde_json::json;

use super::words::Copied;
use crate::cli::outcome::{DONE, Outcome};

/// What is said of a backup that was made.
pub(super) fn made(words: &Copied) -> Outcome {
    done(format!("{}: the store as it is now, with the blobs beside it", words.path.display()), words)
}

/// What is said of a store that was made of a backup.
pub(super) fn restored(words: &Copied) -> Outcome {
    done(format!("the store is what {} has, with the blobs beside that", words.path.display()), words)
}

fn done(line: String, words: &Copied) -> Outcome {
    Outcome { code: DONE, lines: vec![line], data: json!({ "backup": words.path.display().to_string() }) }
}

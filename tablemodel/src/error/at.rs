//! A key as the message of an error has it.

use std::fmt;

use tablemodel_store::RowKey;

/// Whole up to 256 characters, of a longer one the beginning; `Error::key` has it whole.
pub(super) struct At<'a>(pub(super) &'a RowKey);

impl fmt::Display for At<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (before, text) in [("`", &self.0.partition), ("`, `", &self.0.row)] {
            f.write_str(before)?;
            match text.char_indices().nth(256) {
                Some((end, _)) => write!(f, "{}..", text.get(..end).unwrap_or_default())?,
                None => f.write_str(text)?,
            }
        }
        f.write_str("`")
    }
}

#[cfg(test)]
mod tests {
    use tablemodel_store::RowKey;

    use crate::{Error, ErrorKind};

    #[test]
    fn of_a_long_key_a_message_has_the_beginning() {
        let long = "ä".repeat(257);
        let told = |row: &str| Error::new(ErrorKind::NotFound, "no").at_key(RowKey::new("p", row)).to_string();
        assert_eq!(told("r"), "no (at `p`, `r`)");
        assert_eq!(told(&long), format!("no (at `p`, `{}..`)", "ä".repeat(256)));
        assert_eq!(told(&"ä".repeat(256)), format!("no (at `p`, `{}`)", "ä".repeat(256)));
        assert_eq!(Error::new(ErrorKind::NotFound, "no").at_key(RowKey::new("p", &*long)).key().unwrap().row, long);
    }
}

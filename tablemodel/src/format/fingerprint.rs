//! Which format it is, in 128 bits.
//! What is hashed is the canonical text.

use std::{fmt, str::FromStr};

use twox_hash::XxHash3_128;

use super::Format;

/// The XXH3 (128 bits, seed 0) of a format's discriminator and of its sorted lines, each with a line feed.
///
/// It is there to notice accidents: a lock edited by hand, a merge gone wrong, a store of another format. For these 128
/// well-mixed bits are enough; against someone who forges a lock no hash beside it would help, and reviews see the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Fingerprint(pub u128);

impl Fingerprint {
    /// The fingerprint of any text.
    pub fn of_text(text: &str) -> Self {
        Self(XxHash3_128::oneshot(text.as_bytes()))
    }
}

impl Format {
    /// The fingerprint of the format.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut text = self.discriminator();
        for line in self.lines() {
            text.push('\n');
            text.push_str(&line);
        }
        Fingerprint::of_text(&(text + "\n"))
    }
}

/// 32 hexadecimal digits.
impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl FromStr for Fingerprint {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let is_hex = text.len() == 32 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        u128::from_str_radix(text, 16).ok().filter(|_| is_hex).map(Self).ok_or(())
    }
}

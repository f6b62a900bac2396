//! The text codec: injective, in the order of UTF-16 code units, prefix-exact, legal, and readable.
//! It knows one text and the character that separates it from what follows, and no template.
//! The table of escapes stands in `docs/keys.md`.

use super::{digits, shape::Alphabet};

/// What an encoded text can contain, beside all that is not ASCII.
pub(super) const ALPHABET: Alphabet = Alphabet::span(b'$', b'~').without(b"%'/?\\");

/// What stays as it is whatever follows.
const VERBATIM: Alphabet = ALPHABET.without(b"$&.>[~");

/// The same by byte: keys are looked through byte by byte.
#[expect(clippy::indexing_slicing, reason = "a byte below 128 is a place of 256; a mistake would not compile")]
static IS_VERBATIM: [bool; 256] = {
    let mut is_verbatim = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        is_verbatim[byte] = VERBATIM.has(byte as u8);
        byte += 1;
    }
    is_verbatim
};

/// A character that is never verbatim, where nothing has to be kept apart.
const NO_SEPARATOR: u8 = b'%';

/// What the escapes themselves are made of: a separator among these would be found inside them.
const IN_ESCAPES: Alphabet = Alphabet::of(b"$&.>[~}").and(Alphabet::of(b"0123456789ABCDEF"));

/// Whether this byte can separate a text from what follows.
pub(super) const fn separates(byte: u8) -> bool {
    byte.is_ascii() && !IN_ESCAPES.has(byte)
}

/// Appends the encoded form of `text`, which `separator` follows.
pub(super) fn push(out: &mut String, text: &str, separator: Option<u8>) {
    if is_verbatim(text, separator) {
        return out.push_str(text);
    }
    let mut rest = text;
    loop {
        let (plain, tail) = rest.split_at(run(rest, separator));
        out.push_str(plain);
        let mut chars = tail.chars();
        let Some(c) = chars.next() else { return };
        rest = chars.as_str();
        push_special(out, c, rest.chars().next(), separator);
    }
}

/// How many bytes at the front of `text` stay as they are before `separator`.
fn run(text: &str, separator: Option<u8>) -> usize {
    let separator = separator.unwrap_or(NO_SEPARATOR);
    let stays = |byte: &u8| *byte != separator && IS_VERBATIM.get(usize::from(*byte)) == Some(&true);
    text.as_bytes().iter().take_while(|byte| stays(byte)).count()
}

/// Whether the text that has this code is the code itself: then no other code is read as that text.
pub(super) fn is_verbatim(code: &str, separator: Option<u8>) -> bool {
    run(code, separator) == code.len()
}

fn push_special(out: &mut String, c: char, next: Option<char>, separator: Option<u8>) {
    match c {
        '\0'..='%' => push_dollar(out, c),
        '&' => out.push_str("&0"),
        '\'' => out.push_str("&1"),
        '.' if next.is_some_and(|next| next >= '}') => out.push_str(".}"),
        '/' => out.push_str(".~"),
        '>' => out.push_str(">0"),
        '?' => out.push_str(">1"),
        '[' => out.push_str("[0"),
        '\\' => out.push_str("[1"),
        '~'..='\u{9F}' => {
            let place = c as u8 - b'~';
            out.extend(['~', char::from(b'0' + place / 10), char::from(b'0' + place % 10)]);
        }
        _ if separator.is_some_and(|byte| char::from(byte) == c) => push_dollar(out, c),
        _ => out.push(c),
    }
}

fn push_dollar(out: &mut String, c: char) {
    let hex = |nibble: u32| char::from_digit(nibble, 16).map(|digit| digit.to_ascii_uppercase());
    out.push('$');
    out.extend(hex(c as u32 >> 4));
    out.extend(hex(c as u32 & 0xF));
}

/// The text whose encoded form this is; a code that [`push`] would not write may give any text or `None`, so
/// whoever reads a key encodes again and compares.
pub(super) fn decode(code: &str) -> Option<String> {
    let mut text = String::with_capacity(code.len());
    let mut rest = code;
    loop {
        let (plain, tail) = rest.split_at(run(rest, None));
        text.push_str(plain);
        rest = tail;
        let Some(c) = rest.chars().next() else { return Some(text) };
        let (decoded, width) = match c {
            '$' => (char::from(u8::from_str_radix(rest.get(1..3)?, 16).ok()?), 3),
            '~' => (char::from(b'~'.checked_add(u8::try_from(digits::decimal(rest.get(1..3)?)?).ok()?)?), 3),
            '.' => match rest.as_bytes().get(1) {
                Some(b'~') => ('/', 2),
                Some(b'}') => ('.', 2),
                _ => ('.', 1),
            },
            '&' | '>' | '[' => (lead(c, *rest.as_bytes().get(1)?)?, 2),
            _ => (c, c.len_utf8()),
        };
        text.push(decoded);
        rest = rest.get(width..)?;
    }
}

/// Whether [`push`] writes `text` as `code`.
pub(super) fn is_code_of(code: &str, text: &str, separator: Option<u8>) -> bool {
    let mut written = String::with_capacity(code.len());
    push(&mut written, text, separator);
    written == code
}

fn lead(lead: char, second: u8) -> Option<char> {
    Some(match (lead, second) {
        ('&', b'1') => '\'',
        ('>', b'1') => '?',
        ('[', b'1') => '\\',
        (_, b'0') => lead,
        _ => return None,
    })
}

/// The least text above every encoded text that begins with the text of this code; `None` when there is none.
pub(super) fn end_of_prefix(code: &str) -> Option<String> {
    if code.ends_with('.') {
        return Some(format!("{code}~")); // `.~` is a slash, not a dot
    }
    successor(code)
}

/// The least text above all that begin with `prefix`, in the order of UTF-16 code units; `None` when there is none.
pub(super) fn successor(prefix: &str) -> Option<String> {
    let mut chars = prefix.chars();
    while let Some(last) = chars.next_back() {
        if let Some(next) = next_char(last) {
            let mut end = String::with_capacity(prefix.len() + 1);
            end.push_str(chars.as_str());
            end.push(next);
            return Some(end);
        }
    }
    None
}

/// The next character in the order of UTF-16 code units: U+0000 to U+D7FF, then U+10000 to U+10FFFF (written with
/// surrogates), then U+E000 to U+FFFF.
fn next_char(c: char) -> Option<char> {
    match c {
        '\u{D7FF}' => Some('\u{10000}'),
        '\u{10FFFF}' => Some('\u{E000}'),
        '\u{FFFF}' => None,
        _ => char::from_u32(c as u32 + 1),
    }
}

//! Texts without regard to case, as keys hold them.
//!
//! What is lower case is no question of the compiler's: a later version of Unicode gives more letters two cases, and keys that were
//! written before would not be found. So the letters are those of Unicode 16, and all others stay as they are.

/// Where the letters of Unicode 16 are that have another lower case. Between the ends of a range are no characters that it does not
/// have, and none gets another case later (Unicode Character Encoding Stability Policies, "Case Pair Stability").
const CASED: [(char, char); 49] = [
    ('\u{41}', '\u{376}'),
    ('\u{37F}', '\u{37F}'),
    ('\u{386}', '\u{38A}'),
    ('\u{38C}', '\u{38C}'),
    ('\u{38E}', '\u{3A1}'),
    ('\u{3A3}', '\u{52E}'),
    ('\u{531}', '\u{556}'),
    ('\u{10A0}', '\u{10C5}'),
    ('\u{10C7}', '\u{10C7}'),
    ('\u{10CD}', '\u{10CD}'),
    ('\u{13A0}', '\u{13F5}'),
    ('\u{1C89}', '\u{1C89}'),
    ('\u{1C90}', '\u{1CBA}'),
    ('\u{1CBD}', '\u{1CBF}'),
    ('\u{1E00}', '\u{1F0F}'),
    ('\u{1F18}', '\u{1F1D}'),
    ('\u{1F28}', '\u{1F3F}'),
    ('\u{1F48}', '\u{1F4D}'),
    ('\u{1F59}', '\u{1F59}'),
    ('\u{1F5B}', '\u{1F5B}'),
    ('\u{1F5D}', '\u{1F5D}'),
    ('\u{1F5F}', '\u{1F6F}'),
    ('\u{1F88}', '\u{1FAF}'),
    ('\u{1FB8}', '\u{1FBC}'),
    ('\u{1FC8}', '\u{1FCC}'),
    ('\u{1FD8}', '\u{1FDB}'),
    ('\u{1FE8}', '\u{1FEC}'),
    ('\u{1FF8}', '\u{1FFC}'),
    ('\u{2126}', '\u{2183}'),
    ('\u{24B6}', '\u{24CF}'),
    ('\u{2C00}', '\u{2CF2}'),
    ('\u{A640}', '\u{A69A}'),
    ('\u{A722}', '\u{A7CC}'),
    ('\u{A7D0}', '\u{A7D0}'),
    ('\u{A7D6}', '\u{A7DA}'),
    ('\u{A7DC}', '\u{A7DC}'),
    ('\u{A7F5}', '\u{A7F5}'),
    ('\u{FF21}', '\u{FF3A}'),
    ('\u{10400}', '\u{10427}'),
    ('\u{104B0}', '\u{104D3}'),
    ('\u{10570}', '\u{1057A}'),
    ('\u{1057C}', '\u{1058A}'),
    ('\u{1058C}', '\u{10592}'),
    ('\u{10594}', '\u{10595}'),
    ('\u{10C80}', '\u{10CB2}'),
    ('\u{10D50}', '\u{10D65}'),
    ('\u{118A0}', '\u{118BF}'),
    ('\u{16E40}', '\u{16E5F}'),
    ('\u{1E900}', '\u{1E921}'),
];

/// The text without regard to case: each character by itself, so that a prefix stays a prefix; the final sigma
/// as any other.
pub(super) fn fold(text: &str) -> String {
    let mut folded = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            _ if c.is_ascii() => folded.push(c.to_ascii_lowercase()),
            'ς' => folded.push('σ'),
            _ if is_cased(c) => folded.extend(c.to_lowercase()),
            _ => folded.push(c),
        }
    }
    folded
}

fn is_cased(c: char) -> bool {
    let after = CASED.partition_point(|(_, last)| *last < c);
    CASED.get(after).is_some_and(|(first, _)| *first <= c)
}

#[cfg(test)]
mod tests {
    use std::hash::Hasher;

    use twox_hash::XxHash3_64;

    use super::*;

    #[test]
    fn letters_are_folded_as_they_always_were() {
        let mut hash = XxHash3_64::with_seed(0);
        let mut count = 0;
        for c in char::MIN..=char::MAX {
            let text = c.to_string();
            let folded = fold(&text);
            if folded != text {
                count += 1;
                hash.write(text.as_bytes());
                hash.write(folded.as_bytes());
            }
            assert_eq!(fold(&folded), folded, "{c:?}");
        }
        assert_eq!((count, hash.finish()), (1_461, 17_603_345_018_620_080_962));
    }

    #[test]
    fn what_this_compiler_folds_otherwise_is_younger_than_unicode_16() {
        let of_std = |c: char| c.to_lowercase().map(|c| if c == 'ς' { 'σ' } else { c }).collect::<String>();
        let differing = |c: &char| fold(&c.to_string()) != of_std(*c);
        let others: Vec<char> = (char::MIN..=char::MAX).filter(differing).collect();
        if std::char::UNICODE_VERSION.0 <= 16 {
            assert_eq!(others, Vec::<char>::new());
        }
        if std::char::UNICODE_VERSION.0 == 17 {
            let of_17 = ['\u{A7CE}', '\u{A7D2}', '\u{A7D4}'].into_iter().chain('\u{16EA0}'..='\u{16EB8}');
            assert_eq!(others, of_17.collect::<Vec<_>>());
        }
    }

    #[test]
    fn ranges_ascend() {
        assert!(CASED.iter().all(|(first, last)| first <= last));
        assert!(CASED.windows(2).all(|pair| pair[0].1 < pair[1].0));
    }
}

//! Which lines differ, and how that is told.

use super::*;

const NONE: Passed<'static> = Passed { is_frozen: false, copies: false, declared: &[] };
const TIES: Passed<'static> = Passed { is_frozen: true, copies: true, declared: &[] };

fn lines(texts: &[&str]) -> Vec<u8> {
    texts.iter().flat_map(|text| [text.as_bytes(), b"\n"].concat()).collect()
}

#[test]
fn lines_are_the_same_in_any_order_and_whatever_is_reserved() {
    let locked = ["a", "b", "reserved X", "table T"];
    assert!(is_same(&lines(&["table T", "a", "b"]), &locked, NONE));
    assert!(is_same(&lines(&["b", "reserved Y", "table T", "a"]), &locked, NONE));
    for other in [&["a", "b"][..], &["a", "b", "c", "table T"], &["a", "b", "table U"], &[]] {
        assert!(!is_same(&lines(other), &locked, NONE), "{other:?}");
    }
}

/// The same number stands in the tests of the derive.
#[test]
fn the_sum_is_that_of_the_derive_in_whatever_order_and_whatever_is_reserved() {
    let expected = 0xD7BA_B258_9455_221C;
    assert_eq!(sum(&lines(&["table Company", "adopt", "property Age Edm.Int32 default as u8"])), expected);
    assert_eq!(
        sum(&lines(&["adopt", "reserved X", "property Age Edm.Int32 default as u8", "table Company"])),
        expected
    );
    assert_eq!(sum(b""), 0);
}

#[test]
fn a_frozen_struct_says_nothing_of_other_entities() {
    let locked = ["a", "aggregate A.B keeps count", "copy c optional"];
    assert!(is_same(&lines(&["a"]), &locked, TIES));
    assert!(!is_same(&lines(&["a"]), &locked, NONE));
    assert!(!is_same(&lines(&["b"]), &locked, TIES));
}

#[test]
fn a_line_ends_at_the_first_line_feed_wherever_it_is() {
    for length in 0..40 {
        for next in ["", "\n", "\x0b\x09\n", "b\nc\n"] {
            let text = format!("{}\n{next}", "é\x0b".repeat(length));
            let (line, rest) = first_line(text.as_bytes()).unwrap();
            assert_eq!((line, rest), ("é\x0b".repeat(length).as_bytes(), next.as_bytes()));
        }
        assert_eq!(first_line("a".repeat(length).as_bytes()), None);
    }
}

#[test]
fn what_is_gone_and_what_is_new_is_shown() {
    let mut room = [0; 100];
    let mut message = Lines::new(&mut room);
    let lines = Compared { facts: &lines(&["b", "c"]), locked: &["a", "b"], passed: NONE };
    let shown = lines.gone(0, &mut message);
    assert_eq!(lines.come(shown, &mut message), 2);
    let length = message.length();
    assert_eq!(&room[..length], b"  - a\n  + c\n");
}

#[test]
fn lines_beyond_those_that_are_noted_are_shown_too() {
    let all: Vec<_> = (0..NOTED + 4).map(|number| format!("{number:05}")).collect();
    let gone = [7, NOTED - 1, NOTED, NOTED + 3];
    let kept: Vec<_> = (0..all.len()).rev().filter(|at| !gone.contains(at)).map(|at| all[at].as_str()).collect();
    let (facts, locked) = (lines(&kept), all.iter().map(String::as_str).collect::<Vec<_>>());
    let mut room = [0; 100];
    let mut message = Lines::new(&mut room);
    let compared = Compared { facts: &facts, locked: &locked, passed: NONE };
    assert_eq!((compared.gone(0, &mut message), compared.come(0, &mut message)), (4, 0));
    let length = message.length();
    let shown: Vec<u8> = gone.iter().flat_map(|at| format!("  - {at:05}\n").into_bytes()).collect();
    assert_eq!(&room[..length], shown);
}

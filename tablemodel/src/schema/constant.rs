//! What constants are compared by: bytes, while the user's program compiles.
//!
//! A constant is evaluated step by step, so that each step does much.

use std::cmp::Ordering;

/// The order of the bytes of texts.
pub(super) const fn compare(a: &str, b: &str) -> Ordering {
    order(a.as_bytes(), b.as_bytes())
}

/// The order of bytes, in a constant: 16 at a time, since a constant is evaluated step by step.
pub(crate) const fn order(mut a: &[u8], mut b: &[u8]) -> Ordering {
    while let (Some((first, a_tail)), Some((second, b_tail))) = (a.split_first_chunk(), b.split_first_chunk()) {
        let (first, second) = (u128::from_be_bytes(*first), u128::from_be_bytes(*second));
        if first != second {
            return if first < second { Ordering::Less } else { Ordering::Greater };
        }
        (a, b) = (a_tail, b_tail);
    }
    while let ([first, a_tail @ ..], [second, b_tail @ ..]) = (a, b) {
        if *first != *second {
            return if *first < *second { Ordering::Less } else { Ordering::Greater };
        }
        (a, b) = (a_tail, b_tail);
    }
    match (a, b) {
        ([], []) => Ordering::Equal,
        ([], _) => Ordering::Less,
        _ => Ordering::Greater,
    }
}

/// Byte equality, in a constant.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && matches!(compare(a, b), Ordering::Equal)
}

#[expect(clippy::indexing_slicing, reason = "slice::get is not const for a shared helper; callers stay below len")]
pub(crate) const fn at<T>(items: &[T], index: usize) -> &T {
    &items[index]
}

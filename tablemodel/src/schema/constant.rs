//! What constants are compared by: bytes, while the user's program compiles.
//!
//! A constant is evaluated step by step, and entering a function costs as much as some twenty steps: so what is called for each
//! byte of a text is written with indices, and calls nothing.

use std::cmp::Ordering;

/// The order of the bytes of texts.
pub(super) const fn compare(a: &str, b: &str) -> Ordering {
    order(a.as_bytes(), b.as_bytes())
}

/// The order of bytes, in a constant.
#[expect(clippy::indexing_slicing, reason = "below both lengths")]
pub(crate) const fn order(a: &[u8], b: &[u8]) -> Ordering {
    let mut i = 0;
    while i < a.len() && i < b.len() {
        if a[i] != b[i] {
            return if a[i] < b[i] { Ordering::Less } else { Ordering::Greater };
        }
        i += 1;
    }
    if a.len() < b.len() {
        Ordering::Less
    } else if a.len() > b.len() {
        Ordering::Greater
    } else {
        Ordering::Equal
    }
}

/// Byte equality, in a constant.
pub(crate) const fn same(a: &str, b: &str) -> bool {
    same_bytes(a.as_bytes(), b.as_bytes())
}

/// The same, of bytes.
pub(crate) const fn same_bytes(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && matches!(order(a, b), Ordering::Equal)
}

#[expect(clippy::indexing_slicing, reason = "slice::get is not const for a shared helper; callers stay below len")]
pub(crate) const fn at<T>(items: &[T], index: usize) -> &T {
    &items[index]
}

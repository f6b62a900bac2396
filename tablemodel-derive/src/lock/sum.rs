//! A sum over lines, by which the runtime tells at once that a format is the locked one.
//! The rule is that of `sum` in `tablemodel/src/format/gate.rs`, which takes it of the program's lines; nothing else is here.

const BASE: u64 = 0x9E37_79B9_7F4A_7C15;

/// The sum of the lines that count: no reserved names; and of a frozen struct nothing of other entities.
pub(super) fn of<'l>(lines: impl Iterator<Item = &'l String>, is_frozen: bool) -> u64 {
    let is_remark = |line: &str| {
        let is_of_others = line.starts_with("copy ") || line.starts_with("aggregate ");
        line.starts_with("reserved ") || (is_frozen && is_of_others)
    };
    lines.filter(|line| !is_remark(line)).fold(0, |sum, line| sum.wrapping_add(square(line)))
}

/// Bits 32 to 95 of the square of the line's polynomial.
fn square(line: &str) -> u64 {
    let hash = line.bytes().fold(1_u64, |hash, byte| hash.wrapping_mul(BASE).wrapping_add(byte.into()));
    let square = (u128::from(hash) * u128::from(hash)) >> 32;
    u64::try_from(square & u128::from(u64::MAX)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(lines: &[&str], is_frozen: bool) -> u64 {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        of(lines.iter(), is_frozen)
    }

    #[test]
    fn the_sum_is_of_the_lines_in_whatever_order() {
        assert_eq!(sum(&["a", "b"], false), sum(&["b", "a"], false));
        assert_ne!(sum(&["a", "b"], false), sum(&["a"], false));
        assert_ne!(
            sum(&["property A as u32", "property B as u64"], false),
            sum(&["property A as u64", "property B as u32"], false)
        );
    }

    /// The same number stands in the tests of the runtime.
    #[test]
    fn the_rule_is_that_of_the_runtime() {
        assert_eq!(sum(&["table Company", "adopt", "property Age Edm.Int32 default as u8"], false), EXPECTED);
    }

    #[test]
    fn what_is_no_part_of_the_comparison_does_not_count() {
        let lines = ["adopt", "copy c optional", "aggregate A.B keeps count", "reserved X"];
        assert_eq!(sum(&lines, true), sum(&["adopt"], true));
        assert_eq!(sum(&lines, false), sum(&lines[..3], false));
    }

    const EXPECTED: u64 = 0xD7BA_B258_9455_221C;
}

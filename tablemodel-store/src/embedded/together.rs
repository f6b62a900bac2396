//! Whether the commits of a group are written together: in order of the keys of all their rows, as neighbours in the file are best
//! written.
//!
//! Decides only. If one of them is refused the work was in vain, so after each such group it is tried half as often.

/// Rows from which on it pays.
const MIN_ROWS: usize = 512;
/// How often the number of groups that are written apart is doubled.
const MOST_DOUBLINGS: u32 = 6;

/// What came of it before.
#[derive(Debug, Default)]
pub(super) struct Together {
    /// Large groups that will be written apart.
    apart: u32,
    /// Groups written in vain since the last good one.
    in_vain: u32,
}

impl Together {
    /// Whether a group of so many commits and rows is to be written together.
    pub(super) fn pays(&mut self, commits: usize, rows: usize) -> bool {
        if commits < 2 || rows < MIN_ROWS {
            return false;
        }
        let pays = self.apart == 0;
        self.apart = self.apart.saturating_sub(1);
        pays
    }

    /// Notes whether a group was written together, or in vain.
    pub(super) fn ended(&mut self, written: bool) {
        if written {
            self.in_vain = 0;
        } else {
            self.apart = 1 << self.in_vain;
            self.in_vain = (self.in_vain + 1).min(MOST_DOUBLINGS);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_groups_and_single_commits_are_written_apart_and_decide_nothing() {
        let mut together = Together { apart: 1, in_vain: 0 };
        assert!(!together.pays(2, MIN_ROWS - 1) && !together.pays(1, MIN_ROWS));
        assert!(!together.pays(2, MIN_ROWS));
        assert!(together.pays(2, MIN_ROWS));
    }

    #[test]
    fn after_each_group_in_vain_it_is_tried_half_as_often_until_one_succeeds() {
        let mut together = Together::default();
        let mut groups_until_one = |written: bool| {
            let groups = 1 + (0..).take_while(|_| !together.pays(2, MIN_ROWS)).count();
            together.ended(written);
            groups
        };
        let in_vain: Vec<_> = (0..9).map(|_| groups_until_one(false)).collect();
        assert_eq!(in_vain, [1, 2, 3, 5, 9, 17, 33, 65, 65]);
        assert_eq!([true, false, false].map(groups_until_one), [65, 1, 2]);
    }
}

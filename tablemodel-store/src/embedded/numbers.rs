//! The numbers of names that are read together, looked up once, and the layouts of rows that were read by them.
//!
//! Kept by whoever reads; a store's dictionary is asked again only after it has grown.

use std::sync::{
    OnceLock,
    atomic::{
        AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use super::{
    dictionary::{Dictionary, NameId},
    layout::Layouts,
};

/// The numbers that names have in the first dictionary they were looked up in.
#[derive(Debug)]
pub(crate) struct NumbersOf {
    serial: OnceLock<u64>,
    /// How many names the dictionary had when it was last asked.
    asked: AtomicU32,
    /// In the order of the names: each number and 1; 0 for a name that has none, and so is in no row.
    numbers: Box<[AtomicU32]>,
    /// The layouts of rows of that dictionary.
    pub(super) layouts: Layouts,
}

impl NumbersOf {
    /// Of `count` names, none of them looked up.
    pub(crate) fn new(count: usize) -> Self {
        let numbers = (0..count).map(|_| AtomicU32::new(0)).collect();
        Self { serial: OnceLock::new(), asked: AtomicU32::new(0), numbers, layouts: Layouts::default() }
    }

    /// The numbers of `names` in this dictionary; `None` if they were first looked up in another.
    #[inline]
    pub(super) fn of(&self, names: &[&'static str], dictionary: &Dictionary) -> Option<&[AtomicU32]> {
        if *self.serial.get_or_init(|| dictionary.serial) != dictionary.serial {
            return None;
        }
        let count = dictionary.len();
        if self.asked.load(Acquire) < count {
            self.ask(names, dictionary, count);
        }
        Some(&self.numbers)
    }

    #[cold]
    fn ask(&self, names: &[&'static str], dictionary: &Dictionary, count: u32) {
        for (name, number) in names.iter().zip(&self.numbers) {
            if let Some(id) = dictionary.id(name) {
                number.store(numbered(id), Relaxed);
            }
        }
        self.asked.fetch_max(count, Release);
    }
}

/// A name's number, as [`NumbersOf`] keeps it.
#[inline]
pub(super) fn numbered(NameId(id): NameId) -> u32 {
    id + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PropertyName;

    fn read(numbers: Option<&[AtomicU32]>) -> Option<Vec<u32>> {
        numbers.map(|numbers| numbers.iter().map(|number| number.load(Relaxed)).collect())
    }

    #[test]
    fn names_are_looked_up_again_once_there_are_more_and_in_one_dictionary() {
        let names = ["Age", "City", "Name"];
        let dictionary = Dictionary::new(["Name", "Age"].map(PropertyName::from));
        let numbers = NumbersOf::new(names.len());
        assert_eq!(read(numbers.of(&names, &dictionary)), Some(vec![2, 0, 1]));
        assert!(dictionary.number(&PropertyName::from("City")).is_some());
        assert_eq!(read(numbers.of(&names, &dictionary)), Some(vec![2, 3, 1]));
        let another = Dictionary::new(["City"].map(PropertyName::from));
        assert_eq!(read(numbers.of(&names, &another)), None);
        assert_eq!(read(numbers.of(&names, &dictionary)), Some(vec![2, 3, 1]));
    }
}

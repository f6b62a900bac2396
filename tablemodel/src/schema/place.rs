//! Where rows of each kind stand, and whether two kinds could have the same key.
//!
//! Only constants are compared.

use super::{Cover, EntitySchema, IndexSchema, at, same};
use crate::key::Template;

/// Where rows of one kind stand.
#[derive(Clone, Copy)]
pub(crate) struct Place<'a> {
    table: &'a str,
    partition: &'a Template,
    row: &'a Template,
}

impl<'a> Place<'a> {
    pub(crate) const fn table(&self) -> &'a str {
        self.table
    }

    /// Whether rows of the two could have one key.
    pub(crate) const fn may_meet(&self, other: &Place<'_>) -> bool {
        // Rows first: they begin with different literals nearly always.
        same_table(self.table, other.table)
            && self.row.may_overlap(other.row)
            && self.partition.may_overlap(other.partition)
    }
}

impl EntitySchema {
    /// Where rows stand: primary ones for 0, those of the index before this number for others.
    pub(crate) const fn place(&self, number: usize) -> Place<'_> {
        if number == 0 {
            return Place { table: self.table, partition: &self.partition, row: &self.row };
        }
        let index = at(self.indexes, number - 1);
        match &index.elsewhere {
            None => Place { table: self.table, partition: &self.partition, row: &index.row },
            Some(elsewhere) => Place { table: elsewhere.table, partition: &elsewhere.partition, row: &index.row },
        }
    }

    /// Whether an entity of this form, or of one of its versions, could have the keys of one of the other, were they kept in one table.
    pub(crate) const fn may_have_keys_of(&self, other: &EntitySchema) -> bool {
        let mut version = self;
        loop {
            let in_one = Place { table: other.table, ..version.place(0) };
            if in_one.may_meet(&other.place(0)) {
                return true;
            }
            match &version.previous {
                Some(previous) => version = previous.schema,
                None => return false,
            }
        }
    }

    /// Indexes of this version and of an older one, by their numbers, whose rows could have one key and would be taken for each other's:
    /// under other names, or a list and none; where either says who has a value, is a list, or stands elsewhere. (Rows of others are
    /// written over.)
    pub(crate) const fn mistaken_for(&self, older: &Self) -> Option<(usize, usize)> {
        let mut i = 0;
        while i < self.indexes.len() {
            let mut j = 0;
            while j < older.indexes.len() {
                let (own, its) = (at(self.indexes, i), at(older.indexes, j));
                let is_other = !same(own.name, its.name) || own.is_list() != its.is_list();
                if is_other
                    && (own.is_told_by_its_rows() || its.is_told_by_its_rows())
                    && self.place(i + 1).may_meet(&older.place(j + 1))
                {
                    return Some((i, j));
                }
                j += 1;
            }
            i += 1;
        }
        None
    }
}

impl IndexSchema {
    pub(super) const fn is_list(&self) -> bool {
        matches!(self.cover, Cover::List)
    }

    /// Whether what stands at a key is looked at before it is written over.
    const fn is_told_by_its_rows(&self) -> bool {
        self.unique || self.is_list() || self.elsewhere.is_some()
    }
}

/// Whether rows of two entities could have the same key, so that one would overwrite the other.
pub(crate) const fn rows_may_collide(a: &EntitySchema, b: &EntitySchema) -> bool {
    colliding(a, b).is_some()
}

/// The numbers of such rows, among the places of each.
pub(crate) const fn colliding(a: &EntitySchema, b: &EntitySchema) -> Option<(usize, usize)> {
    let mut i = 0;
    while i <= a.indexes.len() {
        let mut j = 0;
        while j <= b.indexes.len() {
            if a.place(i).may_meet(&b.place(j)) {
                return Some((i, j));
            }
            j += 1;
        }
        i += 1;
    }
    None
}

/// Table names are compared without case, as the service does.
const fn same_table(a: &str, b: &str) -> bool {
    a.eq_ignore_ascii_case(b)
}

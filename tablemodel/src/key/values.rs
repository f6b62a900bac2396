//! Values that stand in keys, each with its component.
//! A few are kept in place, so that most keys are read without taking memory.

use tablemodel_store::ValueRef;

use super::{KeyValue, Part};

/// Most entities have no more components in both their keys.
const FEW: usize = 4;

/// A component, and its value.
type InKey<'k> = (&'static Part, KeyValue<'k>);

/// Values that stand in keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct KeyValues<'k> {
    /// Those of the other key, which many rows have in common.
    outer: Option<&'k KeyValues<'k>>,
    /// The first ones, without a gap.
    few: [Option<InKey<'k>>; FEW],
    more: Vec<InKey<'k>>,
    /// How many there are, without those of `outer`.
    count: usize,
    /// The marks of all their properties: most of an entity's fields are seen to be in no key by this alone.
    marks: u64,
}

/// A bit for a name, not always another for another.
#[inline]
fn mark(name: &str) -> u64 {
    let first = name.as_bytes().first().copied().unwrap_or_default();
    1 << ((usize::from(first) + 8 * name.len()) % 64)
}

/// Of an entity whose keys are not looked at.
pub(crate) static NO_VALUES: KeyValues<'static> = KeyValues::new();

impl<'k> KeyValues<'k> {
    pub(crate) const fn new() -> Self {
        Self { outer: None, few: [const { None }; FEW], more: Vec::new(), count: 0, marks: 0 }
    }

    /// None of its own yet, beside those of `outer`, which is looked at first. Only [`get`](Self::get) knows of these.
    pub(crate) fn beside(outer: &'k KeyValues<'k>) -> Self {
        Self { outer: Some(outer), marks: outer.marks, ..Self::new() }
    }

    pub(crate) fn push(&mut self, part: &'static Part, value: KeyValue<'k>) {
        self.marks |= mark(part.property);
        match self.few.get_mut(self.count) {
            Some(place) => *place = Some((part, value)),
            None => self.more.push((part, value)),
        }
        self.count += 1;
    }

    /// How many were pushed.
    pub(crate) const fn count(&self) -> usize {
        self.count
    }

    /// All, in the order in which they were pushed.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&'static Part, &KeyValue<'k>)> {
        self.few.iter().map_while(Option::as_ref).chain(&self.more).map(|(part, value)| (*part, value))
    }

    /// The value of a component that holds this property.
    #[inline]
    pub(crate) fn get(&self, property: &str) -> Option<ValueRef<'_>> {
        if self.marks & mark(property) == 0 { None } else { self.find(property) }
    }

    /// As [`get`](Self::get); soonest where the component is the one at `place`, counted from the first one of `outer`.
    #[inline]
    pub(crate) fn at(&self, place: usize, property: &str) -> Option<ValueRef<'_>> {
        let outer = self.outer.map_or(0, |outer| outer.count);
        let (of, place) = match place.checked_sub(outer) {
            Some(place) => (self, place),
            None => (self.outer.unwrap_or(self), place),
        };
        match of.few.get(place) {
            Some(Some((part, value))) if is_same(part.property, property) => Some(value.as_ref()),
            _ => self.get(property),
        }
    }

    fn find(&self, property: &str) -> Option<ValueRef<'_>> {
        if let Some(value) = self.outer.and_then(|outer| outer.get(property)) {
            return Some(value);
        }
        for place in &self.few {
            let (part, value) = place.as_ref()?; // without a gap: there are no more
            if is_same(part.property, property) {
                return Some(value.as_ref());
            }
        }
        let found = self.more.iter().find(|(part, _)| is_same(part.property, property));
        found.map(|(_, value)| value.as_ref())
    }

    /// The values without those of one property.
    pub(crate) fn without(self, property: &str) -> Self {
        let mut kept = Self::new();
        let all = self.few.into_iter().flatten().chain(self.more);
        all.filter(|(part, _)| part.property != property).for_each(|(part, value)| kept.push(part, value));
        kept
    }

    pub(crate) fn into_iter(self) -> impl Iterator<Item = InKey<'k>> {
        self.few.into_iter().flatten().chain(self.more)
    }
}

/// Whether two names are one: constants of a program are mostly the very same, and then no text is compared.
#[inline]
pub(crate) fn is_same(a: &str, b: &str) -> bool {
    std::ptr::eq(a, b) || a == b
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Codec;
    use proptest::prelude::*;

    const fn part(property: &'static str) -> Part {
        Part::of::<String>("field", property, Codec::Plain)
    }

    static PARTS: [Part; 6] = [part("A"), part("B"), part("Ba"), part("C"), part("D"), part("E")];

    fn pushed<'k>(mut to: KeyValues<'k>, parts: &[usize], texts: [&'static str; 6]) -> KeyValues<'k> {
        parts.iter().for_each(|at| to.push(&PARTS[*at], KeyValue::Seen(ValueRef::String(texts[*at]))));
        to
    }

    proptest! {
        #[test]
        fn a_value_is_found_wherever_it_is_looked_for_first(
            outer in prop::collection::vec(0..6_usize, 0..6),
            own in prop::collection::vec(0..6_usize, 0..6),
            place in 0..14_usize,
            asked in 0..6_usize,
        ) {
            let first = pushed(KeyValues::new(), &outer, ["1"; 6]);
            let all = pushed(KeyValues::beside(&first), &own, ["2"; 6]);
            let property = PARTS[asked].property;
            let expected = match (outer.contains(&asked), own.contains(&asked)) {
                (true, _) => Some(ValueRef::String("1")),
                (false, true) => Some(ValueRef::String("2")),
                (false, false) => None,
            };
            prop_assert_eq!(all.get(property), expected);
            if !(outer.contains(&asked) && own.contains(&asked)) {
                prop_assert_eq!(all.at(place, property), expected);
            }
        }
    }
}

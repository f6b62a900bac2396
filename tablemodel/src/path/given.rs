//! The values that a path was given: in place, with their texts in one run.
//!
//! Whose values they are is not known here.

use tablemodel_store::{DateTime, Value, ValueRef};

/// Most paths have no more components.
const FEW: usize = 3;
/// Room for the texts of most paths without growing.
const USUAL_BYTES: usize = 64;

/// Values in the order in which they were given.
#[derive(Debug, Clone, Default)]
pub(super) struct Given {
    /// The first ones, without a gap.
    few: [Option<Slot>; FEW],
    more: Vec<Slot>,
    texts: String,
}

/// Small: each method of a path hands all of them on.
#[derive(Debug, Clone)]
enum Slot {
    /// Where it is among the texts.
    Text(Run),
    Int32(i32),
    Int64(i64),
    DateTime(DateTime),
    Other(Box<Value>),
}

#[derive(Debug, Clone, Copy)]
struct Run {
    start: u32,
    end: u32,
}

impl Run {
    /// None of a place beyond 4 GiB.
    fn new(start: usize, end: usize) -> Option<Self> {
        Some(Self { start: u32::try_from(start).ok()?, end: u32::try_from(end).ok()? })
    }
}

impl Given {
    pub(super) fn push(&mut self, value: ValueRef<'_>) {
        let slot = match value {
            ValueRef::String(text) => self.run(text).map(Slot::Text),
            ValueRef::Int32(value) => Some(Slot::Int32(value)),
            ValueRef::Int64(value) => Some(Slot::Int64(value)),
            ValueRef::DateTime(value) => Some(Slot::DateTime(value)),
            _ => None,
        };
        let slot = slot.unwrap_or_else(|| Slot::Other(Box::new(value.to_value())));
        match self.few.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(slot),
            None => self.more.push(slot),
        }
    }

    fn run(&mut self, text: &str) -> Option<Run> {
        let start = self.texts.len();
        let run = Run::new(start, start + text.len())?;
        if self.texts.capacity() == 0 {
            self.texts = String::with_capacity(text.len().max(USUAL_BYTES));
        }
        self.texts.push_str(text);
        Some(run)
    }

    pub(super) fn len(&self) -> usize {
        self.few.iter().flatten().count() + self.more.len()
    }

    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<ValueRef<'_>> {
        let slot = match self.few.get(at) {
            Some(place) => place.as_ref()?,
            None => self.more.get(at - FEW)?,
        };
        Some(match slot {
            Slot::Text(Run { start, end }) => ValueRef::String(self.texts.get(*start as usize..*end as usize)?),
            Slot::Int32(value) => ValueRef::Int32(*value),
            Slot::Int64(value) => ValueRef::Int64(*value),
            Slot::DateTime(value) => ValueRef::DateTime(*value),
            Slot::Other(value) => Value::as_ref(value),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_back_in_their_order_also_where_they_are_many() {
        let long = "x".repeat(3 * USUAL_BYTES);
        let values = ["Sales", "", &long].map(ValueRef::String);
        let others = [ValueRef::Int32(7), ValueRef::Binary(b"b"), ValueRef::String("é")];
        let more = [ValueRef::Int64(i64::MIN), ValueRef::DateTime(DateTime::MAX)];
        let values = values.into_iter().chain(others).chain(more);
        let values: Vec<_> = values.collect();
        let mut given = Given::default();
        for (count, value) in values.iter().enumerate() {
            assert_eq!((given.len(), given.get(count)), (count, None));
            given.push(*value);
        }
        let again: Vec<_> = (0..given.len()).map_while(|at| given.get(at)).collect();
        assert_eq!(again, values);
    }
}

//! A key template, and the keys it makes and reads.
//! Ranges of keys are made in `range`, what can be wrong with a template in `check`.

use super::Segment;

/// The template of a partition key or a row key: literals and components, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Template(pub &'static [Segment]);

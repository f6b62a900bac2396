//! What a key type says it may be tried with.
//! Nothing is tried here; [`testing`](crate::testing) does that.

/// What [`key_laws`](crate::testing::key_laws()) tries a type with, as [`KeyPart::SAMPLES`](super::KeyPart::SAMPLES) tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Samples {
    /// What is hard about its [kind](super::KeyType): the bounds of numbers and times, texts that keys have to escape. Those
    /// that the type does not take are left out. There are none of an enum.
    OfKind,
    /// These stored texts, each of which the type must take: of an enum, all that it has.
    Texts(&'static [&'static str]),
    /// Bytes of this length.
    Bytes(usize),
}

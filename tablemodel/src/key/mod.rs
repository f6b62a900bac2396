//! Key templates as constant data, and the pure functions that make keys and key ranges of them.
//! No row, no store and no user type is known here: values come as stored ones.

mod codec;
mod error;
mod key_type;
mod part;
mod template;

pub use self::{
    codec::Codec,
    error::{KeyError, KeyFault},
    key_type::KeyType,
    part::{KeyArg, KeyPart, Part, Segment},
    template::Template,
};

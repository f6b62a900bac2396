//! What the user wrote in `#[table(..)]`: words with values of the right kind, each with its place.
//! What the words mean together is decided in `meant`.

mod container;
mod entity;
mod field;
mod input;
mod limit;
mod place;
mod salvage;
mod slot;
mod word;

pub(crate) use self::{
    container::ContainerWords,
    entity::EntityWords,
    field::{DefaultWord, FieldWords},
    input::{Container, Input, OWNED, Variant, VariantWords, parameter_name, refuse_words},
    limit::InlineBelow,
    place::{Item, Place, unknown_word},
    slot::Slot,
    word::{Word, attribute_words},
};

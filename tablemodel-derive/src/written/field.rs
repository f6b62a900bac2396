//! The words of a field.
//! Whether they go together is decided in `meant`.

use proc_macro2::{Ident, TokenStream};
use syn::{Expr, Field, LitStr, Path, ext::IdentExt};

use super::{Item, Place, Slot, Word, attribute_words, unknown_word};
use crate::{
    errors::{Errors, spelt_so},
    rooms::{blob, copy::CopyWords},
};

/// `#[table(..)]` on a field.
#[derive(Default)]
pub(crate) struct FieldWords {
    pub(crate) rename: Slot<LitStr>,
    pub(crate) was: Slot<LitStr>,
    pub(crate) json: Slot<()>,
    /// Values of fewer bytes are kept in the row.
    pub(crate) blob: Slot<usize>,
    pub(crate) flatten: Slot<()>,
    pub(crate) chunked: Slot<()>,
    pub(crate) part: Slot<LitStr>,
    pub(crate) skip: Slot<()>,
    pub(crate) default: Slot<DefaultWord>,
    pub(crate) method: Slot<Ident>,
    pub(crate) constant: Slot<Ident>,
    pub(crate) copy: Slot<CopyWords>,
    pub(crate) aggregate: Slot<()>,
}

/// `default`, or `default = ..`.
#[derive(Debug, Clone)]
pub(crate) enum DefaultWord {
    /// The type's own default.
    Own,
    /// A path to a function.
    Function(TokenStream),
    /// An expression.
    Expression(TokenStream),
}

impl FieldWords {
    /// The words that an entity's fields take.
    pub(crate) const OF_ENTITY: Place = Place {
        item: Item::Entity,
        at: "on a field of an entity",
        words: &[
            "rename",
            "was",
            "json",
            "blob",
            "flatten",
            "chunked",
            "part",
            "skip",
            "default",
            "method",
            "constant",
            "copy_of",
            "aggregate",
        ],
    };
    /// The words that the fields of a group of properties take.
    pub(crate) const OF_GROUP: Place =
        Place { item: Item::Group, at: "on a field of a group", words: &["rename", "was", "json", "skip", "default"] };
    /// The words that a projection's fields take.
    pub(crate) const OF_PROJECTION: Place = Place {
        item: Item::Projection,
        at: "on a field of a projection",
        words: &["json", "blob", "default", "constant"],
    };

    /// Reads the words that are legal `here`.
    pub(crate) fn read(field: &Field, here: &Place, errors: &mut Errors) -> Self {
        let mut words = Self::default();
        for word in attribute_words(&field.attrs, errors) {
            match word.text().as_str() {
                name if !here.takes(name) => {
                    words.mean(spelt_so(name, here.words));
                    unknown_word(&word, here, errors);
                }
                "rename" => words.rename.fill(&word, word.string(errors), errors),
                "was" => words.was.fill(&word, word.string(errors), errors),
                "json" => words.json.fill(&word, word.flag(errors), errors),
                "blob" => words.blob.fill(&word, blob::read(&word, errors), errors),
                "flatten" => words.flatten.fill(&word, word.flag(errors), errors),
                "chunked" => words.chunked.fill(&word, word.flag(errors), errors),
                "part" => words.part.fill(&word, word.string(errors), errors),
                "skip" => words.skip.fill(&word, word.flag(errors), errors),
                "default" => words.default.fill(&word, default(&word, errors), errors),
                "aggregate" => words.aggregate.fill(&word, word.flag(errors), errors),
                "method" => words.method.fill(&word, word.ident(errors), errors),
                "copy_of" => words.copy.fill(&word, CopyWords::read(&word, errors), errors),
                _ => words.constant.fill(&word, word.ident(errors), errors),
            }
        }
        words
    }

    /// Whether how the field is stored is told by a word that was given wrongly.
    pub(crate) fn is_guessed(&self) -> bool {
        let is_bad = [self.json.is_bad(), self.blob.is_bad(), self.flatten.is_bad(), self.skip.is_bad()];
        is_bad.contains(&true)
    }

    /// Takes note that a word was meant by which the field is stored otherwise.
    fn mean(&mut self, word: Option<&str>) {
        match word {
            Some("json") => self.json.spoil(),
            Some("blob") => self.blob.spoil(),
            Some("flatten") => self.flatten.spoil(),
            Some("skip") => self.skip.spoil(),
            Some("aggregate") => self.aggregate.spoil(),
            _ => {}
        }
    }
}

fn default(word: &Word, errors: &mut Errors) -> Option<DefaultWord> {
    match word.value() {
        Some(value) if is_function(&value) => Some(DefaultWord::Function(value)),
        Some(value) if syn::parse2::<Expr>(value.clone()).is_ok() => Some(DefaultWord::Expression(value)),
        None if word.is_alone() => Some(DefaultWord::Own),
        _ => {
            let write = "`default`, `default = some::function`, or a short expression such as `default = 1`";
            word.wrong("takes a function or a value", write, errors)
        }
    }
}

/// A path is a function, unless it is in parentheses, or its last name begins as those of constants and variants do.
fn is_function(value: &TokenStream) -> bool {
    let Ok(path) = syn::parse2::<Path>(value.clone()) else { return false };
    let last = path.segments.last().map(|last| last.ident.unraw().to_string()).unwrap_or_default();
    !last.trim_start_matches('_').starts_with(char::is_uppercase)
}

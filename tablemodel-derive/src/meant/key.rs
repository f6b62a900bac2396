//! A key template with its fields found.
//! What a template may hold as a whole is in `rules`.

use std::rc::Rc;

use proc_macro2::Span;
use syn::LitStr;

use super::field::{Field, Kind, look_up};
use crate::{
    codec::Codec,
    errors::Errors,
    template::{Piece, cut, width},
};

/// A key template.
pub(crate) struct Key {
    pub(crate) span: Span,
    pub(crate) segments: Vec<Segment>,
    /// Whether all of it could be read; rules about the whole are not asked of the rest.
    pub(crate) is_sound: bool,
    /// How many fields its text names; `None` where there is no text, or none yet.
    pub(crate) width: Option<usize>,
}

/// A piece of a key.
pub(crate) enum Segment {
    Literal(String),
    Part(Part),
}

/// A field in a key.
#[derive(Clone)]
pub(crate) struct Part {
    pub(crate) field: Rc<Field>,
    pub(crate) codec: Codec,
}

impl Key {
    /// The template in `literal`.
    pub(crate) fn resolve(literal: &LitStr, fields: &[Rc<Field>], errors: &mut Errors) -> Self {
        let span = literal.span();
        let mut problems = Vec::new();
        let pieces = cut(&literal.value(), &mut problems);
        let mut is_sound = problems.is_empty();
        for problem in problems {
            errors.at(span, problem);
        }
        let mut segments = Vec::new();
        for piece in pieces {
            match segment(piece, fields, span, errors) {
                Some(segment) => segments.push(segment),
                None => is_sound = false,
            }
        }
        if is_sound && segments.is_empty() {
            errors.at(span, "the template is empty; a key is literals and `{field}`s");
            is_sound = false;
        }
        Self { span, segments, is_sound, width: (!literal.value().is_empty()).then(|| width(&literal.value())) }
    }

    /// A template that was not given well.
    pub(crate) fn missing() -> Self {
        Self { span: Span::call_site(), segments: Vec::new(), is_sound: false, width: None }
    }

    /// The fields in it, in order.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.segments.iter().filter_map(|segment| match segment {
            Segment::Part(part) => Some(part),
            Segment::Literal(_) => None,
        })
    }

    /// The literal after segment `index`, empty at the end; `None` where another part follows at once.
    pub(crate) fn after(&self, index: usize) -> Option<&str> {
        match self.segments.get(index + 1) {
            None => Some(""),
            Some(Segment::Literal(text)) => Some(text),
            Some(Segment::Part(_)) => None,
        }
    }

    /// The first part that spreads keys over buckets.
    pub(crate) fn shard(&self) -> Option<&Part> {
        self.parts().find(|part| part.codec.is_shard())
    }
}

impl Part {
    /// `{field:codec}`, as in the template.
    pub(crate) fn written(&self) -> String {
        match self.codec {
            Codec::Plain => format!("{{{}}}", self.field.name),
            codec => format!("{{{}:{}}}", self.field.name, codec.word()),
        }
    }

    /// Whether this part and another are of one field.
    pub(crate) fn is_of(&self, field: &Field) -> bool {
        self.field.name == field.name
    }
}

fn segment(piece: Piece, fields: &[Rc<Field>], span: Span, errors: &mut Errors) -> Option<Segment> {
    match piece {
        Piece::Literal(text) => Some(Segment::Literal(text)),
        Piece::Part { field, codec } => {
            let field = look_up(fields, &field, span, errors)?;
            let Some(what) = field.special_form() else { return Some(Segment::Part(Part { field, codec })) };
            if field.is_guessed {
                return None;
            }
            let (hint, remedy) = match field.kind {
                Kind::Json => (" (an index may have a row for `each` element of a list)", ""),
                Kind::Group => ("", ", nor can one of them: keep what the key needs in a field of this struct"),
                _ => ("", ""),
            };
            errors.at(span, format!("field `{}` is {what}{hint} and cannot stand in a key{remedy}", field.name));
            field.is_understood.set(false);
            None
        }
    }
}

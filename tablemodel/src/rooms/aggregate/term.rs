//! What the value of a field adds to an aggregate, and what is told of one that adds nothing.

use tablemodel_store::{EdmType, ValueRef};

use super::Term;
use crate::{
    error::{Error, ErrorKind, Result},
    plan::image::Image,
    property::float,
    schema::{Function, PropertySchema},
};

/// What the entity adds by its field; none where that is `None`.
pub(super) fn number(image: &Image, function: Function) -> Result<Option<Term>> {
    let (property, how) = match function {
        Function::Count => return Ok(Some(Term::Int(1))),
        Function::Sum(property) => (property, "summed, and is infinite or not a number"),
        Function::Min(property) | Function::Max(property) => (property, "compared, and has no order"),
    };
    let Some(value) = image.fields.get(property) else { return Ok(None) };
    let own = image.schema.property(property);
    // What reads as a float is one, although another program, or a narrower type before, stored an integer.
    let read = match own.is_some_and(|own| own.edm == EdmType::Double) {
        true => float::read(value).map(ValueRef::Double),
        false => Some(value),
    };
    let term = read.and_then(|read| Term::of(function, read, own.map_or("", |own| own.codec)));
    let unfit = || {
        let field = own.map_or(property, |own| own.field);
        let foreign = own.and_then(|own| foreign(own, value));
        foreign.unwrap_or_else(|| Error::new(ErrorKind::Invalid, format!("field `{field}` is {how}")))
    };
    let term = term.ok_or_else(|| unfit().of_field(own.map(|own| own.field)));
    term.map(Some).map_err(|error| error.of(image.schema.entity_type).at_key(image.key.clone()))
}

/// That another program stored what the field does not read: of its own values only floats can be unfit.
fn foreign(own: &PropertySchema, value: ValueRef<'_>) -> Option<Error> {
    let (is, wants) = (value.edm(), own.edm);
    if is == wants && wants == EdmType::Double {
        return None;
    }
    let what = if is == wants { "which its field does not read".to_owned() } else { format!("not {wants}") };
    Some(Error::corrupt(format!("property `{}` is {is}, {what}", own.property)))
}

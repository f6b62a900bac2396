//! What a type that stands in keys promises, checked on samples.
//! No store is needed; each pair of samples is compared. Which samples there are is `key_samples`' to say.

use std::{cmp::Ordering, fmt};

use tablemodel_store::{Value, key::compare};

use super::key_samples;
use crate::key::{Codec, KeyFault, KeyPart, KeyType, Part, Samples, Segment, Template};

/// More than this says nothing new.
const MOST_SHOWN: usize = 20;

/// What was found broken, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violations(Vec<String>);

impl Violations {
    /// One sentence for each violation.
    pub fn list(&self) -> &[String] {
        &self.0
    }
}

impl fmt::Display for Violations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} violations of the key laws", self.0.len())?;
        for violation in self.0.iter().take(MOST_SHOWN) {
            write!(f, "\n- {violation}")?;
        }
        if self.0.len() > MOST_SHOWN { f.write_str("\n- and more") } else { Ok(()) }
    }
}

impl std::error::Error for Violations {}

/// Panics, with a report, unless `T` keeps the laws of [`check_key_laws`] on [samples of its own](key_samples()).
///
/// ```
/// use tablemodel::{prelude::*, testing::key_laws};
///
/// #[derive(Debug, PartialEq, PartialOrd, Property, KeyPart)]
/// struct DepartmentId(u32);
///
/// #[derive(Debug, PartialEq, PartialOrd, Property, KeyPart)]
/// enum Grade { Junior, Senior }
///
/// key_laws::<DepartmentId>(); // on 0, 1, 9, 10, .., u32::MAX
/// key_laws::<Grade>();        // on all variants
/// ```
///
/// # Panics
///
/// When a law is broken; and where nothing would be compared, since `T` takes no two different samples of its kind, or where it does not
/// take one of the texts that it names itself.
#[track_caller]
pub fn key_laws<T: KeyPart + PartialOrd + fmt::Debug>() {
    let samples = key_samples::<T>();
    let is_enough = match T::SAMPLES {
        Samples::Texts(texts) => samples.len() >= texts.len(),
        Samples::OfKind => samples.iter().skip(1).any(|sample| samples.first() != Some(sample)),
        Samples::Bytes(_) => !samples.is_empty(), // of no length there is one value
    };
    match is_enough {
        true => key_laws_of(samples),
        false => pass(Err(Violations(vec![lacking::<T>(samples.len())]))),
    }
}

/// Panics, with a report, unless the samples keep the laws of [`check_key_laws`]: for a type that takes few values, and values
/// that are hard on it alone. Give the smallest and greatest ones, and neighbours.
///
/// ```
/// tablemodel::testing::key_laws_of(["", "a", "a.", "a/b", "Jones", "O'Brien"].map(String::from));
/// ```
///
/// # Panics
///
/// When a law is broken.
#[track_caller]
pub fn key_laws_of<T: KeyPart + PartialOrd + fmt::Debug>(samples: impl IntoIterator<Item = T>) {
    pass(check_key_laws(samples));
}

#[track_caller]
fn pass(checked: Result<(), Violations>) {
    if let Err(violations) = checked {
        #[expect(clippy::panic, reason = "a check for tests, which fail by panicking")]
        {
            panic!("{violations}");
        }
    }
}

fn lacking<T: KeyPart>(taken: usize) -> String {
    let (name, samples) = (std::any::type_name::<T>(), T::SAMPLES);
    let of_kind = match (samples, taken) {
        (Samples::Texts(_), _) => {
            return format!("stored: `{name}` takes {taken} of its samples, which are {samples:?}");
        }
        (_, 0) => "none of the samples",
        (_, 1) => "1 of the samples",
        _ => "no two different ones of the samples",
    };
    format!("`{name}` takes {of_kind} of its kind, {:?}: give `key_laws_of` some", T::TYPE)
}

/// Checks, on all pairs of the samples, under every codec that fits the type, alone and before other components:
///
/// - *stored*: the stored form is of the declared type, and reads back as the same value;
/// - *legal*: the value has a key that every store takes;
/// - *recoverable*: the key gives the stored form back, unless the codec is lossy;
/// - *injective*: two keys are the same exactly if the values are;
/// - *ordered*: keys sort as the values do wherever [`Template::orders`] says so. For texts with characters from
///   U+E000 on this is the order of UTF-16 code units, which stores have and Rust has not.
///
/// # Errors
///
/// The list of what is broken.
pub fn check_key_laws<T: KeyPart + PartialOrd + fmt::Debug>(
    samples: impl IntoIterator<Item = T>,
) -> Result<(), Violations> {
    let mut violations = Vec::new();
    let mut stored = Vec::new();
    for sample in samples {
        match stored_form(&sample) {
            Ok(Some(value)) => stored.push((sample, value)),
            Ok(None) => {} // an absent value makes no key
            Err(violation) => violations.push(violation),
        }
    }
    for template in Templates::<T>::ALL.iter().filter(|template| template.check().is_none()) {
        let mut keys = Vec::new();
        for (sample, value) in &stored {
            match key_of(template, sample, value) {
                Ok(key) => keys.extend(key.map(|key| Keyed { sample, value, key })),
                Err(violation) => violations.push(violation),
            }
        }
        for (at, a) in keys.iter().enumerate() {
            violations.extend(keys.iter().skip(at).filter_map(|b| compare_keys(template, a, b)));
        }
    }
    if violations.is_empty() { Ok(()) } else { Err(Violations(violations)) }
}

/// A sample with its stored form and its key.
struct Keyed<'s, T> {
    sample: &'s T,
    value: &'s Value,
    key: String,
}

/// The component under test is always the first.
struct Templates<T>(std::marker::PhantomData<T>);

const TAIL: Segment = Segment::Part(Part::of::<String>("tail", "Tail", Codec::Plain));
const TAIL_TEXT: &str = "z";

macro_rules! templates {
    ($($codec:expr),* $(,)?) => {
        impl<T: KeyPart> Templates<T> {
            const ALL: &'static [Template] = &[$(
                Template(&[Segment::Literal("k_"), Segment::Part(Part::of::<T>("sample", "Sample", $codec))]),
                Template(&[Segment::Part(Part::of::<T>("sample", "Sample", $codec)), Segment::Literal("!"), TAIL]),
                Template(&[Segment::Part(Part::of::<T>("sample", "Sample", $codec)), Segment::Literal("_x_"), TAIL]),
            )*];
        }
    };
}

templates! {
    Codec::Plain, Codec::Width(20), Codec::Desc, Codec::Sortable, Codec::Hour, Codec::Day, Codec::Month, Codec::Lower,
    Codec::Shard(16), Codec::Hash, Codec::Raw,
}

fn stored_form<T: KeyPart + PartialOrd + fmt::Debug>(sample: &T) -> Result<Option<Value>, String> {
    let value = match sample.to_value() {
        Ok(Some(value)) => value,
        Ok(None) if T::OPTIONAL => return Ok(None),
        Ok(None) => return Err(format!("stored: {sample:?} is stored as absent, but the type is not optional")),
        Err(error) => return Err(format!("stored: {sample:?} has no stored form: {error}")),
    };
    if value.edm() != T::EDM || T::EDM != T::TYPE.edm() {
        return Err(format!(
            "stored: {sample:?} is stored as {}, the property is declared {}, and {:?} is kept as {}",
            value.edm(),
            T::EDM,
            T::TYPE,
            T::TYPE.edm()
        ));
    }
    match T::from_value(Some(value.as_ref())) {
        Ok(back) if back == *sample => Ok(Some(value)),
        Ok(back) => Err(format!("stored: {sample:?} came back as {back:?}")),
        Err(error) => Err(format!("stored: {sample:?} did not come back: {error}")),
    }
}

/// The key, if the codec takes the value at all.
fn key_of<T: fmt::Debug>(template: &Template, sample: &T, value: &Value) -> Result<Option<String>, String> {
    let tail = Value::from(TAIL_TEXT);
    let values = |part: &Part| Some(if part.field == "tail" { tail.as_ref() } else { value.as_ref() });
    let codec = codec_of(template);
    let key = match template.encode(values) {
        Ok(Some(key)) => key,
        Ok(None) => return Err(format!("legal: {sample:?} has no key under {codec:?}")),
        Err(error) if is_allowed(codec, error.fault) => return Ok(None),
        Err(error) => return Err(format!("legal: {sample:?} has no key under {codec:?}: {error}")),
    };
    if let Some(c) = key.chars().find(|c| c.is_control() || "/\\#?%".contains(*c)) {
        return Err(format!("legal: the key {key:?} of {sample:?} under {codec:?} holds {c:?}"));
    }
    let decoded = match template.decode(&key) {
        Ok(decoded) => decoded,
        Err(error) => return Err(format!("recoverable: {key:?} of {sample:?} under {codec:?}: {error}")),
    };
    match decoded.into_iter().find(|(part, _)| part.field == "sample") {
        Some((_, back)) if back != *value => {
            Err(format!("recoverable: {sample:?}, stored as {value:?}, came back from {key:?} as {back:?}"))
        }
        _ => Ok(Some(key)),
    }
}

/// A codec may refuse what it says it refuses.
fn is_allowed(codec: Codec, fault: KeyFault) -> bool {
    match fault {
        KeyFault::TooLong { .. } => true,
        KeyFault::Negative | KeyFault::Overflow { .. } => matches!(codec, Codec::Width(_)),
        KeyFault::IllegalCharacter(_) | KeyFault::HoldsSeparator(_) | KeyFault::Reserved => codec == Codec::Raw,
        _ => false,
    }
}

fn compare_keys<T: KeyPart + PartialOrd + fmt::Debug>(
    template: &Template,
    a: &Keyed<'_, T>,
    b: &Keyed<'_, T>,
) -> Option<String> {
    let codec = codec_of(template);
    let by_value = value_order(a, b)?;
    let by_key = compare(&a.key, &b.key);
    let broken = match codec {
        Codec::Lower | Codec::Shard(_) => by_value.is_eq() && by_key.is_ne(),
        Codec::Hour | Codec::Day | Codec::Month => by_key.is_ne() && by_key != by_value,
        Codec::Desc => by_key != by_value.reverse(),
        _ if template.orders(0) => by_key != by_value,
        _ => by_value.is_eq() != by_key.is_eq(),
    };
    let law = if by_value.is_eq() || by_key.is_eq() { "injective" } else { "ordered" };
    broken.then(|| {
        let (Keyed { sample: x, key: x_key, .. }, Keyed { sample: y, key: y_key, .. }) = (a, b);
        format!(
            "{law}: {x:?} and {y:?} compare as {by_value:?}, their keys {x_key:?} and {y_key:?} as {by_key:?}, \
             under {codec:?}"
        )
    })
}

fn value_order<T: KeyPart + PartialOrd>(a: &Keyed<'_, T>, b: &Keyed<'_, T>) -> Option<Ordering> {
    match (T::TYPE, a.value, b.value) {
        (KeyType::Text, Value::String(x), Value::String(y)) if [x, y].iter().any(|text| has_other_order(text)) => {
            Some(compare(x, y))
        }
        _ => a.sample.partial_cmp(b.sample),
    }
}

/// From here on the order of UTF-16 code units is not that of characters.
fn has_other_order(text: &str) -> bool {
    text.chars().any(|c| c >= '\u{E000}')
}

fn codec_of(template: &Template) -> Codec {
    template.parts().next().map_or(Codec::Plain, |part| part.codec)
}

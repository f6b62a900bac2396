//! A format from its canonical text.
//! Nothing is guessed: a line that is not understood, twice there or missing is an error that names it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use tablemodel_store::EdmType;

use super::{
    AggregateFormat, CopyFormat, CoverFormat, ElsewhereFormat, Format, FunctionFormat, IndexFormat, KeyFormat,
    PropertyFormat, WhenFormat,
};
use crate::schema::OnDelete;

/// A text that is no format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError {
    /// What is wrong, and where.
    pub message: String,
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for FormatError {}

impl FormatError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }

    pub(super) fn key(template: &str, what: &str) -> Self {
        Self::new(format!("`{template}` is no key template: {what}"))
    }
}

/// What the lines say of one thing: by word, the rest of each line.
#[derive(Default)]
struct Facts<'a>(BTreeMap<&'a str, Vec<&'a str>>);

impl<'a> Facts<'a> {
    fn add(&mut self, line: &'a str) {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        self.0.entry(word).or_default().push(rest);
    }

    /// All lines with this word.
    fn all(&mut self, word: &str) -> Vec<&'a str> {
        self.0.remove(word).unwrap_or_default()
    }

    fn one(&mut self, word: &str) -> Result<Option<&'a str>, FormatError> {
        match self.all(word).as_slice() {
            [] => Ok(None),
            [rest] => Ok(Some(rest)),
            [..] => Err(FormatError::new(format!("`{word}` is said twice"))),
        }
    }

    fn required(&mut self, word: &str) -> Result<&'a str, FormatError> {
        self.one(word)?.ok_or_else(|| FormatError::new(format!("`{word}` is missing")))
    }

    fn name(&mut self, word: &str) -> Result<String, FormatError> {
        name(self.required(word)?)
    }

    fn flag(&mut self, word: &str) -> Result<bool, FormatError> {
        match self.one(word)? {
            None => Ok(false),
            Some("") => Ok(true),
            Some(rest) => Err(FormatError::new(format!("`{word} {rest}` says too much"))),
        }
    }

    fn names(&mut self, word: &str) -> Result<BTreeSet<String>, FormatError> {
        let all = self.all(word);
        let names = all.iter().map(|text| name(text)).collect::<Result<BTreeSet<_>, _>>()?;
        if names.len() < all.len() { Err(FormatError::new(format!("a `{word}` is said twice"))) } else { Ok(names) }
    }

    /// `key Id = ManagerId`
    fn pairs(&mut self, word: &str) -> Result<BTreeMap<String, String>, FormatError> {
        let mut pairs = BTreeMap::new();
        for text in self.all(word) {
            let pair = text.split_once(" = ");
            let (left, right) = pair.ok_or_else(|| FormatError::new(format!("`{word} {text}` has no ` = `")))?;
            if pairs.insert(name(left)?, name(right)?).is_some() {
                return Err(FormatError::new(format!("`{word} {left}` is said twice")));
            }
        }
        Ok(pairs)
    }

    /// By the name that follows the word, what is said of it.
    fn named(&mut self, word: &str) -> Result<BTreeMap<String, Facts<'a>>, FormatError> {
        let mut named: BTreeMap<String, Facts<'a>> = BTreeMap::new();
        for text in self.all(word) {
            let (own, rest) = text.split_once(' ').ok_or_else(|| FormatError::new(format!("`{word} {text}` ends")))?;
            named.entry(name(own)?).or_default().add(rest);
        }
        Ok(named)
    }

    fn template(&mut self, word: &str) -> Result<KeyFormat, FormatError> {
        let text = self.required(word)?;
        let inside = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        inside.ok_or_else(|| FormatError::key(text, "it stands in `\"`"))?.parse()
    }

    fn when(&mut self) -> Result<Option<WhenFormat>, FormatError> {
        let Some(text) = self.one("when")? else { return Ok(None) };
        let (property, negated) = text.strip_prefix('!').map_or((text, false), |text| (text, true));
        Ok(Some(WhenFormat { property: name(property)?, negated }))
    }

    /// Nothing is left over.
    fn end<T>(self, whole: T) -> Result<T, FormatError> {
        match self.0.into_iter().next() {
            None => Ok(whole),
            Some((word, rest)) => {
                let rest = rest.first().copied().unwrap_or_default();
                Err(FormatError::new(format!("`{word} {rest}` is not understood")))
            }
        }
    }
}

/// A name: not empty, and one word.
fn name(text: &str) -> Result<String, FormatError> {
    let is_one = !text.is_empty() && !text.contains(|c: char| c.is_whitespace() || c.is_control());
    is_one.then(|| text.to_owned()).ok_or_else(|| FormatError::new(format!("`{text}` is no name")))
}

impl Format {
    /// The format that the lines say, in any order.
    ///
    /// # Errors
    ///
    /// [`FormatError`] names the line.
    pub fn parse<'a>(
        entity_type: &str,
        version: u32,
        lines: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, FormatError> {
        let mut facts = Facts::default();
        lines.into_iter().for_each(|line| facts.add(line));
        let mut keys = Facts::default();
        facts.all("key").into_iter().for_each(|line| keys.add(line));
        let format = Self {
            entity_type: name(entity_type)?,
            version,
            table: facts.name("table")?,
            partition: keys.template("partition")?,
            row: keys.template("row")?,
            properties: properties(&mut facts)?,
            indexes: each(facts.named("index")?, "index", index)?,
            copies: each(facts.named("copy")?, "copy", copy)?,
            aggregates: each(facts.named("aggregate")?, "aggregate", aggregate)?,
            adopt: facts.flag("adopt")?,
            wide: facts.flag("wide")?,
            reserved: facts.names("reserved")?,
        };
        facts.end(keys.end(format)?)
    }
}

/// Reads each thing of one kind; what is wrong with one names it.
fn each<'a, T>(
    all: BTreeMap<String, Facts<'a>>,
    kind: &str,
    read: impl Fn(&mut Facts<'a>) -> Result<T, FormatError>,
) -> Result<BTreeMap<String, T>, FormatError> {
    let mut things = BTreeMap::new();
    for (name, mut facts) in all {
        let thing = read(&mut facts).and_then(|thing| facts.end(thing));
        let thing = thing.map_err(|error| FormatError::new(format!("{kind} `{name}`: {error}")))?;
        things.insert(name, thing);
    }
    Ok(things)
}

fn properties(facts: &mut Facts<'_>) -> Result<BTreeMap<String, PropertyFormat>, FormatError> {
    let mut properties = BTreeMap::new();
    for text in facts.all("property") {
        let read = text.split_once(' ').and_then(|(own, rest)| Some((name(own).ok()?, property(rest)?)));
        let (own, read) = read.ok_or_else(|| FormatError::new(format!("`property {text}` is not understood")))?;
        if properties.insert(own.clone(), read).is_some() {
            return Err(FormatError::new(format!("property `{own}` is there twice")));
        }
    }
    Ok(properties)
}

/// `Edm.Int64 nullable as u32`
fn property(text: &str) -> Option<PropertyFormat> {
    let (words, codec) = text.split_once(" as ")?;
    let mut words = words.split(' ').peekable();
    let edm = edm(words.next()?)?;
    let mut flag = |word| words.next_if_eq(&word).is_some();
    let (nullable, default, aggregate, chunked) =
        (flag("nullable"), flag("default"), flag("aggregate"), flag("chunked"));
    let is_read = words.next().is_none() && !codec.is_empty();
    is_read.then(|| PropertyFormat { edm, codec: codec.to_owned(), nullable, default, aggregate, chunked })
}

fn edm(name: &str) -> Option<EdmType> {
    use EdmType::{Binary, Boolean, DateTime, Double, Guid, Int32, Int64, String};
    [Binary, Boolean, DateTime, Double, Guid, Int32, Int64, String].into_iter().find(|edm| edm.name() == name)
}

fn index(facts: &mut Facts<'_>) -> Result<IndexFormat, FormatError> {
    let table = facts.one("table")?.map(name).transpose()?;
    let elsewhere = match table {
        Some(table) => Some(ElsewhereFormat { table, partition: facts.template("partition")? }),
        None => None,
    };
    let kept = facts.names("keep")?;
    let cover = match facts.required("cover")? {
        "keep" => CoverFormat::Keep(kept),
        other if !kept.is_empty() => return Err(FormatError::new(format!("`cover {other}` keeps nothing"))),
        "whole" => CoverFormat::Whole,
        "keys" => CoverFormat::KeysOnly,
        "list" => CoverFormat::List,
        "list in blob" => CoverFormat::ListInBlob,
        other => return Err(FormatError::new(format!("`cover {other}` is not understood"))),
    };
    Ok(IndexFormat {
        elsewhere,
        row: facts.template("row")?,
        each: facts.one("each")?.map(name).transpose()?,
        cover,
        unique: facts.flag("unique")?,
        when: facts.when()?,
    })
}

fn copy(facts: &mut Facts<'_>) -> Result<CopyFormat, FormatError> {
    let on_delete = match facts.required("delete")? {
        "clear" => OnDelete::Clear,
        "restrict" => OnDelete::Restrict,
        "keep" => OnDelete::Keep,
        other => return Err(FormatError::new(format!("`delete {other}` is not understood"))),
    };
    Ok(CopyFormat {
        source: facts.name("source")?,
        stored: facts.name("stored")?,
        key: facts.pairs("key")?,
        properties: facts.names("property")?,
        optional: facts.flag("optional")?,
        on_delete,
    })
}

fn aggregate(facts: &mut Facts<'_>) -> Result<AggregateFormat, FormatError> {
    let text = facts.required("keeps")?;
    let function = match text.split_once(' ') {
        None if text == "count" => FunctionFormat::Count,
        Some(("sum", property)) => FunctionFormat::Sum(name(property)?),
        Some(("min", property)) => FunctionFormat::Min(name(property)?),
        Some(("max", property)) => FunctionFormat::Max(name(property)?),
        _ => return Err(FormatError::new(format!("`keeps {text}` is not understood"))),
    };
    let sharded = facts.flag("sharded")?;
    Ok(AggregateFormat { function, sharded, key: facts.pairs("key")?, when: facts.when()? })
}

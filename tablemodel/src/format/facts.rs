//! The facts of a stored format, read off the constant schema: one line each, in no particular order.
//! All of it runs in constants too, so that a program can be compared with its lock while it compiles. No rule is here.

use crate::{
    key::{Codec, KeyType, Part, Segment, Template},
    schema::{
        AggregateSchema, CopySchema, Cover, EntitySchema, Function, IndexSchema, OnDelete, PropertySchema, Shape,
        Store, When, at, same,
    },
};

/// Room that lines are written to. What has no place there is only counted.
pub(crate) struct Lines<'a> {
    room: &'a mut [u8],
    length: usize,
}

impl<'a> Lines<'a> {
    pub(crate) const fn new(room: &'a mut [u8]) -> Self {
        Self { room, length: 0 }
    }

    /// How long what was written is, with what had no place.
    pub(super) const fn length(&self) -> usize {
        self.length
    }

    #[expect(clippy::indexing_slicing, reason = "both ends are below the lengths; see `schema::constant` for why")]
    pub(super) const fn bytes(&mut self, bytes: &[u8]) {
        let end = self.length + bytes.len();
        if end <= self.room.len() {
            let mut i = 0;
            while i < bytes.len() {
                self.room[self.length + i] = bytes[i];
                i += 1;
            }
        }
        self.length = end;
    }

    pub(super) const fn texts(&mut self, mut texts: &[&str]) {
        while let [text, tail @ ..] = texts {
            self.bytes(text.as_bytes());
            texts = tail;
        }
    }

    const fn line(&mut self, texts: &[&str]) {
        self.texts(texts);
        self.bytes(b"\n");
    }

    pub(super) const fn number(&mut self, number: usize) {
        if number >= 10 {
            self.number(number / 10);
        }
        #[expect(clippy::cast_possible_truncation, reason = "a digit")]
        self.bytes(&[b'0' + (number % 10) as u8]);
    }
}

/// How many bytes the facts of the entity take.
pub const fn facts_length(schema: &EntitySchema) -> usize {
    let mut lines = Lines::new(&mut []);
    write_facts(schema, &mut lines);
    lines.length
}

/// The facts of the entity, in the order of its schema.
pub(crate) fn facts(schema: &EntitySchema) -> Vec<u8> {
    let mut room = vec![0; facts_length(schema)];
    write_facts(schema, &mut Lines::new(&mut room));
    room
}

/// Writes the facts of the entity, one line each.
pub(crate) const fn write_facts(schema: &EntitySchema, to: &mut Lines<'_>) {
    if schema.adopt {
        to.line(&["adopt"]);
    }
    if schema.is_wide() {
        to.line(&["wide"]);
    }
    to.line(&["table ", schema.table]);
    template("key partition", &schema.partition, to);
    template("key row", &schema.row, to);
    let mut reserved = schema.reserved;
    while let [name, tail @ ..] = reserved {
        to.line(&["reserved ", name]);
        reserved = tail;
    }
    let mut fields = schema.fields;
    while let [field, tail @ ..] = fields {
        let mut properties = field.properties();
        while let [own, rest @ ..] = properties {
            property(own, schema.shape.as_ref(), to);
            properties = rest;
        }
        fields = tail;
    }
    derived(schema, to);
}

const fn derived(schema: &EntitySchema, to: &mut Lines<'_>) {
    let mut indexes = schema.indexes;
    while let [own, tail @ ..] = indexes {
        index(own, to);
        indexes = tail;
    }
    let mut copies = schema.copies;
    while let [own, tail @ ..] = copies {
        copy(own, to);
        copies = tail;
    }
    let mut aggregates = schema.aggregates;
    while let [own, tail @ ..] = aggregates {
        aggregate(own, to);
        aggregates = tail;
    }
}

const fn property(own: &PropertySchema, shape: Option<&Shape>, to: &mut Lines<'_>) {
    to.texts(&["property ", own.property, " ", own.edm.name()]);
    let flags = [
        (own.nullable, " nullable"),
        (own.default.is_some(), " default"),
        (own.aggregate, " aggregate"),
        (is_chunked(own.property, shape), " chunked"),
    ];
    let mut place = 0;
    while place < flags.len() {
        let (is_set, text) = at(&flags, place);
        if *is_set {
            to.texts(&[text]);
        }
        place += 1;
    }
    to.line(&[" as ", own.codec]);
}

const fn is_chunked(property: &str, shape: Option<&Shape>) -> bool {
    let Some(shape) = shape else { return false };
    let mut chunked = shape.chunked;
    while let [name, tail @ ..] = chunked {
        if same(name, property) {
            return true;
        }
        chunked = tail;
    }
    false
}

const fn index(own: &IndexSchema, to: &mut Lines<'_>) {
    let name = own.name;
    to.texts(&["index ", name]);
    template(" row", &own.row, to);
    if let Some(elsewhere) = &own.elsewhere {
        to.line(&["index ", name, " table ", elsewhere.table]);
        to.texts(&["index ", name]);
        template(" partition", &elsewhere.partition, to);
    }
    if let Some(each) = &own.each {
        to.line(&["index ", name, " each ", each.property]);
    }
    let cover = match own.cover {
        Cover::Whole => "whole",
        Cover::Keep(_) => "keep",
        Cover::KeysOnly => "keys",
        Cover::List if matches!(own.store, Store::Blob { .. }) => "list in blob",
        Cover::List => "list",
    };
    to.line(&["index ", name, " cover ", cover]);
    if let Cover::Keep(mut kept) = own.cover {
        while let [property, tail @ ..] = kept {
            to.line(&["index ", name, " keep ", property]);
            kept = tail;
        }
    }
    if own.unique {
        to.line(&["index ", name, " unique"]);
    }
    when(&["index ", name], own.when, to);
}

const fn when(start: &[&str], condition: Option<When>, to: &mut Lines<'_>) {
    if let Some(When { property, negated }) = condition {
        to.texts(start);
        to.line(&[if negated { " when !" } else { " when " }, property]);
    }
}

const fn copy(own: &CopySchema, to: &mut Lines<'_>) {
    let name = own.name;
    to.line(&["copy ", name, " source ", own.source_type]);
    to.line(&["copy ", name, " stored ", own.property]);
    let delete = match own.on_delete {
        OnDelete::Clear => "clear",
        OnDelete::Restrict => "restrict",
        OnDelete::Keep => "keep",
    };
    to.line(&["copy ", name, " delete ", delete]);
    if own.optional {
        to.line(&["copy ", name, " optional"]);
    }
    let mut key = own.key;
    while let [pair, tail @ ..] = key {
        to.line(&["copy ", name, " key ", pair.source, " = ", pair.holder]);
        key = tail;
    }
    let mut properties = own.properties;
    while let [property, tail @ ..] = properties {
        to.line(&["copy ", name, " property ", property]);
        properties = tail;
    }
}

const fn aggregate(own: &AggregateSchema, to: &mut Lines<'_>) {
    let start = ["aggregate ", own.target.entity_type, ".", own.into];
    to.texts(&start);
    match own.function {
        Function::Count => to.line(&[" keeps count"]),
        Function::Sum(property) => to.line(&[" keeps sum ", property]),
        Function::Min(property) => to.line(&[" keeps min ", property]),
        Function::Max(property) => to.line(&[" keeps max ", property]),
    }
    if own.is_sharded() {
        to.texts(&start);
        to.line(&[" sharded"]);
    }
    let mut key = own.key;
    while let [(target, source), tail @ ..] = key {
        to.texts(&start);
        to.line(&[" key ", target, " = ", source]);
        key = tail;
    }
    when(&start, own.when, to);
}

/// `row "empid_{Id:u32:06}"`
const fn template(word: &str, template: &Template, to: &mut Lines<'_>) {
    to.texts(&[word, " \""]);
    let mut segments = template.0;
    while let [segment, tail @ ..] = segments {
        match segment {
            Segment::Literal(text) => literal(text, to),
            Segment::Part(own) => part(own, to),
        }
        segments = tail;
    }
    to.line(&["\""]);
}

/// Braces are doubled.
const fn literal(text: &str, to: &mut Lines<'_>) {
    let mut bytes = text.as_bytes();
    while let [byte, tail @ ..] = bytes {
        if matches!(*byte, b'{' | b'}') {
            to.bytes(&[*byte]);
        }
        to.bytes(&[*byte]);
        bytes = tail;
    }
}

/// `{Id:u32:06}`, and with `?` where the value may be absent.
const fn part(own: &Part, to: &mut Lines<'_>) {
    to.texts(&["{", own.property, ":"]);
    let (name, bits) = match own.key_type {
        KeyType::Text => ("text", 0),
        KeyType::Unsigned(bits) => ("u", bits),
        KeyType::Signed(bits) => ("i", bits),
        KeyType::Float => ("float", 0),
        KeyType::Bool => ("bool", 0),
        KeyType::Uuid => ("uuid", 0),
        KeyType::Ulid => ("ulid", 0),
        KeyType::Date => ("date", 0),
        KeyType::Time => ("time", 0),
        KeyType::Binary => ("bytes", 0),
        KeyType::Enum { ordered: true } => ("enum", 0),
        KeyType::Enum { ordered: false } => ("enum-unordered", 0),
    };
    to.texts(&[name]);
    if bits > 0 {
        to.number(bits as usize);
    }
    to.texts(&[if own.optional { "?" } else { "" }]);
    codec(own.codec, to);
    to.texts(&["}"]);
}

/// As in a template of the user's.
const fn codec(codec: Codec, to: &mut Lines<'_>) {
    match codec {
        Codec::Plain => {}
        Codec::Width(digits) => {
            to.texts(&[":0"]);
            to.number(digits as usize);
        }
        Codec::Desc => to.texts(&[":desc"]),
        Codec::Sortable => to.texts(&[":sortable"]),
        Codec::Hour => to.texts(&[":hour"]),
        Codec::Day => to.texts(&[":day"]),
        Codec::Month => to.texts(&[":month"]),
        Codec::Lower => to.texts(&[":lower"]),
        Codec::Shard(buckets) => {
            to.texts(&[":shard("]);
            to.number(buckets as usize);
            to.texts(&[")"]);
        }
        Codec::Hash => to.texts(&[":hash"]),
        Codec::Raw => to.texts(&[":raw"]),
    }
}

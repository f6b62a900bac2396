//! The struct of an old version, as Rust: what reads its rows when the user's struct has moved on.
//! It is made from the format, so that it says what the lock says. What it added to aggregates names them as the program's
//! structs do today; copies are the model's of today, and are left out.

mod added;
mod names;

pub(super) use self::names::{ident_of, module, name, snake};
use self::names::{pascal, word_of};
use super::project::Current;
use crate::{
    format::{CoverFormat, Format, IndexFormat, KeyFormat, KeyPiece, PropertyFormat},
    key::{Codec, KeyType},
    schema::BLOB,
};

/// The file with the struct, in a program of these entities. `previous` is the struct of the version before it, if rows of that are read too.
pub(super) fn text(format: &Format, previous: Option<&str>, entities: &[Current]) -> String {
    let Format { entity_type, version, .. } = format;
    let added = added::of(format, entities);
    let name = name(entity_type, *version);
    let mut lines = vec![
        format!(
            "//! `{entity_type}` as version {version} stored it. Written by `cargo tablemodel diff`; tablemodel.lock keeps it so."
        ),
        String::new(),
        "#![allow(missing_docs, non_camel_case_types, unreachable_pub, reason = \"as rows of this version are\")]"
            .to_owned(),
        "#![allow(clippy::all, clippy::pedantic, reason = \"it is written for rows, not to be read\")]".to_owned(),
        String::new(),
        "use tablemodel::prelude::*;".to_owned(),
        String::new(),
    ];
    if !added.uses.is_empty() {
        lines.extend(added.uses);
        lines.push(String::new());
    }
    lines.push(format!("/// Version {version} of `{entity_type}`: rows of it are read by this struct."));
    lines.push("#[derive(Debug, TableEntity)]".to_owned());
    lines.extend(container(format, previous));
    lines.extend(format.indexes.iter().map(|(name, of)| index(name, of)));
    lines.extend(added.attributes);
    lines.push(format!("pub struct {name} {{"));
    for (property, of) in stored(format) {
        let (ty, words) = field(property, of, format);
        if !words.is_empty() {
            lines.push(format!("    #[table({})]", words.join(", ")));
        }
        lines.push(format!("    pub {}: {ty},", ident_of(property)));
    }
    lines.push("}\n".to_owned());
    lines.join("\n")
}

/// The properties that are fields: of a blob the first one.
fn stored(format: &Format) -> impl Iterator<Item = (&str, &PropertyFormat)> {
    let is_blob = |name: &str| format.properties.get(name).is_some_and(|of| of.codec == BLOB);
    let is_beside = move |name: &str| ["_length", "_sum"].iter().any(|end| name.strip_suffix(end).is_some_and(is_blob));
    let all = format.properties.iter().map(|(name, of)| (name.as_str(), of));
    all.filter(move |(name, of)| of.codec != BLOB || !is_beside(name))
}

fn container(format: &Format, previous: Option<&str>) -> Vec<String> {
    let Format { entity_type, version, table, partition, row, adopt, wide, .. } = format;
    let mut words = vec![format!("name = {table:?}, entity_type = {entity_type:?}, version = {version}, frozen")];
    words.extend(adopt.then(|| "adopt".to_owned()));
    words.extend(wide.then(|| "wide".to_owned()));
    words.extend(previous.map(|path| format!("previous = {path}")));
    vec![
        format!("#[table({})]", words.join(", ")),
        format!("#[table(partition = {:?}, row = {:?})]", template(partition), template(row)),
    ]
}

fn index(name: &str, index: &IndexFormat) -> String {
    let (row, is_list_elsewhere) = match without_owner(&index.row) {
        Some(row) if index.elsewhere.is_some() => (row, true),
        _ => (index.row.clone(), false),
    };
    let mut words = vec![format!("{}, row = {:?}", word_of(name), template(&row))];
    if let Some(elsewhere) = &index.elsewhere {
        words.push(format!("table = {:?}, partition = {:?}", elsewhere.table, template(&elsewhere.partition)));
    }
    words.extend(index.each.iter().map(|each| format!("each({})", ident_of(each))));
    words.extend(index.unique.then(|| "unique".to_owned()));
    match &index.cover {
        CoverFormat::Keep(kept) => {
            let kept: Vec<String> = kept.iter().map(|name| ident_of(name)).collect();
            words.push(format!("keep({})", kept.join(", ")));
        }
        CoverFormat::KeysOnly if !is_list_elsewhere => words.push("keys_only".to_owned()),
        CoverFormat::ListInBlob => words.push("store = blob".to_owned()),
        CoverFormat::KeysOnly | CoverFormat::Whole | CoverFormat::List => {}
    }
    words.extend(
        index
            .when
            .as_ref()
            .map(|when| format!("when = {}{}", if when.negated { "!" } else { "" }, ident_of(&when.property))),
    );
    let what = if is_list_elsewhere || index.cover.is_list() { "list" } else { "index" };
    format!("#[table({what}({}))]", words.join(", "))
}

/// The row key of a list elsewhere without its end, `!{_pk:text}!{_rk:text}`.
fn without_owner(row: &KeyFormat) -> Option<KeyFormat> {
    let is = |piece: &KeyPiece, name: &str| matches!(piece, KeyPiece::Part { property, .. } if property == name);
    let [start @ .., KeyPiece::Literal(before), partition, KeyPiece::Literal(_), row] = row.0.as_slice() else {
        return None;
    };
    if !is(partition, "_pk") || !is(row, "_rk") {
        return None;
    }
    let before = before.strip_suffix('!').unwrap_or(before);
    let mut pieces = start.to_vec();
    pieces.extend((!before.is_empty()).then(|| KeyPiece::Literal(before.to_owned())));
    Some(KeyFormat(pieces))
}

/// As the derive takes it: by fields, without kinds.
fn template(key: &KeyFormat) -> String {
    let piece = |piece: &KeyPiece| match piece {
        KeyPiece::Literal(text) => text.replace('{', "{{").replace('}', "}}"),
        KeyPiece::Part { property, codec: Codec::Plain, .. } => format!("{{{}}}", ident_of(property)),
        KeyPiece::Part { property, codec, .. } => format!("{{{}:{codec}}}", ident_of(property)),
    };
    key.0.iter().map(piece).collect()
}

/// The type of a field, and the words on it.
fn field(property: &str, of: &PropertyFormat, format: &Format) -> (String, Vec<String>) {
    let mut words = Vec::new();
    if pascal(&ident_of(property)) != property {
        words.push(format!("rename = {property:?}"));
    }
    let default = if of.default { unknown_default(property, format.version) } else { String::new() };
    let flags = [
        (of.codec == "json", "json"),
        (of.codec == BLOB, "blob"),
        (of.default, default.as_str()),
        (of.aggregate, "aggregate"),
        (of.chunked, "chunked"),
    ];
    words.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, word)| (*word).to_owned()));
    let ty = type_of(property, of, format);
    // Whether JSON may be absent is not told by its format, but only what may be can be a condition.
    let is_optional = of.nullable || (of.codec == "json" && is_condition(property, format));
    (if is_optional { format!("Option<{ty}>") } else { ty }, words)
}

/// Whether an index or an aggregate takes the entity by this property.
fn is_condition(property: &str, format: &Format) -> bool {
    let of_indexes = format.indexes.values().map(|index| &index.when);
    let mut all = of_indexes.chain(format.aggregates.values().map(|aggregate| &aggregate.when)).flatten();
    all.any(|when| when.property == property)
}

/// The value of a default is not in the lock: whoever knows it says it, before the struct compiles.
fn unknown_default(property: &str, version: u32) -> String {
    format!(
        "default = {ASKED}{property} was read as in version {version} where a row had none: `default = ..`, or `default` for the \
         type's own\")"
    )
}

/// What a default begins with that nobody has said yet.
const ASKED: &str = "compile_error!(\"say what ";

/// The properties whose default is still to be said in the text of a frozen struct.
pub(super) fn asked(text: &str) -> Vec<&str> {
    text.split(ASKED).skip(1).filter_map(|rest| rest.split(' ').next()).collect()
}

/// Whether the text has a struct of this version of the entity; one that says no version is of the first.
pub(super) fn is_of(text: &str, format: &Format) -> bool {
    let text: String = text.split_whitespace().collect();
    let version = format!("version={}", format.version);
    let is_said = text.split(&version).skip(1).any(|rest| rest.starts_with([',', ')']));
    let is_first = format.version == 1 && !text.contains("version=");
    text.contains(&format!("entity_type={:?}", format.entity_type)) && (is_said || is_first)
}

fn type_of(property: &str, of: &PropertyFormat, format: &Format) -> String {
    let civil = |chrono: &str, time: &str| {
        if cfg!(feature = "time") { format!("::time::{time}") } else { format!("::chrono::{chrono}") }
    };
    match of.codec.as_str() {
        own @ ("u8" | "u16" | "u32" | "u64" | "u128" | "i8" | "i16" | "i32" | "i64" | "i128") => own.to_owned(),
        own @ ("bool" | "char" | "f32" | "f64") => own.to_owned(),
        own if own.starts_with("[u8; ") => own.to_owned(),
        "string" => "String".to_owned(),
        "bytes" => "Vec<u8>".to_owned(),
        "datetime" => "tablemodel::DateTime".to_owned(),
        "uuid" => "tablemodel::Uuid".to_owned(),
        "ulid" => "::ulid::Ulid".to_owned(),
        "decimal" => "::rust_decimal::Decimal".to_owned(),
        "date" => civil("NaiveDate", "Date"),
        "time" => civil("NaiveTime", "Time"),
        "local_datetime" => civil("NaiveDateTime", "PrimitiveDateTime"),
        "enum" => word(kinds(property, format).contains(&KeyType::Enum { ordered: false })),
        "json" => match kinds(property, format).first() {
            Some(element) => format!("Vec<{}>", element_type(property, *element)),
            None => JSON.to_owned(),
        },
        BLOB => "Blob".to_owned(),
        other => format!("compile_error!({:?})", format!("write here the type whose codec is `{other}`")),
    }
}

/// How the values that go along become what the structs of today have, where the frozen struct has another type; a line each.
pub(super) fn read_as(old: &Format, new: &Format) -> Vec<String> {
    let stays = |name: &String, of: &PropertyFormat| new.properties.get(name).is_some_and(|new| new.codec == of.codec);
    let line = |(name, of): (&String, &PropertyFormat)| {
        let (field, ty) = (ident_of(name), field(name, of, old).0);
        let (is_optional, ty) = ty.strip_prefix("Option<").map_or((false, ty.as_str()), |inside| (true, inside));
        let (is_list, ty) = ty.strip_prefix("Vec<").map_or((false, ty), |inside| (true, inside));
        let read = match (ty.starts_with(WORD), is_list) {
            (true, true) => "|texts| texts.iter().map(|text| text.read()).collect::<Result<_, _>>()",
            (true, false) => "|text| text.read()",
            (false, _) if ty.starts_with(JSON) => READ_JSON,
            (false, _) => return None,
        };
        Some(match (is_optional, read) {
            (true, read) => format!("{field}: old.{field}.map({read}).transpose()?"),
            (false, READ_JSON) => format!("{field}: {READ_JSON}(old.{field})?"),
            (false, _) if is_list => {
                format!("{field}: old.{field}.iter().map(|text| text.read()).collect::<Result<_, _>>()?")
            }
            (false, _) => format!("{field}: old.{field}.read()?"),
        })
    };
    old.properties.iter().filter(|(name, of)| stays(name, of)).filter_map(line).collect()
}

const WORD: &str = "tablemodel::format::Word";
const JSON: &str = "tablemodel::format::Json";
const READ_JSON: &str = "tablemodel::format::read_json";

fn word(is_unordered: bool) -> String {
    format!("{WORD}{}", if is_unordered { "<false>" } else { "" })
}

/// The kinds of value that the property has in keys.
fn kinds(name: &str, format: &Format) -> Vec<KeyType> {
    let indexes = format.indexes.values();
    let of_indexes = indexes.flat_map(|index| {
        std::iter::once(&index.row).chain(index.elsewhere.as_ref().map(|elsewhere| &elsewhere.partition))
    });
    let pieces = [&format.partition, &format.row].into_iter().chain(of_indexes).flat_map(|key| &key.0);
    let kinds = pieces.filter_map(|piece| match piece {
        KeyPiece::Part { property, key_type, .. } if property == name => Some(*key_type),
        _ => None,
    });
    kinds.collect()
}

/// The lists whose elements are enums in keys: what serde writes of these the format does not tell.
pub(super) fn words_in_lists(format: &Format) -> impl Iterator<Item = &str> {
    let lists: std::collections::BTreeSet<_> =
        format.indexes.values().filter_map(|index| index.each.as_deref()).collect();
    let is_word = |name: &&str| kinds(name, format).iter().any(|kind| matches!(kind, KeyType::Enum { .. }));
    lists.into_iter().filter(is_word)
}

fn element_type(property: &str, kind: KeyType) -> String {
    match kind {
        KeyType::Unsigned(bits) => format!("u{bits}"),
        KeyType::Signed(bits) => format!("i{bits}"),
        KeyType::Text => "String".to_owned(),
        // JSON has fewer digits of the one: 0.1 is read as another key. The format does not tell which it was.
        KeyType::Float => {
            format!("compile_error!({:?})", format!("write here the type of a float in {property}: f32 or f64"))
        }
        KeyType::Bool => "bool".to_owned(),
        KeyType::Uuid => "tablemodel::Uuid".to_owned(),
        KeyType::Ulid => "::ulid::Ulid".to_owned(),
        KeyType::Date => if cfg!(feature = "time") { "::time::Date" } else { "::chrono::NaiveDate" }.to_owned(),
        // Each crate of times has its own text in JSON.
        KeyType::Time => format!("compile_error!({:?})", format!("write here the type of a time in {property}")),
        KeyType::Binary => "Vec<u8>".to_owned(),
        KeyType::Enum { ordered } => word(!ordered),
    }
}

//! Random formats for tests: all that the data can say, sound entities or not.

use std::collections::BTreeSet;

use proptest::{
    collection::{btree_map, btree_set, vec},
    option,
    prelude::*,
};
use tablemodel_store::EdmType;

use super::{
    AggregateFormat, CopyFormat, CoverFormat, ElsewhereFormat, Format, FunctionFormat, IndexFormat, KeyFormat,
    KeyPiece, PropertyFormat, WhenFormat,
};
use crate::{
    key::{Codec, KeyType},
    schema::OnDelete,
};

/// Few names, so that two formats have many in common.
fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[A-D]", "[A-Z][a-z]{0,3}", Just("Straße_1".to_owned()), Just("key".to_owned())]
}

fn names() -> impl Strategy<Value = BTreeSet<String>> {
    btree_set(name(), 0..4)
}

fn key_type() -> impl Strategy<Value = KeyType> {
    let bits = || prop_oneof![Just(8_u8), Just(16), Just(32), Just(64), Just(128)];
    prop_oneof![
        Just(KeyType::Text),
        bits().prop_map(KeyType::Unsigned),
        bits().prop_map(KeyType::Signed),
        Just(KeyType::Float),
        Just(KeyType::Bool),
        Just(KeyType::Uuid),
        Just(KeyType::Ulid),
        Just(KeyType::Date),
        Just(KeyType::Time),
        Just(KeyType::Binary),
        any::<bool>().prop_map(|ordered| KeyType::Enum { ordered }),
    ]
}

fn codec() -> impl Strategy<Value = Codec> {
    prop_oneof![
        Just(Codec::Plain),
        (1..40_u8).prop_map(Codec::Width),
        Just(Codec::Desc),
        Just(Codec::Sortable),
        Just(Codec::Hour),
        Just(Codec::Day),
        Just(Codec::Month),
        Just(Codec::Lower),
        (1..300_u16).prop_map(Codec::Shard),
        Just(Codec::Hash),
        Just(Codec::Raw),
    ]
}

/// No two literals stand together: nothing tells where one ends.
pub(crate) fn key() -> impl Strategy<Value = KeyFormat> {
    let part = (name(), key_type(), any::<bool>(), codec())
        .prop_map(|(property, key_type, optional, codec)| KeyPiece::Part { property, key_type, optional, codec });
    let piece = prop_oneof!["[a-z_{}\"!é]{1,4}".prop_map(KeyPiece::Literal), part];
    vec(piece, 0..5).prop_map(|mut pieces| {
        pieces.dedup_by(|a, b| matches!((a, b), (KeyPiece::Literal(_), KeyPiece::Literal(_))));
        KeyFormat(pieces)
    })
}

fn property() -> impl Strategy<Value = PropertyFormat> {
    let edm = prop_oneof![Just(EdmType::Int32), Just(EdmType::Int64), Just(EdmType::String), Just(EdmType::Binary)];
    const CODECS: [&str; 8] = ["u8", "u32", "string", "json", "[u8; 16]", "blob", "as as", "nullable"];
    (edm, prop::sample::select(&CODECS[..]), any::<[bool; 4]>()).prop_map(|(edm, codec, flags)| {
        let [nullable, default, aggregate, chunked] = flags;
        PropertyFormat { edm, codec: codec.to_owned(), nullable, default, aggregate, chunked }
    })
}

fn when() -> impl Strategy<Value = Option<WhenFormat>> {
    option::of((name(), any::<bool>()).prop_map(|(property, negated)| WhenFormat { property, negated }))
}

fn index() -> impl Strategy<Value = IndexFormat> {
    let elsewhere = (name(), key()).prop_map(|(table, partition)| ElsewhereFormat { table, partition });
    let cover = prop_oneof![
        Just(CoverFormat::Whole),
        names().prop_map(CoverFormat::Keep),
        Just(CoverFormat::KeysOnly),
        Just(CoverFormat::List),
        Just(CoverFormat::ListInBlob),
    ];
    (option::of(elsewhere), key(), option::of(name()), cover, any::<bool>(), when()).prop_map(
        |(elsewhere, row, each, cover, unique, when)| IndexFormat { elsewhere, row, each, cover, unique, when },
    )
}

fn copy() -> impl Strategy<Value = CopyFormat> {
    let on_delete = prop_oneof![Just(OnDelete::Clear), Just(OnDelete::Restrict), Just(OnDelete::Keep)];
    (name(), name(), btree_map(name(), name(), 0..3), names(), any::<bool>(), on_delete).prop_map(
        |(source, stored, key, properties, optional, on_delete)| CopyFormat {
            source,
            stored,
            key,
            properties,
            optional,
            on_delete,
        },
    )
}

fn aggregate() -> impl Strategy<Value = AggregateFormat> {
    let function = prop_oneof![
        Just(FunctionFormat::Count),
        name().prop_map(FunctionFormat::Sum),
        name().prop_map(FunctionFormat::Min),
        name().prop_map(FunctionFormat::Max),
    ];
    (function, any::<bool>(), btree_map(name(), name(), 0..3), when())
        .prop_map(|(function, sharded, key, when)| AggregateFormat { function, sharded, key, when })
}

/// Any format.
pub(crate) fn format() -> impl Strategy<Value = Format> {
    let entity = (name(), 1..5_u32, name(), key(), key(), any::<bool>(), any::<bool>(), names());
    let rest = (
        btree_map(name(), property(), 0..6),
        btree_map(name(), index(), 0..4),
        btree_map(name(), copy(), 0..3),
        btree_map(name(), aggregate(), 0..3),
    );
    (entity, rest).prop_map(|(entity, (properties, indexes, copies, aggregates))| {
        let (entity_type, version, table, partition, row, adopt, wide, reserved) = entity;
        Format {
            entity_type,
            version,
            table,
            partition,
            row,
            properties,
            indexes,
            copies,
            aggregates,
            adopt,
            wide,
            reserved,
        }
    })
}

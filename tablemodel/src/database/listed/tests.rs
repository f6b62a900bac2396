//! A program whose model is very large.

use crate::{
    Consistency,
    database::{
        leases::{INSTANCE, told_on},
        registry::index_row,
    },
    prelude::*,
    schema::EntitySchema,
    store::Durability,
};

#[derive(TableEntity)]
#[table(name = "Things", partition = "{place}", row = "{id:06}", crate = "crate")]
#[table(index(by_name, table = "Names", partition = "{name}", row = "{place}_{id:06}", keys_only))]
struct Thing {
    place: String,
    id: u32,
    name: String,
}

/// Another entity, of a long name.
fn another(number: u32) -> &'static EntitySchema {
    let of = Thing::SCHEMA;
    let entity_type: &'static str = format!("{}{number}", "Thing".repeat(60)).leak();
    Box::leak(Box::new(EntitySchema {
        entity_type,
        version: of.version,
        discriminator: format!("{entity_type}@1").leak(),
        table: of.table,
        fields: of.fields,
        partition: of.partition,
        row: of.row,
        indexes: of.indexes,
        copies: of.copies,
        aggregates: of.aggregates,
        sharded: of.sharded,
        adopt: of.adopt,
        shape: of.shape,
        reserved: of.reserved,
        path: of.path,
        previous: None,
        readable_by: None,
        moves_to: None,
        moved_from: None,
        frozen: false,
        added_to: of.added_to,
        reads: of.reads,
    }))
}

#[tokio::test]
async fn a_program_of_a_very_large_model_has_a_lease_and_tells_all_that_it_knows() {
    let folder = tempfile::tempdir().unwrap();
    let model = [Thing::SCHEMA].into_iter().chain((0..120).map(another)).collect::<Vec<_>>().leak();
    let builder = Database::builder().consistency(Consistency::Azure).durability(Durability::Bulk);
    let db = builder.open_file(model, &folder.path().join("things.tablemodel")).await.unwrap();
    db.ensure_tables().await.unwrap();
    db.insert(&Thing { place: "A".into(), id: 1, name: "n".into() }).await.unwrap();
    let rows = db.registry_rows().await.unwrap();
    let (_, lease) = rows.iter().find(|(key, _)| key.starts_with(INSTANCE)).unwrap();
    let known = told_on(lease);
    assert!(model.iter().all(|schema| known.contains(&index_row(schema.entity_type, "by_name"))));
    assert_eq!(known.len(), model.len());
}

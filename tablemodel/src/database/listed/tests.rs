//! A program whose model is very large.

use std::{path::Path, sync::Arc};

use crate::{
    Consistency,
    database::{
        leases::{INSTANCE, told_on},
        registry::index_row,
    },
    prelude::*,
    schema::EntitySchema,
    store::Durability,
    testing::{ManualClock, Passing},
};

#[derive(TableEntity)]
#[table(name = "Things", partition = "{place}", row = "{id:06}", crate = "crate")]
#[table(index(by_name, table = "Names", partition = "{name}", row = "{place}_{id:06}", keys_only))]
struct Thing {
    place: String,
    id: u32,
    name: String,
}

/// A model of very many entities, of long names; whether their tables are there already, and so have to be read for their indexes.
fn model(adopt: bool) -> &'static [&'static EntitySchema] {
    [Thing::SCHEMA].into_iter().chain((0..120).map(|number| another(number, adopt))).collect::<Vec<_>>().leak()
}

fn another(number: u32, adopt: bool) -> &'static EntitySchema {
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
        adopt,
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

/// Time passes as it is waited for: a migration waits until other programs would know of each state.
async fn opened(model: &'static [&'static EntitySchema], folder: &Path) -> crate::Result<Database> {
    let clock = ManualClock::new(crate::DateTime::UNIX_EPOCH);
    let builder = Database::builder().consistency(Consistency::Azure).durability(Durability::Bulk);
    let builder = builder.clock(Arc::new(clock.clone())).sleep(Arc::new(Passing(clock)));
    let db = builder.open_file(model, &folder.join("things.tablemodel")).await?;
    db.ensure_tables().await?;
    Ok(db)
}

#[tokio::test]
async fn a_program_of_a_very_large_model_has_a_lease_and_tells_all_that_it_knows() {
    let folder = tempfile::tempdir().unwrap();
    let model = model(false);
    let db = opened(model, folder.path()).await.unwrap();
    db.insert(&Thing { place: "A".into(), id: 1, name: "n".into() }).await.unwrap();
    let rows = db.registry_rows().await.unwrap();
    let (_, lease) = rows.iter().find(|(key, _)| key.starts_with(INSTANCE)).unwrap();
    let known = told_on(lease);
    assert!(model.iter().all(|schema| known.contains(&index_row(schema.entity_type, "by_name"))));
    assert_eq!(known.len(), model.len());
}

#[tokio::test]
async fn very_many_indexes_are_built_by_one_migration() {
    let folder = tempfile::tempdir().unwrap();
    let db = opened(model(true), folder.path()).await.unwrap();
    let steps = db.migrations().plan().await.unwrap().steps;
    assert!(steps.len() >= 120, "{}", steps.len());
    db.migrations().apply().await.unwrap().into_result().unwrap();
    assert!(db.migrations().plan().await.unwrap().is_empty());
}

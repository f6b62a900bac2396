//! Files as this format has them: every later program opens them, finds what was put in, and goes on.
//!
//! They are written by `TABLEMODEL_OVERWRITE=1` where there are none yet; one that is there stays as it is for good.

use std::{
    fs,
    io::{Read, Write},
    path::{Path, PathBuf},
    sync::Arc,
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use tablemodel_store::{
    Action, Batch, Condition, DateTime, EmbeddedStore, Properties, RowKey, StoreError, StoreErrorKind, TableStore,
    Uuid, Value, clock::ManualClock,
};

use super::{fill, number, place, put};

/// Of a store that was closed, and of one whose program was killed after its last commit.
const FILES: [&str; 2] = ["closed", "killed"];
const ROWS: i64 = 300;
/// Rows that say of which kind they are: so many that the last of them have a shape.
const KINDS: i32 = 12;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/embedded/golden").join(format!("{name}.gz"))
}

fn opened(path: &Path) -> Result<EmbeddedStore, StoreError> {
    let clock = ManualClock::new(DateTime::from_unix_seconds(1_600_000_000).unwrap());
    EmbeddedStore::builder().clock(Arc::new(clock)).open(path)
}

fn every_type() -> Properties {
    let values = [
        ("Binary", Value::Binary(vec![0, 1, 254, 255])),
        ("Boolean", true.into()),
        ("DateTime", DateTime::from_ticks(DateTime::MAX.ticks() - 1).into()),
        ("Double", (-0.0).into()),
        ("Guid", Uuid::from_u128(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef).into()),
        ("Int32", i32::MIN.into()),
        ("Int64", i64::MAX.into()),
        ("String", "ä\u{0}\u{10FFFF}".into()),
        ("Long", "long ".repeat(6_000).into()),
    ];
    values.into_iter().collect()
}

fn kind(row: i32) -> Properties {
    Properties::from_iter([("EntityType", Value::from("Kind@1")), ("Row", row.into())])
}

async fn write(path: &Path) -> EmbeddedStore {
    let store = opened(path).unwrap();
    for table in ["Table", "Empty", "Dropped"] {
        store.create_table(table).await.unwrap();
    }
    fill(&store, "Table", ROWS).await;
    fill(&store, "Dropped", 10).await;
    store.delete_table("Dropped").await.unwrap();
    for row in 0..KINDS {
        let batch = Batch::new("Table", "kinds").with(format!("{row:02}"), Action::Insert(kind(row)));
        store.commit(&[batch]).await.unwrap();
    }
    let types = Batch::new("Table", "ü types").with("row", Action::Insert(every_type()));
    store.commit(&[types]).await.unwrap();
    let delete = Batch::new("Table", "p").with("000007", Action::Delete(Condition::Exists));
    store.commit(&[delete]).await.unwrap();
    put(&store, "Table", "000008", -8).await.unwrap();
    store
}

async fn overwrite() {
    for name in FILES.into_iter().filter(|name| !file(name).exists()) {
        let (_directory, path) = place();
        let store = write(&path).await;
        if name == "closed" {
            store.close().await.unwrap();
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::best());
        packed.write_all(&fs::read(&path).unwrap()).unwrap();
        fs::create_dir_all(file(name).parent().unwrap()).unwrap();
        fs::write(file(name), packed.finish().unwrap()).unwrap();
    }
}

#[tokio::test]
async fn the_files_of_this_format_are_opened_read_and_written() {
    if std::env::var_os("TABLEMODEL_OVERWRITE").is_some() {
        overwrite().await;
    }
    for name in FILES {
        let (_directory, path) = place();
        let mut bytes = Vec::new();
        GzDecoder::new(&fs::read(file(name)).unwrap()[..]).read_to_end(&mut bytes).unwrap();
        fs::write(&path, bytes).unwrap();
        let read = EmbeddedStore::builder().read_only(true).open(&path);
        match name {
            "closed" => assert_eq!(number(&read.unwrap(), "Table", "000008").await, Some(-8)),
            _ => assert!(read.unwrap_err().is_not_closed_cleanly()),
        }
        let store = opened(&path).unwrap();
        assert_eq!(store.stats().unwrap().repaired_at_open, name == "killed");
        assert_eq!(store.list_tables().await.unwrap(), ["Empty", "Table"]);
        assert_eq!(store.check().await.unwrap(), ROWS as u64 + KINDS as u64);
        for row in 0..KINDS {
            let read = store.get("Table", &RowKey::new("kinds", format!("{row:02}"))).await.unwrap().unwrap();
            assert_eq!(read.properties, kind(row), "{name}");
        }
        let types = store.get("Table", &RowKey::new("ü types", "row")).await.unwrap().unwrap();
        assert_eq!(types.properties, every_type(), "{name}");
        assert_eq!(number(&store, "Table", "000007").await, None);
        assert_eq!(number(&store, "Table", "000299").await, Some(299));
        // An ETag of then counts, and none of them is given out again.
        let replace = |etag| {
            Batch::new("Table", "ü types").with("row", Action::Replace(Properties::new(), Condition::Match(etag)))
        };
        let replaced = store.commit(&[replace(types.etag.clone())]).await.unwrap();
        assert_ne!(replaced[0][0].etag.as_ref(), Some(&types.etag));
        let refused = store.commit(&[replace(types.etag)]).await.unwrap_err();
        assert_eq!(refused.kind(), StoreErrorKind::ConditionNotMet);
        store.create_table("Dropped").await.unwrap();
        put(&store, "Dropped", "r", 1).await.unwrap();
        store.close().await.unwrap();
        let store = opened(&path).unwrap();
        assert_eq!(store.check().await.unwrap(), ROWS as u64 + KINDS as u64 + 1);
    }
}

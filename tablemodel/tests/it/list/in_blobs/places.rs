//! Lists whose blobs are in another place than the program's, or in one that the program would not make.

use super::{
    in_rows::{Rower, Rowers},
    *,
};

async fn filled(db: &Database, name: &str) {
    for id in 0..6 {
        db.insert(&Member { name: name.into(), ..member(id) }).await.unwrap();
    }
}

/// The rows of a list come with an import, the blob does not.
#[tokio::test]
async fn a_list_that_was_imported_without_its_blob_is_corrupt_and_made_anew_by_repair() {
    let long = "J".repeat(600);
    for (name, prefix) in [("Jones", ""), ("Jones", "t1"), (long.as_str(), ""), (long.as_str(), "t1")] {
        let from = database(Consistency::Azure).await;
        filled(&from, name).await;
        let mut lines = Vec::new();
        from.export(&mut lines).await.unwrap();
        let db = Database::builder().prefix(prefix).in_memory::<Model>().await.unwrap();
        db.import(lines.as_slice()).await.unwrap();
        db.ensure_tables().await.unwrap();
        let told = format!("{} letters, prefix `{prefix}`", name.len());
        let error = Member::called().team("A").name(name).keys(&db).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Corrupt, "{told}: {error}");
        let error = db.insert(&Member { name: name.into(), ..member(9) }).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Corrupt, "{told}: {error}");
        assert_eq!(db.verify().await.unwrap().violations.len(), 1, "{told}");
        let repaired = db.repair().await.unwrap();
        assert_eq!((repaired.repaired, repaired.left.len()), (1, 0), "{told}: {:?}", repaired.left);
        assert_eq!(called(&db, name).await.len(), 6, "{told}");
        assert!(db.verify().await.unwrap().is_clean(), "{told}");
    }
}

/// The release after one whose lists were in blobs, without other blobs: the folder is there.
#[tokio::test]
async fn a_list_that_is_in_rows_again_is_read_from_the_blob_beside_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("members");
    let db = Database::open::<Model>(&file).await.unwrap();
    db.ensure_tables().await.unwrap();
    filled(&db, "Jones").await;
    db.close().await.unwrap();

    let of_jones = || Rower::called().team("A").name("Jones");
    let db = Database::builder().read_only().open::<Rowers>(&file).await.unwrap();
    assert_eq!(of_jones().keys(&db).await.unwrap().len(), 6);
    db.close().await.unwrap();
    let db = Database::open::<Rowers>(&file).await.unwrap();
    assert_eq!(of_jones().keys(&db).await.unwrap().len(), 6);
    assert!(db.verify().await.unwrap().is_clean());
    let Member { team, tag, id, name, city } = member(6);
    db.insert(&Rower { team, tag, id, name, city }).await.unwrap();
    assert_eq!(of_jones().keys(&db).await.unwrap().len(), 7);
    assert_eq!(db.repair().await.unwrap().found.violations.len(), 0);
    let rows = rows_in(db.store().as_ref(), "Members").await;
    assert!(rows.values().all(|row| row.get("_keys_in").is_none()), "in its row by now");
    let collected = db.blobs().collect().await.unwrap();
    assert!(collected.examined > 0, "what lists were in is collected by the release that keeps them in rows");
}

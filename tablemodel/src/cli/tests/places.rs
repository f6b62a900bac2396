//! Where a store has its blobs: beside its file, or where it is said.

use std::path::Path;

use super::{Folder, store::within};
use crate::{
    cli::outcome::{DONE, DRIFTED, FAILED},
    prelude::*,
};

mod album {
    use crate::prelude::*;

    #[derive(TableEntity)]
    #[table(name = "Album", partition = "{album}", row = "{id:06}", crate = "crate")]
    pub(super) struct Picture {
        pub(super) album: String,
        pub(super) id: u32,
        #[table(blob)]
        pub(super) pixels: Blob,
    }

    #[derive(TableModel)]
    #[table(crate = "crate")]
    pub(super) enum Album {
        Picture(Picture),
    }
}

fn fill(path: &Path, blobs: &str) {
    within(async {
        let db = Database::builder().blobs_at(blobs).open::<album::Album>(path).await.unwrap();
        db.ensure_tables().await.unwrap();
        let picture = album::Picture { album: "a".into(), id: 1, pixels: Blob::from(vec![7; 9_000]) };
        db.insert(&picture).await.unwrap();
        db.close().await.unwrap();
    });
}

#[test]
fn blobs_are_looked_for_where_they_are_said_to_be_and_nowhere_else_in_silence() {
    let folder = Folder::new();
    let path = folder.path("album.tablemodel");
    let blobs = format!("file://{}", folder.path("elsewhere").display());
    fill(&path, &blobs);
    let store = path.to_str().unwrap();
    let refused = folder.answer::<album::Album>(&["verify", "--store", store]);
    assert!(refused.code == DRIFTED && refused.lines[0].contains("`--blobs URL`"), "{:?}", refused.lines);
    assert!(!folder.path("album.tablemodel.blobs").exists());
    let words = ["verify", "--store", store, "--blobs", &blobs, "--blob-grace", "60"];
    let verified = folder.answer::<album::Album>(&words);
    assert_eq!(verified.code, DONE, "{:?}", verified.lines);
    let golden = folder.answer::<album::Album>(&["golden", "--store", store, "--blobs", &blobs]);
    assert_eq!(golden.code, DONE, "{:?}", golden.lines);
    let given = folder.answer::<album::Album>(&["diff", "--blobs", &blobs]);
    assert_eq!(given.code, 1, "`diff` touches no store: {:?}", given.lines);
}

#[test]
fn a_command_that_only_reads_makes_no_folder_for_blobs_that_are_not_there() {
    let folder = Folder::new();
    let path = folder.path("album.tablemodel");
    fill(&path, &format!("file://{}", folder.path("elsewhere").display()));
    let mistyped = folder.path("elsewhre");
    let blobs = format!("file://{}", mistyped.display());
    let refused = folder.answer::<album::Album>(&["verify", "--store", path.to_str().unwrap(), "--blobs", &blobs]);
    assert!(refused.code != DONE && refused.lines[0].contains("no such folder"), "{:?}", refused.lines);
    assert!(!mistyped.exists());
}

#[test]
fn a_command_that_only_reads_takes_a_store_that_was_not_closed_cleanly() {
    let folder = Folder::new();
    let [path, crashed] = ["album.tablemodel", "crashed.tablemodel"].map(|name| folder.path(name));
    let blobs = format!("file://{}", folder.path("elsewhere").display());
    fill(&path, &blobs);
    within(async {
        let db = Database::builder().blobs_at(&blobs).open::<album::Album>(&path).await.unwrap();
        std::fs::copy(&path, &crashed).unwrap();
        db.close().await.unwrap();
    });
    let words = ["verify", "--store", crashed.to_str().unwrap(), "--blobs", &blobs];
    let verified = folder.answer::<album::Album>(&words);
    assert_eq!(verified.code, DONE, "{:?}", verified.lines);
}

#[test]
fn an_import_has_its_blobs_beside_the_store_that_it_makes() {
    let folder = Folder::new();
    let (path, lines) = (folder.path("album.tablemodel"), folder.path("lines"));
    let blobs = format!("file://{}", folder.path("album.tablemodel.blobs").display());
    fill(&path, &blobs);
    let [store, lines] = [&path, &lines].map(|path| path.to_str().unwrap());
    let exported = folder.answer::<album::Album>(&["export", lines, "--store", store]);
    assert_eq!(exported.code, DONE, "{:?}", exported.lines);
    let anew = folder.path("anew");
    let imported = folder.answer::<album::Album>(&["import", lines, "--store", anew.to_str().unwrap()]);
    assert_eq!(imported.code, DONE, "{:?}", imported.lines);
    let names = std::fs::read_dir(anew.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name());
    let mut of_import: Vec<_> =
        names.map(|name| name.into_string().unwrap()).filter(|name| name.starts_with("anew")).collect();
    of_import.sort();
    assert_eq!(of_import, ["anew", "anew.blobs"]);
    // The links came, and not what they name.
    let verified = folder.answer::<album::Album>(&["verify", "--store", anew.to_str().unwrap()]);
    assert_eq!(verified.data["violations"][0]["kind"], "MissingBlob", "{:?}", verified.lines);
}

#[test]
fn an_import_that_fails_leaves_no_folder_for_blobs() {
    let folder = Folder::new();
    let (lines, anew) = (folder.path("lines"), folder.path("anew"));
    std::fs::write(&lines, "no line").unwrap();
    let [from, to] = [&lines, &anew].map(|path| path.to_str().unwrap());
    assert_eq!(folder.answer::<album::Album>(&["import", from, "--store", to]).code, FAILED);
    assert!(!folder.path("anew.blobs").exists());
    std::fs::write(&lines, "").unwrap();
    assert_eq!(folder.answer::<album::Album>(&["import", from, "--store", to]).code, DONE);
    assert!(folder.path("anew.blobs").exists());
}

#[cfg(unix)]
#[test]
fn what_a_command_met_is_told_with_its_cause() {
    let folder = Folder::new();
    let (anew, directory) = (folder.path("anew"), folder.path("directory"));
    std::fs::create_dir(&directory).unwrap();
    let [from, to] = [&directory, &anew].map(|path| path.to_str().unwrap());
    let failed = folder.answer::<album::Album>(&["import", from, "--store", to]);
    let told = failed.lines.concat();
    assert!(failed.code == FAILED && told.contains("cannot be read: Is a directory"), "{told}");
}

#[test]
#[cfg(target_os = "linux")] // elsewhere not every name is taken
fn a_store_may_stand_at_a_path_that_is_no_text() {
    use std::{ffi::OsString, os::unix::ffi::OsStringExt};

    use super::super::run;
    use crate::cli::Model;

    let folder = Folder::new();
    let path = folder.folder.path().join(OsString::from_vec(b"club\xFF.tablemodel".to_vec()));
    fill(&path, &format!("file://{}", folder.path("blobs").display()));
    let words = ["cargo tablemodel", "verify", "--blobs"].map(OsString::from);
    let blobs = format!("file://{}", folder.path("blobs").display()).into();
    let words = words.into_iter().chain([blobs, "--store".into(), path.into_os_string()]);
    assert_eq!(run(&folder.package, &[Model::of::<album::Album>()], words), DONE);
}

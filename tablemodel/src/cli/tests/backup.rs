//! `backup` and `restore`, `export` and `import`: what was there is there again, whole or not at all, and nothing is written over.

use std::fs;

use serde_json::json;

use super::{clubs::new, store::Store};
use crate::cli::outcome::{DONE, FAILED};

#[test]
fn a_backup_is_the_store_at_one_moment_and_is_made_a_store_again() {
    let store = Store::with(60);
    let (copy, anew) = (store.folder.path("copy"), store.folder.path("anew"));
    let [copy, anew] = [&copy, &anew].map(|path| path.to_str().unwrap());
    let backup = format!("backup {copy}");
    assert!(store.text::<new::Club>(DONE, &backup).starts_with(copy));
    let refused = store.text::<new::Club>(FAILED, &backup);
    assert!(refused.contains("copy"), "nothing is written over: {refused}");
    store.text::<new::Club>(DONE, "apply"); // is not in the backup

    let restored = store.folder.answer::<new::Club>(&["restore", copy, "--store", anew]);
    assert_eq!((restored.code, &restored.data["backup"]), (DONE, &json!(copy)), "{:?}", restored.lines);
    let again = store.folder.answer::<new::Club>(&["restore", copy, "--store", anew]);
    assert_eq!(again.code, FAILED, "nor is the store: {:?}", again.lines);
    let plan = store.folder.answer::<new::Club>(&["plan", "--store", anew]);
    assert_eq!(plan.data["steps"][0]["state"], "absent", "{:?}", plan.lines);
    let verified = store.folder.answer::<new::Club>(&["verify", "--store", anew]);
    assert_eq!((verified.code, &verified.data["entities"]), (DONE, &json!(60)), "{:?}", verified.lines);
    let nothing = store.folder.answer::<new::Club>(&["restore", "nowhere", "--store", anew]);
    assert_eq!(nothing.code, FAILED, "{:?}", nothing.lines);
}

#[test]
fn a_new_store_of_an_export_has_the_same_rows_and_states() {
    let store = Store::with(60);
    store.text::<new::Club>(DONE, "apply");
    let (lines, anew) = (store.folder.path("lines"), store.folder.path("anew"));
    let [lines, anew] = [&lines, &anew].map(|path| path.to_str().unwrap());
    let export = format!("export {lines}");
    let exported = store.json::<new::Club>(DONE, &export);
    let text = fs::read_to_string(lines).unwrap();
    assert_eq!((&exported["export"], &exported["rows"]), (&json!(lines), &json!(text.lines().count())));
    let refused = store.text::<new::Club>(FAILED, &export);
    assert!(refused.contains("lines") && refused.contains("not written over"), "{refused}");
    assert_eq!(fs::read_to_string(lines).unwrap(), text);

    let imported = store.folder.answer::<new::Club>(&["import", lines, "--store", anew]);
    assert_eq!((imported.code, &imported.data["rows"]), (DONE, &exported["rows"]), "{:?}", imported.lines);
    let again = store.folder.answer::<new::Club>(&["import", lines, "--store", anew]);
    assert_eq!(again.code, FAILED, "{:?}", again.lines);
    let of = |command: &str, path: &str| store.folder.answer::<new::Club>(&[command, "--store", path]).data;
    assert_eq!(of("plan", anew)["steps"], store.json::<new::Club>(DONE, "plan")["steps"]);
    assert_eq!(of("verify", anew), store.json::<new::Club>(DONE, "verify"));
    assert_eq!(of("verify", anew)["entities"], json!(60));
}

#[test]
fn an_import_that_fails_leaves_no_store_and_says_where_it_failed() {
    let store = Store::with(10);
    let (lines, anew) = (store.folder.path("lines"), store.folder.path("anew"));
    store.text::<new::Club>(DONE, &format!("export {}", lines.display()));
    let cut: String = fs::read_to_string(&lines).unwrap().lines().take(3).map(|line| format!("{line}\n")).collect();
    fs::write(&lines, format!("{cut}{{\"table\"")).unwrap();
    let [from, to] = [&lines, &anew].map(|path| path.to_str().unwrap());
    let failed = store.folder.answer::<new::Club>(&["import", from, "--store", to]);
    assert_eq!(failed.code, FAILED);
    assert!(failed.lines.concat().contains("line 4"), "{:?}", failed.lines);
    let nowhere = store.folder.answer::<new::Club>(&["import", "nowhere", "--store", to]);
    assert_eq!(nowhere.code, FAILED, "{:?}", nowhere.lines);
    let left: Vec<_> = fs::read_dir(anew.parent().unwrap()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(!left.iter().any(|name| name.to_string_lossy().starts_with("anew")), "{left:?}");
}

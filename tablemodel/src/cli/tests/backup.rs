//! `backup` and `restore`: what was there at one moment is there again, and nothing is written over.

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

//! A `diff` that ended half-way: either nothing is changed, or it says what to take away.

use std::fs;

use super::{Folder, RENAMED, first, second, third};

#[test]
fn nothing_is_put_in_its_place_where_one_of_the_files_cannot_be_written() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    let before = folder.files();
    // The lock goes last, and cannot be written beside its place.
    fs::create_dir(folder.path("tablemodel.lock.new")).unwrap();
    assert_eq!(folder.run::<third::Model>("diff --name price --allow TM107=old"), 1);
    assert_eq!(folder.files(), before);
    fs::remove_dir(folder.path("tablemodel.lock.new")).unwrap();
    assert_eq!(folder.run::<third::Model>("diff --name price --allow TM107=old"), 0);
    assert_eq!(folder.run::<third::Model>("check"), 0);
}

#[test]
fn a_plan_that_the_lock_does_not_know_is_named_and_what_to_do_about_it() {
    let folder = Folder::begun();
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    let lock = folder.read("tablemodel.lock");
    assert_eq!(folder.run::<third::Model>("diff --name price --allow TM107=old"), 0);
    let whole = folder.files();
    let stray = |folder: &Folder, plan: &str| {
        let outcome = folder.answer::<third::Model>(&["diff"]);
        let wanted = format!("delete tablemodel/migrations/{plan}.toml");
        assert!(outcome.code == 2 && outcome.lines[0].contains(&wanted), "{:?}", outcome.lines);
        fs::remove_file(folder.path(&format!("tablemodel/migrations/{plan}.toml"))).unwrap();
    };
    // Cut off: all is there but the lock.
    fs::write(folder.path("tablemodel.lock"), &lock).unwrap();
    stray(&folder, "0002_price");
    assert_eq!(folder.run::<third::Model>("diff --name price --allow TM107=old"), 0);
    assert_eq!(folder.files(), whole);
    // Merged: the other branch planned after the same plan.
    let other = folder.read("tablemodel/migrations/0002_price.toml").replace("0002_price", "0002_other");
    fs::write(folder.path("tablemodel/migrations/0002_other.toml"), other).unwrap();
    stray(&folder, "0002_other");
    assert_eq!(folder.run::<third::Model>("check"), 0);
    // A first one.
    let folder = Folder::begun();
    let lock = folder.read("tablemodel.lock");
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    fs::write(folder.path("tablemodel.lock"), lock).unwrap();
    stray(&folder, "0001_quantity");
    assert_eq!(folder.run::<first::Model>("check"), 0);
}

/// The other branch planned twice.
#[test]
fn all_plans_of_a_branch_that_the_lock_does_not_know_are_named() {
    let folder = Folder::begun();
    let lock = folder.read("tablemodel.lock");
    assert_eq!(folder.run::<second::Model>(RENAMED), 0);
    assert_eq!(folder.run::<third::Model>("diff --name price --allow TM107=old"), 0);
    fs::write(folder.path("tablemodel.lock"), lock).unwrap();
    let outcome = folder.answer::<first::Model>(&["diff"]);
    let both = ["0001_quantity", "0002_price"].map(|plan| format!("tablemodel/migrations/{plan}.toml"));
    let wanted = format!("delete {}, and run", both.join(" and "));
    assert!(outcome.code == 2 && outcome.lines[0].contains(&wanted), "{:?}", outcome.lines);
    both.iter().for_each(|plan| fs::remove_file(folder.path(plan)).unwrap());
    assert_eq!(folder.run::<first::Model>("check"), 0);
}

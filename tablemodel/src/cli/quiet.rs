//! What is not printed: the panics in which damage of a file ends within the engine, since the store catches them, and tells of them as errors.

use std::panic::{set_hook, take_hook};

/// From now on, for the whole process.
pub(super) fn quieten_engine() {
    let print = take_hook();
    set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|at| is_engines(at.file())) {
            print(panic);
        }
    }));
}

/// Whether a source file is the engine's, wherever the registry or a vendored copy of it stands: by the folder that its last `src` is in.
fn is_engines(file: &str) -> bool {
    let mut folders = file.rsplit(['/', '\\']).skip_while(|folder| *folder != "src").skip(1);
    folders.next().is_some_and(|package| package == "redb" || package.starts_with("redb-"))
}

#[cfg(test)]
mod tests {
    use super::is_engines;

    #[test]
    fn the_engines_files_are_told_from_the_stores_own() {
        assert!(is_engines("/home/a/.cargo/registry/src/index/redb-4.4.0/src/tree_store/btree_base.rs"));
        assert!(is_engines(r"C:\vendor\redb\src\db.rs"));
        assert!(!is_engines("tablemodel-store/src/embedded/redb_engine/mod.rs"));
        assert!(!is_engines("src/main.rs"));
        assert!(!is_engines("/home/redb/.cargo/registry/src/index/tablemodel-0.1.0/src/cli/mod.rs"));
    }
}

//! Files that are written whole or not at all.

use std::{fs, io, path::Path};

use super::outcome::Failure;

/// The text of a file; none where there is no file.
pub(super) fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file("read", path, &error)),
    }
}

/// Writes a file beside its place, and then puts it there.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let put = || {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        fs::write(&new, text)?;
        fs::rename(&new, path)
    };
    put().map_err(|error| Failure::file("write", path, &error))
}

/// Takes a file away, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::file("remove", path, &error)),
        _ => Ok(()),
    }
}

/// Writes a `mod.rs` that declares every other module of the folder.
pub(super) fn write_modules(folder: &Path, head: &str, declare: impl Fn(&str) -> String) -> Result<(), Failure> {
    let list = || -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(folder)? {
            let name = entry?.file_name().to_string_lossy().into_owned();
            names.extend(name.strip_suffix(".rs").filter(|name| *name != "mod").map(str::to_owned));
        }
        names.sort_unstable();
        Ok(names)
    };
    let names = list().map_err(|error| Failure::file("list", folder, &error))?;
    let lines: Vec<String> = names.iter().map(|name| declare(name)).collect();
    write(&folder.join("mod.rs"), &format!("{head}\n\n{}\n", lines.join("\n")))
}

//! Files that are written whole or not at all, alone or together.

use std::{
    collections::BTreeSet,
    env, fs, io,
    path::{Display, Path, PathBuf},
};

use super::outcome::Failure;

/// A path as it is told: from the folder that the command runs in, where it is below that.
pub(super) fn shown(path: &Path) -> Display<'_> {
    let here = env::current_dir().ok();
    here.and_then(|here| path.strip_prefix(here).ok()).unwrap_or(path).display()
}

/// The text of a file; none where there is no file.
pub(super) fn read(path: &Path) -> Result<Option<String>, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Failure::file("read", path, &error)),
    }
}

/// What is in a folder; nothing where there is no folder.
pub(super) fn list(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        entries => entries
            .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
            .map_err(|error| Failure::file("list", folder, &error)),
    }
}

/// Writes a file beside its place, and then puts it there.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    write_beside(path, text)?;
    put(path)
}

fn beside(path: &Path) -> PathBuf {
    let mut new = path.as_os_str().to_owned();
    new.push(".new");
    new.into()
}

fn write_beside(path: &Path, text: &str) -> Result<(), Failure> {
    let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(beside(path), text));
    written.map_err(|error| Failure::file("write", path, &error))
}

fn put(path: &Path) -> Result<(), Failure> {
    fs::rename(beside(path), path).map_err(|error| Failure::file("write", path, &error))
}

/// Takes a file away, if it is there.
fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Failure::file("remove", path, &error)),
        _ => Ok(()),
    }
}

/// Files that belong together: none is put in its place before all are written, beside their places.
#[derive(Default)]
pub(super) struct Together {
    /// Nobody looks at these without the others.
    first: Vec<(PathBuf, String)>,
    /// These take what is there for what it becomes.
    last: Vec<(PathBuf, String)>,
    gone: Vec<PathBuf>,
}

impl Together {
    pub(super) fn write(&mut self, path: PathBuf, text: String) {
        self.first.push((path, text));
    }

    /// One that is put in its place after the others, in the order of these calls.
    pub(super) fn write_last(&mut self, path: PathBuf, text: String) {
        self.last.push((path, text));
    }

    /// One that is no longer wanted, if it is there.
    pub(super) fn remove(&mut self, path: PathBuf) {
        self.gone.push(path);
    }

    /// Whether one of them goes into this folder.
    pub(super) fn writes_in(&self, folder: &Path) -> bool {
        self.first.iter().any(|(path, _)| path.parent() == Some(folder))
    }

    /// A `mod.rs` that declares every other module that the folder will have.
    pub(super) fn write_modules(
        &mut self,
        folder: &Path,
        head: &str,
        declare: impl Fn(&str) -> String,
    ) -> Result<(), Failure> {
        let names = self.modules(folder)?;
        let lines: Vec<String> = names.iter().map(|name| declare(name)).collect();
        self.write_last(folder.join("mod.rs"), format!("{head}\n\n{}\n", lines.join("\n")));
        Ok(())
    }

    fn modules(&self, folder: &Path) -> Result<BTreeSet<String>, Failure> {
        let there = list(folder)?;
        let written = self.first.iter().map(|(path, _)| path).filter(|path| path.parent() == Some(folder));
        let all = there.iter().chain(written).filter(|path| !self.gone.contains(path));
        let name = |path: &PathBuf| path.file_name()?.to_string_lossy().strip_suffix(".rs").map(str::to_owned);
        Ok(all.filter_map(name).filter(|name| name != "mod").collect())
    }

    /// Puts all of them in their places.
    pub(super) fn put(self) -> Result<(), Failure> {
        let all = || self.first.iter().chain(&self.last);
        let written = all().try_for_each(|(path, text)| write_beside(path, text));
        if written.is_err() {
            // Nothing is there that was not; what cannot be taken away either is in nobody's way.
            all().for_each(|(path, _)| drop(fs::remove_file(beside(path))));
            return written;
        }
        all().try_for_each(|(path, _)| put(path))?;
        self.gone.iter().try_for_each(|path| remove(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_below_the_folder_that_the_command_runs_in_is_told_from_there() {
        let here = env::current_dir().unwrap();
        assert_eq!(
            shown(&here.join("tablemodel").join("frozen")).to_string(),
            "tablemodel/frozen".replace('/', std::path::MAIN_SEPARATOR_STR)
        );
        let elsewhere = here.parent().unwrap().join("tablemodel.lock");
        assert_eq!(shown(&elsewhere).to_string(), elsewhere.display().to_string());
    }
}

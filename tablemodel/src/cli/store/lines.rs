//! `export` and `import`: the rows of a store as lines of JSON, and a new store of them. Neither writes over a file that is there, nor leaves
//! half of one.

use std::{
    fs::{self, File},
    io::{self, BufReader, BufWriter},
    path::{Path, PathBuf},
};

use serde_json::json;
use tablemodel_store::place::Unplaced;

use super::{
    Tool,
    address::{Address, blobs_beside},
    words::Exported,
};
use crate::{
    Error, ErrorKind, Result, Transferred,
    cli::outcome::{DONE, Outcome},
    schema::EntitySchema,
};

/// Writes the rows of the model's tables to a new file.
pub(super) async fn export(tool: &Tool, words: &Exported) -> Result<Outcome> {
    let written = async |path: &Path| {
        let file = File::create(path).map_err(|error| denied("create", path, &error))?;
        let mut lines = BufWriter::new(file);
        let exported = tool.db.export(&mut lines).await?;
        lines.get_ref().sync_all().map_err(|error| denied("write", path, &error))?;
        Ok(exported)
    };
    let exported = new_file(&words.path, written).await?;
    Ok(done(format!("{}: {}", words.path.display(), counted(&exported)), words, exported))
}

/// Makes the store, which must not be there, of the lines of an export.
pub(super) async fn import(
    address: &Address,
    words: &Exported,
    entities: &'static [&'static EntitySchema],
) -> Result<Outcome> {
    let Address::Embedded(store) = address;
    let lines = File::open(&words.path).map_err(|error| denied("read", &words.path, &error))?;
    let filled = async |path: &Path| {
        fs::remove_file(path).map_err(|error| denied("create", path, &error))?; // a store appears whole, where there is no file
        let db = address.create_at(&words.place, entities, path).await?;
        let imported = db.import(BufReader::new(lines)).await;
        let closed = db.close().await;
        imported.and_then(|imported| closed.map(|()| imported))
    };
    let folder = NewFolder::of(store);
    let imported = new_file(store, filled).await?;
    folder.keep();
    Ok(done(format!("the store has {} of {}", counted(&imported), words.path.display()), words, imported))
}

/// Has a file made beside its place, and puts it there once it is whole; takes it away if it cannot be made.
async fn new_file<T>(path: &Path, make: impl AsyncFnOnce(&Path) -> Result<T>) -> Result<T> {
    if path.exists() {
        return Err(taken(path));
    }
    let unplaced = Unplaced::new(path).map_err(|error| denied("create", path, &error))?;
    let made = make(unplaced.path()).await?;
    unplaced.place(|| ()).map(|()| made).map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => taken(path),
        _ => denied("write", path, &error),
    })
}

/// The folder for blobs beside a store that is being made: taken away with it, if it was made with it. No line brings a blob.
struct NewFolder(Option<PathBuf>);

impl NewFolder {
    fn of(store: &Path) -> Self {
        Self(blobs_beside(store).filter(|folder| !folder.exists()))
    }

    fn keep(mut self) {
        self.0 = None;
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if let Some(folder) = &self.0 {
            let _ = fs::remove_dir(folder); // there may be none, and one with blobs stays
        }
    }
}

fn taken(path: &Path) -> Error {
    let detail = format!("{}: there is such a file, and it is not written over", path.display());
    Error::new(ErrorKind::Denied, detail)
}

fn counted(moved: &Transferred) -> String {
    format!("{} rows of {} tables", moved.rows, moved.tables)
}

fn done(line: String, words: &Exported, Transferred { rows, tables }: Transferred) -> Outcome {
    let data = json!({ "export": words.path.display().to_string(), "rows": rows, "tables": tables });
    Outcome { code: DONE, lines: vec![line], data }
}

fn denied(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Denied, format!("cannot {what} {}: {error}", path.display()))
}

//! Names that other names are made of, or would be.

/// A type that is called as the struct of the entity's paths would be.
#[derive(Debug, Clone, tablemodel::Property, tablemodel::KeyPart)]
struct FilePath(String);

#[derive(tablemodel::TableEntity)]
#[table(name = "Files", partition = "{tenant}", row = "{path}")]
struct File {
    tenant: String,
    path: FilePath,
    #[table(rename = "At")]
    timestamp: tablemodel::DateTime,
}

/// Its field has the name of a property of every row, and is stored as its entity says.
#[derive(tablemodel::Projection)]
#[table(of = File)]
struct When {
    timestamp: tablemodel::DateTime,
}

/// Its index and the names of its fields put together are called as its key is.
#[derive(tablemodel::TableEntity)]
#[table(name = "Joined", partition = "{p}", row = "{a}")]
#[table(index(find__p, partition = "{a}", row = "x", unique))]
struct Joined {
    p: String,
    a: u32,
}

fn main() {
    let path = Joined::find__p().a(3);
    let _ = tablemodel::Path::explain(&path);
    let path = File::find().tenant("a").path(FilePath("x".into()));
    let _ = tablemodel::Path::explain(&path);
    let _ = |when: When| when.timestamp;
}

//! Names that other names are made of, or would be.
#![allow(uncommon_codepoints)]

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

/// Letters and marks that no store takes, in names that keys alone hold; and an array whose names are as long as a store takes them.
#[derive(tablemodel::TableEntity)]
#[table(name = "Marks", partition = "{हिन्दी}", row = "{l·l}")]
struct Marks {
    #[table(rename = "Hindi")]
    हिन्दी: String,
    #[table(rename = "Ll")]
    l·l: u32,
    #[table(flatten)]
    how_many_hours_each_of_the_employees_of_the_department_has_worked_in_the_month: [u32; 12],
    #[table(flatten)]
    timestamp: [u32; 2],
}

/// Its template has the letter and its mark apart, which rustc puts together in the field's name.
#[derive(tablemodel::TableEntity)]
#[table(name = "Sizes", partition = "p", row = "{größe}", allow(append_hotspot))]
struct Size {
    größe: u32,
}

fn main() {
    let path = Size::find().größe(3);
    let _ = tablemodel::Path::explain(&path);
    let path = Joined::find__p().a(3);
    let _ = tablemodel::Path::explain(&path);
    let path = Marks::find().हिन्दी("a").l·l(3);
    let _ = tablemodel::Path::explain(&path);
    let hours = Marks::HOW_MANY_HOURS_EACH_OF_THE_EMPLOYEES_OF_THE_DEPARTMENT_HAS_WORKED_IN_THE_MONTH.at(11);
    assert_eq!(hours.map(|hours| hours.property().len()), Some(66));
    assert_eq!(Marks::TIMESTAMP.at(1).map(|field| field.property()), Some("Timestamp01"));
    let path = File::find().tenant("a").path(FilePath("x".into()));
    let _ = tablemodel::Path::explain(&path);
    let _ = |when: When| when.timestamp;
}

//! Names of the user that could meet those of generated code, under every lint.
#![deny(warnings, missing_docs, nonstandard_style, unreachable_pub, unused_qualifications, single_use_lifetimes)]
#![deny(clippy::all, clippy::pedantic, clippy::indexing_slicing, clippy::unwrap_used)]
// Nothing of the crate is in scope: every derive and trait is named in full.

/// Types that hide those of the prelude.
pub mod shadowed {
    /// Not the `Result`.
    pub struct Result;
    /// Not the `Option`.
    pub struct Option;
    /// Not the `String`.
    pub struct String;
    /// Not the `Vec`.
    pub struct Vec;
    /// Not the `Default`.
    pub trait Default {}
    /// Not `Some`.
    #[allow(non_snake_case)]
    pub fn Some() {}
    /// Not `None`.
    #[allow(non_upper_case_globals)]
    pub const None: u8 = 0;
    /// Not `Ok`.
    #[allow(non_snake_case)]
    pub fn Ok() {}
    type Text = std::string::String;

    /// An entity among them.
    #[derive(tablemodel::TableEntity)]
    #[table(name = "Shadowed", partition = "{tenant}", row = "{id}", allow_scan)]
    #[table(index(by_mail, row = "mail_{mail}_{id}", keep(note), when = noted))]
    #[table(index(by_note, row = "note_{id}", when = !noted))]
    pub struct Shadowed {
        /// A field.
        pub tenant: Text,
        /// A field.
        pub id: u64,
        /// A field.
        pub mail: std::option::Option<Text>,
        /// A field.
        #[table(default)]
        pub note: Text,
        /// A field.
        pub noted: bool,
        /// A field.
        #[table(json, default = std::vec::Vec::new)]
        pub tags: std::vec::Vec<Text>,
        /// A field.
        #[table(skip)]
        pub cache: u8,
    }

    /// A model among them.
    #[derive(tablemodel::TableModel)]
    pub enum Model {
        /// A variant.
        Shadowed(Shadowed),
    }

    /// A projection among them.
    #[derive(tablemodel::Projection)]
    #[table(of = Shadowed)]
    pub struct Part {
        /// A field.
        pub note: Text,
    }

    /// A key part among them.
    #[derive(tablemodel::Property, tablemodel::KeyPart)]
    pub struct Id(pub u64);

    /// An enum among them.
    #[derive(tablemodel::Property, tablemodel::KeyPart)]
    pub enum Color {
        /// A variant.
        Red,
        /// A variant.
        #[table(rename = "verde")]
        Green,
    }
}

/// Without any prelude. An entity and a projection are not among these: what tells of mistakes at their paths is an attribute of rustc's
/// tool prelude.
#[no_implicit_prelude]
pub mod bare {
    /// A key part.
    #[derive(::tablemodel::Property, ::tablemodel::KeyPart)]
    pub struct Id(pub u64);

    /// An enum.
    #[derive(::tablemodel::Property, ::tablemodel::KeyPart)]
    pub enum Color {
        /// A variant.
        Red,
        /// A variant.
        Green,
    }

    /// A group.
    #[derive(::tablemodel::Property)]
    pub struct Group {
        /// A field.
        pub color: Color,
        /// A field.
        #[table(default)]
        pub count: u8,
        /// A field.
        #[table(json)]
        pub tags: ::std::vec::Vec<::std::string::String>,
    }

    /// A model.
    #[derive(::tablemodel::TableModel)]
    pub enum Model {
        /// A variant.
        Settings(super::extremes::Settings),
        /// A variant.
        #[table(other)]
        Other(::tablemodel::Row),
    }
}

/// Fields named like generated things, and like keywords.
#[derive(tablemodel::TableEntity)]
#[table(name = "Names", partition = "{type}", row = "{value}_{query}_{r#fn}")]
#[table(index(r#match, row = "m_{range}_{value}_{query}_{fn}"))]
pub struct Names {
    /// A field.
    pub r#type: String,
    /// A field.
    pub value: u32,
    /// A field.
    pub query: u32,
    /// A field.
    pub r#fn: u32,
    /// A field.
    pub range: u32,
    /// A field.
    pub text: String,
    /// A field.
    pub find: String,
    /// A field.
    pub from: String,
    /// A field.
    pub to: String,
    /// A field.
    pub row: String,
    /// A field.
    pub one: String,
    /// A field.
    pub new: String,
    /// A field.
    pub into_query: String,
    /// A field.
    pub clone: String,
    /// A field.
    pub at_: String,
    /// A field.
    pub value_between: String,
}

/// Types named like generated things.
pub mod types {
    /// A key type with the name of a type parameter.
    #[derive(Debug, Clone, tablemodel::Property, tablemodel::KeyPart)]
    pub struct A(pub String);
    /// Another.
    #[derive(Debug, Clone, tablemodel::Property, tablemodel::KeyPart)]
    pub struct S(pub u32);
    /// Another.
    #[derive(Debug, Clone, tablemodel::Property, tablemodel::KeyPart)]
    pub struct N(pub u32);

    /// A module with the name of a marker's.
    pub mod at {
        /// A type in it.
        #[derive(Debug, Clone, tablemodel::Property, tablemodel::KeyPart)]
        pub struct Time(pub u64);
    }

    /// They are fields of an entity.
    #[derive(tablemodel::TableEntity)]
    #[table(name = "Types", partition = "{a}", row = "{s}_{n}_{time}")]
    pub struct Path {
        /// A field.
        pub a: A,
        /// A field.
        pub s: S,
        /// A field.
        pub n: N,
        /// A field.
        pub time: at::Time,
    }
}

/// An entity that others name by its path.
pub mod counted {
    /// The entity.
    #[derive(tablemodel::TableEntity)]
    #[table(name = "Private", partition = "{name}", row = "tenant")]
    pub struct Tenant {
        /// A field.
        pub name: String,
        /// How many there are.
        #[table(aggregate)]
        pub lasts: i64,
    }
}

/// Private fields of private types in a public entity.
pub mod private {
    #[derive(Debug, Clone, PartialEq, tablemodel::Property, tablemodel::KeyPart)]
    struct Secret(u32);

    /// The entity.
    #[derive(tablemodel::TableEntity)]
    #[table(name = "Private", partition = "{secret}", row = "{id}")]
    pub struct Public {
        secret: Secret,
        id: u32,
    }

    /// Uses the path where the types are visible.
    #[must_use]
    pub fn explained(entity: &Public) -> String {
        let path = Public::find().secret(&entity.secret).id(entity.id);
        tablemodel::Path::explain(&path).to_string()
    }

    /// With a private type last in its key, and elements of one field in the key of an index.
    #[derive(tablemodel::TableEntity)]
    #[table(name = "Private", entity_type = "Last", partition = "{tenant}", row = "last_{secret}")]
    #[table(index(by_key, row = "key_{keys}_{secret}", each(keys), keys_only))]
    #[table(count(crate::counted::Tenant, key(name = tenant), into = lasts))]
    pub struct Last {
        tenant: String,
        secret: Secret,
        #[table(json, method = "with_key")]
        keys: Vec<String>,
    }

    /// Asks for several by their last components.
    pub async fn some_of(db: &tablemodel::Database) -> tablemodel::Result<u64> {
        let some = tablemodel::Path::get_many(Last::find().tenant("a"), [Secret(1), Secret(2)], db).await?;
        let path = Last::by_key().tenant("a").with_key("b");
        Ok(some.len() as u64 + tablemodel::Path::count(path, db).await?)
    }

    /// An entity for some modules only.
    pub mod inner {
        #[derive(tablemodel::TableEntity)]
        #[table(name = "Inner", partition = "{tenant}", row = "{id}")]
        pub(in crate::private) struct Inner {
            tenant: String,
            id: u32,
        }
    }

    /// Its paths are used where the entity can be.
    #[must_use]
    pub fn inner_explained() -> String {
        tablemodel::Path::explain(&inner::Inner::find().tenant("a").id(3)).to_string()
    }
}

/// Paths are used in other modules than the entity's, also of private fields.
#[must_use]
pub fn used_elsewhere() -> String {
    tablemodel::Path::explain(&types::Path::find().a(types::A("a".to_owned()))).to_string()
}

/// The crate under another name.
pub mod renamed {
    pub use ::tablemodel as tm;

    /// The entity.
    #[derive(tm::TableEntity)]
    #[table(crate = "crate::renamed::tm", name = "Renamed", partition = "{tenant}", row = "{id}")]
    pub struct Renamed {
        /// A field.
        pub tenant: String,
        /// A field.
        pub id: u64,
    }

    /// The group.
    #[derive(tm::Property)]
    #[table(crate = "crate::renamed::tm")]
    pub struct Group {
        /// A field.
        pub tenant: String,
    }
}

/// Keys without fields, and keys with every kind of part.
pub mod extremes {
    /// There is one of it.
    #[derive(tablemodel::TableEntity)]
    #[table(name = "Settings", partition = "app", row = "main", allow(append_hotspot), allow_scan)]
    pub struct Settings {
        /// A field.
        pub theme: String,
    }

    /// All codecs.
    #[derive(tablemodel::TableEntity)]
    #[table(name = "Codecs", partition = "{at:month}-{at:day}_{id:shard(300)}")]
    #[table(row = "{{{id}}}_{name:lower}!{name:raw}_{ratio:sortable}{at:hour}{at:desc}{id:hash}_{flag}")]
    #[table(index(by_flag, row = "f_{flag}_{id:039}_{name}!{ratio:sortable}_{at}", when = !note))]
    pub struct Codecs {
        /// A field.
        pub at: tablemodel::DateTime,
        /// A field.
        pub id: u128,
        /// A field.
        pub name: String,
        /// A field.
        pub ratio: f64,
        /// A field.
        pub flag: bool,
        /// A field.
        pub note: Option<String>,
    }

    /// Uses their paths.
    #[must_use]
    pub fn explained(at: tablemodel::DateTime) -> Vec<String> {
        use tablemodel::Path;

        let codecs = || Codecs::find().at_month(at).at_day(at);
        vec![
            Settings::find().explain().to_string(),
            Settings::scan_partition().explain().to_string(),
            codecs().id_between(3..).explain().to_string(),
            codecs().id(3).name_starts_with("a").explain().to_string(),
            codecs().id(3).name("a").ratio(1.5).at_hour(at).at(at).flag(true).explain().to_string(),
            Codecs::by_flag().at_month(at).at_day(at).flag(true).id(3).name_between("a"..="b").explain().to_string(),
        ]
    }
}

/// Names in other styles, and what may soon be gone.
pub mod styled {
    /// The entity.
    #[derive(tablemodel::TableEntity)]
    #[table(name = "Styled", partition = "{tenantId}", row = "{number:desc}_{state}")]
    #[table(index(byMail, row = "mail_{mail}", unique, keep(old), when = mail))]
    #[table(index(byNumber, table = "Numbers", partition = "{number:desc}", row = "{tenantId}_{state}"))]
    #[deprecated]
    #[allow(deprecated, non_snake_case)]
    pub struct Styled {
        /// A field.
        pub tenantId: std::borrow::Cow<'static, str>,
        /// A field.
        pub number: u32,
        /// A field.
        pub state: State,
        /// A field.
        pub mail: Option<String>,
        /// A field.
        #[deprecated]
        #[table(constant = "Old")]
        pub old: u8,
    }

    /// A key type.
    #[derive(Debug, Clone, tablemodel::Property, tablemodel::KeyPart)]
    #[deprecated]
    pub enum State {
        /// A variant.
        Done = 1,
        /// A variant.
        #[deprecated]
        Open = 2,
    }

    /// A projection.
    #[derive(tablemodel::Projection)]
    #[table(of = Styled)]
    #[deprecated]
    #[allow(non_snake_case)]
    pub struct Card {
        /// A field.
        pub tenantId: std::borrow::Cow<'static, str>,
        /// A field.
        #[deprecated]
        #[table(constant = "Old")]
        pub old: u8,
    }

    /// A group.
    #[derive(tablemodel::Property)]
    #[deprecated]
    #[allow(non_snake_case)]
    pub struct Group {
        /// A field.
        #[deprecated]
        pub someName: u8,
    }

    /// A newtype.
    #[derive(tablemodel::Property, tablemodel::KeyPart)]
    #[deprecated]
    pub struct Id(#[deprecated] pub u8);

    /// A model.
    #[derive(tablemodel::TableModel)]
    #[deprecated]
    #[allow(deprecated)]
    pub enum Model {
        /// A variant.
        #[deprecated]
        Styled(Styled),
    }
}

fn main() {
    #[derive(tablemodel::TableEntity)]
    #[table(name = "Local", partition = "{tenant}", row = "{id}", find = "lookup")]
    struct Local {
        tenant: Tenant,
        id: u64,
    }

    #[derive(tablemodel::Property, tablemodel::KeyPart)]
    struct Tenant(String);

    assert_eq!(extremes::explained(tablemodel::DateTime::UNIX_EPOCH).len(), 6);
    let local = Local { tenant: Tenant("a".to_owned()), id: 3 };
    let path = Local::lookup().tenant(local.tenant).id(local.id);
    let _ = tablemodel::Path::explain(&path);
    let path = Names::find().r#type("x").value(3).query(4).r#fn_between(3..);
    let _ = tablemodel::Path::explain(&path);
    let path = Names::r#match().r#type("x").range(3).value_between(..3);
    let _ = tablemodel::Path::explain(&path);
    let _ = (Names::TYPE, Names::FN, Names::AT_);
}

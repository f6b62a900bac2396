//! The derive macros of `tablemodel`, which re-exports them: use them from there.
//!
//! | folder | what lives there |
//! |---|---|
//! | `written` | what the user wrote: the words of `#[table(..)]`, each with its place |
//! | `meant` | what it means: fields found, names made, every rule asked |
//! | `rooms` | the parts of both, and of the schema, that belong to one modelling pattern |
//! | `emit` | the generated code: constants, one-line bodies, and the types of the paths |
//! | `template`, `codec`, `names` | the grammar of keys, the words of codecs, the forms of names |
//! | `lock` | what `tablemodel.lock` says of an entity |
//! | `errors` | all mistakes of one struct, each under its words |
//!
//! A derive reads all it can before it reports, reports everything at once, and leaves impls behind that keep other
//! code from failing too. A word that it does not take is told the place where it stands, if there is one. It never panics. What depends on types is left to the runtime's `check` module, in
//! constants that the derive places under the user's words.

mod codec;
mod emit;
mod errors;
mod lock;
mod meant;
mod names;
mod rooms;
mod template;
mod written;

#[cfg(test)]
mod tests;

use proc_macro::TokenStream;

/// Keeps a struct in a table: its stored format as a constant, the rows it writes, and the typed paths that find it.
///
/// ```
/// use tablemodel::prelude::*;
///
/// #[derive(Debug, TableEntity)]
/// #[table(name = "Company", version = 2, partition = "{department}", row = "empid_{id:06}")]
/// #[table(index(by_email, row = "email_{email}", unique, keep(first_name)))]
/// #[table(index(by_name, row = "name_{first_name}_{id:06}", keys_only, when = active))]
/// struct Employee {
///     department: String,
///     id: u32,
///     first_name: String,
///     email: String,
///     active: bool,
///     #[table(default)]
///     age: u8,
///     #[table(json)]
///     skills: Vec<String>,
/// }
///
/// let path = Employee::find().department("Sales").id_between(100..=199);
/// println!("{}", path.explain());
/// let handle = Employee::AGE; // for patches and scans
/// assert_eq!(handle.property(), "Age");
/// ```
///
/// What is generated: `impl TableEntity`; a constant for each property (`Employee::AGE`, a
/// `tablemodel::Field`); `Employee::find()` and a function for
/// each index (`Employee::by_email()`), which begin a path; `Employee::in_partition(..)` and
/// `Employee::scan_partition(..)` (neither where the partition key has a `shard`). Handles have the field's visibility, all else the struct's.
/// A module with `#[no_implicit_prelude]` takes no entity, and no projection: it hides the attribute by which a wrong path has words of its
/// own. What is generated allows some lints (`missing_docs`, `deprecated`, `private_bounds` and others): a crate may `deny` them, not `forbid`.
///
/// # On the struct
///
/// | word | meaning |
/// |---|---|
/// | `name = "Company"` | the table; not `tmschema`, `tmdirty` or `tmqueue`, which are the framework's. Required |
/// | `partition = "{department}"` | the template of the partition key. Required |
/// | `row = "empid_{id:06}"` | the template of the row key. Required |
/// | `entity_type = "Employee"` | the stored name of the entity; the struct's name unless given. Say it before you rename the struct |
/// | `version = 2` | the version of the stored format; 1 unless given |
/// | `previous = EmployeeV1` | the struct of the version before, with `impl Upgrade<EmployeeV1>`: its rows are read as this version's |
/// | `moves_to = EmployeeV4` | the struct of a newer version at other keys, or in another table, with `impl Upgrade<Employee>`: its rows are kept beside this one's until the move is switched |
/// | `moved_from = EmployeeV3` | the struct of the version before, at other keys, or in another table, with `impl Upgrade<EmployeeV3>`: the entity moves from there |
/// | `frozen` | the struct only tells how rows of an older version are: nothing is written or found by it |
/// | `readable_by = 1` | programs from this older version on may read the rows (never write them) |
/// | `downgrade` | rows also hold what the version before reads, by `impl Downgrade<EmployeeV1>` |
/// | `index(..)` | one more row per entity, under another key; may be given many times |
/// | `list(..)` | a row that holds the keys of all entities with one value; may be given many times |
/// | `count(..)`, `sum(..)`, `min(..)`, `max(..)` | the number of these entities, or the sum, the least or the greatest value of a field, kept in another entity; may be given many times |
/// | `sharded(visits = i64)` | a count or sum (`f64`: of floats) of other entities, in sixteen rows, for many writers at once: see [Aggregates](#aggregates) |
/// | `rename_all = "camelCase"` | how fields become property names: `PascalCase` (the default), `camelCase`, `snake_case`, `SCREAMING_SNAKE_CASE`, `lowercase`, `UPPERCASE` |
/// | `wide` | the entity may have more properties than a row takes, and be larger than 1 MiB: it is then kept in several rows |
/// | `reserved("OldName")` | stored names of removed properties and indexes, which may not be used again, by groups and copies neither |
/// | `adopt` | rows that other programs wrote are read as version 1, from which `previous` leads to this one |
/// | `allow_scan` | scans of whole partitions and of the table may be written |
/// | `allow(append_hotspot)` | the partition key may be constant, or led by time: one server then takes every write |
/// | `find = "lookup"` | the function that begins the primary path is called so |
/// | `crate = path` | where tablemodel is, if not at `::tablemodel`; a macro of a crate that passes it on writes `crate = $crate::tablemodel` |
///
/// # Keys
///
/// A template is literals and `{field}` or `{field:codec}`; `{{` and `}}` are braces. A literal holds no control
/// characters, no space, none of `/ \ # ? % '` and no `~~`; nor does a key begin with a lone `~` before a part. A text must be
/// followed by a literal, or by nothing; after `!` even its ranges work (`{name}!{id}`).
///
/// | codec | for | in the key |
/// |---|---|---|
/// | none | every key type but floats | keeps order, stays readable |
/// | `06` | integers | so many digits; more, or a negative number, is an error before anything is written |
/// | `desc` | integers, points in time | the greatest first |
/// | `sortable` | floats | 16 hexadecimal digits |
/// | `hour`, `day`, `month` | points in time (`month`: dates too) | the span of time, by a method such as `at_day` |
/// | `lower` | texts | without regard to case |
/// | `shard(16)` | every key type | a bucket; once, in a partition key, and the field must also stand elsewhere in the key |
/// | `hash` | every key type | 128 bits of hash |
/// | `raw` | texts | verbatim, for tables shared with other programs |
///
/// ```
/// use tablemodel::{DateTime, prelude::*};
///
/// #[derive(TableEntity)]
/// #[table(name = "Requests", partition = "{at:day}_{id:shard(16)}", row = "{at:desc}_{id}")]
/// struct Request {
///     at: DateTime,
///     id: u64,
/// }
///
/// let path = Request::find().at_day(DateTime::UNIX_EPOCH); // all 16 buckets, newest first
/// # let _ = path;
/// ```
///
/// # Indexes
///
/// `index(name, row = "..", ..)` keeps a row in the entity's partition, in the same atomic batch; with `partition`, in
/// another one. Its key holds the entity's own, or the index is `unique`.
///
/// | word | meaning |
/// |---|---|
/// | `row = "email_{email}"` | the template of its row key. Required; an `Option` field may stand in it, and then `None` has no row |
/// | `partition = "{city}"` | the template of its partition key; without it, the entity's own. Such a row follows its entity a little later, on a store that commits one partition at a time |
/// | `table = "Cities"` | beside `partition`: the table; the entity's own unless given |
/// | `read = verified` | beside `partition`: a row is compared with its entity before a path gives it; `eventual` unless given |
/// | `unique` | no two entities have the same key in it: none of a partition, or with `partition` none at all |
/// | `each(skills)` | a row for each element of a list marked `json`, which stands in the key as `{skills}` |
/// | `keep(first_name, age)` | the row holds these properties beside the keys; without it, all |
/// | `keys_only` | the row holds no properties |
/// | `when = active`, `when = !active` | the row exists only while the field, a `bool` or an `Option`, is present and not `false`, or the other way round |
///
/// # Lists
///
/// `list(name, row = "..", ..)` keeps the keys of all entities with one key in one row, in the entity's partition; with
/// `partition` (and `table`) a row for each key, elsewhere. `Employee::name()` begins its path, whose terminals are `keys`,
/// `all` and `count`.
///
/// | word | meaning |
/// |---|---|
/// | `row`, `partition`, `table`, `when`, `each(field)` | as those of an index |
/// | `store = rows` | keys that outgrow their row go into rows behind it; so unless told otherwise |
/// | `store = blob`, `store = blob(inline_below = 1000)` | keys of so many characters and more go into a blob (16000 unless given, and at most). Only beside the entity; needs the feature `blob` |
///
/// # Aggregates
///
/// `count(Department, key(name = department), into = employee_count)` and `sum(Department, key(..), of = salary, into = ..)`
/// stand on the entity that is counted; so do `min(..)` and `max(..)`. `key` says by which of its fields the fields of the
/// other's key are told, wherever that stands. `when = active` counts only some. The other entity marks the field by `#[table(aggregate)]`,
/// or declares it by `sharded(employee_count = i64)` on itself: then many can write to it at once, and `Database::total` sums it.
///
/// # On a field
///
/// | word | meaning |
/// |---|---|
/// | `aggregate` | the field holds a `count` (`i64`), `sum` (`i64` or `f64`), `min` or `max` (an `Option`) of other entities; what is written to it is ignored |
/// | `rename = "EMail"` | the stored name of the property: not `id` (`Id` is none of them), `rid`, `etag` or `ResourceId`, in whatever case, which Cosmos DB for Table keeps for itself, unless the struct says `adopt` or `frozen`, or only the key holds the field |
/// | `was = "Mail"` | the stored name that it had before: `cargo tablemodel diff` takes the two for one property. It may go once the change is planned; where an index, a list or an aggregate is made of the property, once no rows of the version before are left |
/// | `json` | stored as JSON text; the type implements serde's `Serialize` and `Deserialize` |
/// | `flatten` | a struct with `#[derive(Property)]`, whose fields become properties of the row, under their own names; they have no handles, so that no key, `keep`, condition, total, projection, scan or patch names them (`update` changes them). Or an array, written as `[u32; 365]`, whose elements do: `Day000` to `Day364` |
/// | `chunked` | a text or bytes over 64 KiB, cut into several properties and, where one row does not hold them, into several rows |
/// | `part = "name"` | on fields of a `wide` entity: they stand together in rows of their own |
/// | `blob`, `blob(inline_below = 4096)` | a `Blob` or `Option<Blob>`: kept beside the table, or in the row below so many bytes (4096 unless given, 65536 at most, 0 for never). Needs the feature `blob` |
/// | `skip` | not stored; read as the type's default, or as its `default` says |
/// | `copy_of(Employee, key(department = name, id = manager_id), on_delete = clear)` | properties of another entity, kept in step: see `rooms::copy`. `key` names every field of that one's key. When that is deleted, the copy becomes `None` (`clear`, for an `Option` unless told otherwise) or stays (`keep`), or it cannot be deleted (`restrict`, else) |
/// | `default` | where the property is absent, the type's default; `default = path` calls a function, `default = 18` is a value, and so are a constant and a variant, whose names begin with a capital letter (`default = LIMIT`, `default = Grade::Apprentice`; others stand in parentheses). An absent `Option` is `None`, and takes no such value |
/// | `method = "number"` | the path methods of a key field are called `number`, `number_between`, ... |
/// | `constant = "NUMBER"` | its handle is called so |
///
/// ```
/// use tablemodel::prelude::*;
///
/// #[derive(Debug, Default, PartialEq, Property)]
/// struct Address {
///     city: String,
/// }
///
/// #[derive(TableEntity)]
/// #[table(name = "People", partition = "{country}", row = "{count}", rename_all = "snake_case")]
/// struct Person {
///     country: String,
///     #[table(method = "number", constant = "NUMBER")] // `count` ends a path
///     count: u32,
///     #[table(flatten)]
///     address: Address,
///     #[table(default = 18)]
///     age: u8,
///     #[table(skip)]
///     seen: bool,
/// }
///
/// let path = Person::find().country("CH").number(3);
/// assert_eq!(Person::NUMBER.property(), "count");
/// # let _ = path;
/// ```
///
/// # Errors
///
/// A path that the keys cannot answer does not compile, and the error lists the paths there are:
///
/// ```compile_fail
/// # use tablemodel::prelude::*;
/// # #[derive(TableEntity)]
/// # #[table(name = "Company", partition = "{department}", row = "{id:06}")]
/// # struct Employee { department: String, id: u32, age: u8 }
/// let path = Employee::find().department("Sales").age(35); // error: `age` is in no key of `Employee`
/// ```
#[proc_macro_derive(TableEntity, attributes(table))]
pub fn table_entity(item: TokenStream) -> TokenStream {
    emit::entity::derive(item.into()).into()
}

/// The types that an application keeps, as an enum with one variant per entity: what a database is opened with, and
/// what a query over several types gives.
///
/// ```
/// use tablemodel::prelude::*;
/// # #[derive(TableEntity)]
/// # #[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
/// # struct Employee { department: String, id: u32 }
/// # #[derive(TableEntity)]
/// # #[table(name = "Company", partition = "{name}", row = "department")]
/// # struct Department { name: String }
///
/// #[derive(TableModel)]
/// enum Company {
///     Employee(Employee),
///     Department(Department),
///     #[table(other)]
///     Other(Row), // rows of any other type; without it such a row is an error
/// }
///
/// let rows = Company::rows(Employee::in_partition("Sales")).row_starts_with("empid_");
/// # let _ = rows;
/// ```
///
/// Two entities that are kept in one table and could have the same key do not compile, nor do two with the same
/// `entity_type`. On the enum, `crate = path` is taken.
#[proc_macro_derive(TableModel, attributes(table))]
pub fn table_model(item: TokenStream) -> TokenStream {
    emit::model::derive(item.into()).into()
}

/// Some fields of an entity, for reads in which only those travel: `path.select::<Card>()`.
///
/// ```
/// use tablemodel::prelude::*;
/// # #[derive(TableEntity)]
/// # #[table(name = "Company", partition = "{department}", row = "empid_{id:06}")]
/// # #[table(index(by_email, row = "email_{email}", unique, keep(name)))]
/// # struct Employee { department: String, id: u32, name: String, email: String, #[table(json)] skills: Vec<String> }
///
/// #[derive(Projection)]
/// #[table(of = Employee)]
/// struct Card {
///     name: String,
///     email: String,
/// }
///
/// let path = Employee::by_email().department("Sales").select::<Card>();
/// # let _ = path;
/// ```
///
/// Each field is found in the entity by its handle (`Employee::NAME`), with the same type and under the same stored
/// name: rustc checks it. An index path can be selected from if its rows carry every field, in `keep(..)` or in keys.
///
/// | word | meaning |
/// |---|---|
/// | `of = Employee` | on the struct: the entity. Required |
/// | `crate = path` | on the struct: where tablemodel is |
/// | `json`, `blob` | on a field: it is that in the entity |
/// | `default` | on a field: what it is where the property is absent, as for an entity |
/// | `constant = "NAME"` | on a field: the entity's handle, if its name is not that of the field |
#[proc_macro_derive(Projection, attributes(table))]
pub fn projection(item: TokenStream) -> TokenStream {
    emit::projection::derive(item.into()).into()
}

/// A type that can be stored: a newtype (stored as what is inside), an enum of names (stored as text), or a struct with
/// named fields (several properties, for a field with `flatten`).
///
/// ```
/// use tablemodel::{Value, prelude::*};
///
/// #[derive(Property)]
/// struct Salary(u32);
///
/// #[derive(Property)]
/// #[table(rename_all = "kebab-case")]
/// enum State {
///     OnLeave,
///     #[table(rename = "gone")]
///     Retired,
/// }
///
/// assert_eq!(tablemodel::Property::to_value(&State::OnLeave), Ok(Some(Value::from("on-leave"))));
///
/// #[derive(Property)]
/// struct Address {
///     city: String,
///     #[table(rename = "Postcode", default)]
///     zip: Option<String>,
/// }
/// ```
///
/// A text that no variant has is an error when it is read, never a default. An enum takes `rename_all` (`kebab-case` too; without it
/// variants are stored as they are written) and `crate`; a variant `rename`; a group `rename_all` and `crate`, and its fields `rename`, `was`, `json`, `skip` and `default`.
#[proc_macro_derive(Property, attributes(table))]
pub fn property(item: TokenStream) -> TokenStream {
    emit::value::derive_property(item.into()).into()
}

/// A type that can stand in a key, beside `#[derive(Property)]`: a newtype of a key type, or an enum of names.
///
/// ```
/// use tablemodel::prelude::*;
///
/// #[derive(Debug, Clone, PartialEq, PartialOrd, Property, KeyPart)]
/// struct DepartmentId(u32);
///
/// #[derive(Debug, Clone, PartialEq, PartialOrd, Property, KeyPart)]
/// enum Grade {
///     A,
///     B,
/// }
///
/// tablemodel::testing::key_laws::<DepartmentId>(); // in a test: that keys of it are in order and tell values apart
/// tablemodel::testing::key_laws::<Grade>();
/// ```
///
/// A newtype is written as what is inside, and paths take the newtype alone. An enum is written by its texts; ranges
/// of it exist if the texts ascend in the order of the variants, which is that of their numbers (`A = 1`) where they have some.
#[proc_macro_derive(KeyPart, attributes(table))]
pub fn key_part(item: TokenStream) -> TokenStream {
    emit::value::derive_key_part(item.into()).into()
}

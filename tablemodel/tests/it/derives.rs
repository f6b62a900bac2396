//! What the derives promise at run time: stored names and forms, defaults, groups, models and projections.

use std::{borrow::Cow, sync::Arc};

use tablemodel::{
    Cover, DateTime, EdmType, FieldSchema, Row, Value, ValueRef,
    key::{KeyPart as _, KeyType},
    prelude::*,
    property::Property as _,
    store::{MemoryStore, TableStore},
    testing::{key_laws, key_samples},
};

#[derive(Debug, Clone, PartialEq, PartialOrd, Property, KeyPart)]
struct DepartmentId(u32);

#[derive(Debug, Clone, PartialEq, PartialOrd, Property, KeyPart)]
enum Grade {
    Junior,
    Lead,
    #[table(rename = "Principal")]
    Head,
}

#[derive(Debug, Clone, PartialEq, PartialOrd, Property, KeyPart)]
#[table(rename_all = "kebab-case")]
enum Unordered {
    NotYet,
    Done,
}

#[derive(Debug, Clone, PartialEq, PartialOrd, Property, KeyPart)]
struct Digest([u8; 4]);

#[derive(Debug, Clone, PartialEq, PartialOrd, Property, KeyPart)]
struct Rank(Grade);

#[derive(Debug, Clone, PartialEq, Default, Property)]
struct Address {
    city: String,
    #[table(rename = "Postcode")]
    zip: Option<u32>,
    #[table(json, default)]
    lines: Vec<String>,
    #[table(skip)]
    checked: bool,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", entity_type = "Person", version = 3, rename_all = "camelCase", allow_scan)]
#[table(partition = "{department}", row = "p_{grade}_{number:04}")]
#[table(index(by_mail, row = "m_{mail}_{grade}_{number:04}", keep(note), when = active))]
#[table(index(retired, row = "r_{grade}_{number:04}", keys_only, when = !active))]
#[table(index(by_born, row = "b_{born:day}!{born}_{grade}_{number:04}"))]
struct Person {
    department: DepartmentId,
    grade: Grade,
    #[table(method = "nth", constant = "NTH")]
    number: u16,
    #[table(rename = "eMail")]
    mail: Option<String>,
    born: DateTime,
    active: bool,
    note: String,
    #[table(default = 18)]
    age: u8,
    #[table(default = unnamed)]
    r#type: String,
    #[table(json, default)]
    tags: Vec<String>,
    #[table(flatten)]
    address: Address,
    #[table(skip, default = (LIMIT))]
    limit: u32,
}

const LIMIT: u32 = 7;

fn unnamed() -> String {
    "unnamed".to_owned()
}

/// The entity as it was before some fields were added.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", entity_type = "Person", version = 3, rename_all = "camelCase")]
#[table(partition = "{department}", row = "p_{grade}_{number:04}")]
struct Earlier {
    department: u32,
    grade: String,
    number: u16,
    born: DateTime,
    active: bool,
    note: String,
    #[table(rename = "City")]
    city: String,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "People", partition = "{id}", row = "department")]
struct Department {
    id: DepartmentId,
    title: String,
}

#[derive(Debug, PartialEq, TableModel)]
enum Model {
    Person(Person),
    Department(Department),
    #[table(other)]
    Other(Row),
}

#[derive(Debug, TableModel)]
enum Strict {
    Person(Person),
}

#[derive(Debug, TableModel)]
enum EarlierModel {
    Earlier(Earlier),
}

#[derive(Debug, PartialEq, Projection)]
#[table(of = Person)]
struct Note {
    note: String,
    #[table(constant = "NTH")]
    nth: u16,
    mail: Option<String>,
}

#[derive(Debug, PartialEq, Projection)]
#[table(of = Person)]
struct Tags {
    #[table(json, default)]
    tags: Vec<String>,
    #[table(default = 18)]
    age: u8,
}

fn person(number: u16) -> Person {
    Person {
        department: DepartmentId(9),
        grade: Grade::Lead,
        number,
        mail: Some(format!("p{number}@contoso.com")),
        born: DateTime::UNIX_EPOCH,
        active: true,
        note: "likes chess".into(),
        age: 40,
        r#type: "full".into(),
        tags: vec!["a".into(), "b".into()],
        address: Address { city: "Bern".into(), zip: None, lines: vec!["1".into()], checked: false },
        limit: LIMIT,
    }
}

#[test]
fn the_schema_tells_fields_names_and_forms() {
    let schema = Person::SCHEMA;
    assert_eq!((schema.entity_type, schema.version, schema.discriminator), ("Person", 3, "Person@3"));
    let fields: Vec<_> = schema.properties().map(|p| (p.field, p.property, p.edm, p.codec)).collect();
    let expected = [
        ("department", "department", EdmType::Int64, "u32"),
        ("grade", "grade", EdmType::String, "enum"),
        ("number", "number", EdmType::Int32, "u16"),
        ("mail", "eMail", EdmType::String, "string"),
        ("born", "born", EdmType::DateTime, DateTime::CODEC),
        ("active", "active", EdmType::Boolean, "bool"),
        ("note", "note", EdmType::String, "string"),
        ("age", "age", EdmType::Int32, "u8"),
        ("type", "type", EdmType::String, "string"),
        ("tags", "tags", EdmType::String, "json"),
        ("city", "City", EdmType::String, "string"),
        ("zip", "Postcode", EdmType::Int64, "u32"),
        ("lines", "Lines", EdmType::String, "json"),
    ];
    assert_eq!(fields, expected);
    let flags = |name: &str| schema.property(name).map(|p| (p.nullable, p.default.is_some()));
    assert_eq!(flags("eMail"), Some((true, false)));
    assert_eq!(flags("age"), Some((false, true)));
    assert!(schema.fields.iter().any(|field| matches!(field, FieldSchema::Group { field: "address", .. })));
}

#[test]
fn the_schema_tells_indexes() {
    let indexes: Vec<_> = Person::SCHEMA.indexes.iter().map(|i| (i.name, i.discriminator, i.cover, i.unique)).collect();
    assert_eq!(
        indexes,
        [
            ("by_mail", "Person.by_mail@3", Cover::Keep(&["note"]), false),
            ("retired", "Person.retired@3", Cover::KeysOnly, false),
            ("by_born", "Person.by_born@3", Cover::Whole, false),
        ]
    );
    let conditions: Vec<_> = Person::SCHEMA.indexes.iter().map(|i| i.when.map(|w| (w.property, w.negated))).collect();
    assert_eq!(conditions, [Some(("active", false)), Some(("active", true)), None]);
}

#[test]
fn derived_key_types_keep_the_laws_of_keys() {
    key_laws::<DepartmentId>();
    key_laws::<Grade>();
    key_laws::<Unordered>();
    key_laws::<Digest>();
    key_laws::<Rank>();
    assert_eq!(Grade::TYPE, KeyType::Enum { ordered: true });
    assert_eq!(Unordered::TYPE, KeyType::Enum { ordered: false });
    assert_eq!(DepartmentId::TYPE, u32::TYPE);
}

#[test]
fn derived_key_types_are_tried_with_what_is_inside_and_with_all_variants() {
    let ids = key_samples::<DepartmentId>();
    assert!(ids.contains(&DepartmentId(0)) && ids.contains(&DepartmentId(u32::MAX)), "{ids:?}");
    assert_eq!(key_samples::<Grade>(), [Grade::Junior, Grade::Lead, Grade::Head]);
    assert_eq!(key_samples::<Rank>(), [Rank(Grade::Junior), Rank(Grade::Lead), Rank(Grade::Head)]);
    assert_eq!(key_samples::<Unordered>(), [Unordered::NotYet, Unordered::Done]);
    assert!(key_samples::<Digest>().contains(&Digest([u8::MAX; 4])));
}

#[test]
fn an_enum_is_its_text_and_no_other_text_is_read() {
    assert_eq!(Grade::Head.to_value(), Ok(Some(Value::from("Principal"))));
    assert_eq!(Unordered::from_value(Some(ValueRef::String("not-yet"))), Ok(Unordered::NotYet));
    let error = Grade::from_value(Some(ValueRef::String("Head"))).unwrap_err().to_string();
    assert!(error.contains("Grade") && error.contains("\"Head\""), "{error}");
    assert!(Grade::from_value(None).is_err() && Grade::from_value(Some(ValueRef::Int32(1))).is_err());
}

#[tokio::test]
async fn every_kind_of_field_comes_back() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Model>().await?;
    db.ensure_tables().await?;
    let written = db.insert(&person(3)).await?;
    assert_eq!(written.key().row, "p_Lead_0003");
    let path = || Person::find().department(DepartmentId(9)).grade(Grade::Lead).nth(3);
    assert_eq!(path().one(&db).await?.map(tablemodel::Stored::into_inner), Some(person(3)));
    let seen = Person::by_born().department(DepartmentId(9)).born_day(DateTime::UNIX_EPOCH).all(&db).await?;
    assert_eq!(seen.iter().map(|seen| &**seen).collect::<Vec<_>>(), [&person(3)]);
    Ok(())
}

#[tokio::test]
async fn an_absent_property_reads_as_its_default_and_a_skipped_field_always_does() -> tablemodel::Result<()> {
    let store: Arc<dyn TableStore> = Arc::new(MemoryStore::new());
    let earlier = Database::builder().with_store::<EarlierModel>(Arc::clone(&store)).await?;
    earlier.ensure_tables().await?;
    let old = Earlier {
        department: 9,
        grade: "Junior".into(),
        number: 1,
        born: DateTime::UNIX_EPOCH,
        active: false,
        note: String::new(),
        city: "Bern".into(),
    };
    earlier.insert(&old).await?;
    let db = Database::builder().with_store::<Strict>(store).await?;
    let found = Person::find().department(DepartmentId(9)).grade(Grade::Junior).nth(1).one(&db).await?.expect("it");
    assert_eq!((found.age, found.r#type.as_str(), found.limit), (18, "unnamed", 7));
    assert_eq!((found.tags.len(), &found.mail, &found.address.zip), (0, &None, &None));
    Ok(())
}

#[tokio::test]
async fn a_model_gives_each_row_as_its_type() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Model>().await?;
    db.ensure_tables().await?;
    db.insert(&person(1)).await?;
    let department = Department { id: DepartmentId(9), title: "Sales".into() };
    db.insert(&department).await?;
    let rows = Model::rows(Person::in_partition(DepartmentId(9))).all(&db).await?;
    assert_eq!(rows, [Model::Department(department), Model::Person(person(1))]);
    Ok(())
}

#[tokio::test]
async fn a_projection_reads_what_its_path_carries() -> tablemodel::Result<()> {
    let db = Database::in_memory::<Model>().await?;
    db.ensure_tables().await?;
    db.insert(&person(1)).await?;
    let note = Note { note: "likes chess".into(), nth: 1, mail: Some("p1@contoso.com".into()) };
    assert_eq!(<Note as Projection>::PROPERTIES, ["note", "number", "eMail"]);
    let by_mail =
        Person::by_mail().department(DepartmentId(9)).mail_starts_with("p1").select::<Note>().all(&db).await?;
    assert_eq!(by_mail, [note]);
    let tags = Person::find().department(DepartmentId(9)).select::<Tags>().all(&db).await?;
    assert_eq!(tags, [Tags { tags: vec!["a".into(), "b".into()], age: 40 }]);
    Ok(())
}

/// Names of keywords, and a key of borrowed text.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Rules", partition = "{area}", row = "{id}")]
#[table(index(r#match, row = "m_{text}!{id}"))]
#[table(list(r#yield, row = "y_{text}"))]
struct Rule {
    area: String,
    id: u32,
    text: Cow<'static, str>,
}

#[derive(Debug, TableModel)]
enum Rules {
    Rule(Rule),
}

#[tokio::test]
async fn an_index_named_by_a_keyword_is_stored_by_the_name_alone() -> tablemodel::Result<()> {
    let index = &Rule::SCHEMA.indexes[0];
    assert_eq!((index.name, index.discriminator), ("match", "Rule.match@1"));
    let db = Database::in_memory::<Rules>().await?;
    db.ensure_tables().await?;
    let rule = Rule { area: "a".into(), id: 1, text: "some".into() };
    db.insert(&rule).await?;
    let found = Rule::r#match().area("a").text_starts_with("so").all(&db).await?;
    assert_eq!(found.iter().map(|found| &**found).collect::<Vec<_>>(), [&rule]);
    let between = Rule::r#match().area("a").text_between("s".."t");
    assert_eq!(between.count(&db).await?, 1);
    assert_eq!(Rule::r#yield().area("a").text("some").keys(&db).await?.len(), 1);
    Ok(())
}

#[test]
fn ranges_and_prefixes_are_of_the_component_they_name() {
    let days = Person::by_born().department(DepartmentId(9)).born_day_between(DateTime::UNIX_EPOCH..);
    assert!(days.explain().to_string().contains("b_1970-01-01"), "{}", days.explain());
    let nth = Person::find().department(DepartmentId(9)).grade(Grade::Lead).nth_between(..5).explain().to_string();
    assert!(nth.contains("p_Lead_0005"), "{nth}");
    let mail = Person::by_mail().department(DepartmentId(9)).mail_starts_with("p1").explain().to_string();
    assert!(mail.contains("m_p1"), "{mail}");
}

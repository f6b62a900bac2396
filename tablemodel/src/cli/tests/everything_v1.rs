//! `Everything` as version 1 stored it. Written by `cargo tablemodel diff`; tablemodel.lock keeps it so.

#![allow(missing_docs, non_camel_case_types, unreachable_pub, reason = "as rows of this version are")]
#![allow(clippy::all, clippy::pedantic, reason = "it is written for rows, not to be read")]

use tablemodel::prelude::*;

/// Version 1 of `Everything`: rows of it are read by this struct.
#[derive(Debug, TableEntity)]
#[table(name = "Everything", entity_type = "Everything", version = 1, frozen, adopt, wide)]
#[table(partition = "{tenant}", row = "e_{id:06}_{grade}_{age}")]
#[table(index(anywhere, row = "{tenant}_{id}_{grade}_{age}", table = "Anywhere", partition = "{email}", keys_only, when = !active))]
#[table(index(by_email, row = "email_{email}", unique, keep(active, price)))]
#[table(index(by_mark, row = "mark_{marks}_{id}_{grade}_{age}", each(marks), keep(at)))]
#[table(index(by_tag, row = "tag_{tags}_{id}_{grade}_{age}", each(tags), keys_only))]
#[table(index(r#match, row = "match_{id}_{grade}_{age}", keys_only))]
#[table(list(names, row = "names_{type_}"))]
#[table(list(names_anywhere, row = "names", table = "Everything", partition = "{state}"))]
#[table(index(newest, row = "new{{_{at:desc}_{id}_{grade}_{age}", keys_only, when = active))]
#[table(index(remarked, row = "remarked_{id}_{grade}_{age}", keys_only, when = remarks))]
#[table(index(r#union, row = "union_{id}_{grade}_{age}", keys_only))]
#[table(list(r#yield, row = "yield_{type_}"))]
pub struct EverythingV1 {
    #[table(default)]
    pub active: bool,
    pub age: tablemodel::format::Word<false>,
    pub at: tablemodel::DateTime,
    #[table(chunked)]
    pub body: Vec<u8>,
    pub city: String,
    pub digest: [u8; 32],
    pub email: Option<String>,
    pub grade: tablemodel::format::Word,
    pub hours00: u32,
    pub hours01: u32,
    pub hours02: u32,
    pub id: u32,
    pub impl_: bool,
    #[table(json)]
    pub marks: Vec<tablemodel::format::Word>,
    #[table(blob)]
    pub photo: Option<Blob>,
    pub price: f64,
    #[table(json)]
    pub remarks: Option<tablemodel::format::Json>,
    #[table(json)]
    pub skills: tablemodel::format::Json,
    pub state: tablemodel::format::Word,
    #[table(json)]
    pub tags: Vec<i16>,
    pub tenant: String,
    pub type_: String,
    pub uuid: Option<tablemodel::Uuid>,
    pub zip: Option<String>,
    #[table(rename = "check_sum", blob)]
    pub check_sum: Option<Blob>,
    #[table(rename = "count")]
    pub count_: u128,
}

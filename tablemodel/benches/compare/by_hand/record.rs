//! The bytes of an employee: a version, then the fields in order.
//!
//! The number is the key and is not repeated; no table is known here.

use crate::{Result, employee::Employee};

const VERSION_BYTES: usize = 8;

/// An employee ready to be written.
pub(super) struct Record {
    pub(super) id: u32,
    pub(super) email: String,
    pub(super) last_name: String,
    pub(super) value: Vec<u8>,
    pub(super) card: Vec<u8>,
}

impl Record {
    /// The record of `employee` in this version.
    pub(super) fn new(employee: &Employee, version: u64) -> Self {
        let mut value = Vec::with_capacity(320);
        value.extend_from_slice(&version.to_le_bytes());
        let texts = [&employee.office, &employee.first_name, &employee.last_name, &employee.email, &employee.phone];
        texts.into_iter().for_each(|text| put_text(&mut value, text));
        let texts = [&employee.title, &employee.street, &employee.city, &employee.notes];
        texts.into_iter().for_each(|text| put_text(&mut value, text));
        value.push(employee.age);
        value.extend_from_slice(&employee.salary.to_le_bytes());
        value.push(employee.active.into());
        Self {
            id: employee.id,
            email: employee.email.clone(),
            last_name: employee.last_name.clone(),
            value,
            card: card(employee),
        }
    }
}

/// What a row of the index by last name keeps.
fn card(employee: &Employee) -> Vec<u8> {
    let mut card = Vec::with_capacity(64);
    put_text(&mut card, &employee.first_name);
    put_text(&mut card, &employee.email);
    card
}

/// The email that a row of the index by last name keeps.
pub(super) fn email_of_card(card: &[u8]) -> Result<String> {
    let mut rest = card;
    let email = take_bytes(&mut rest).and_then(|_first_name| take_text(&mut rest));
    email.ok_or_else(|| "an index row cannot be read".into())
}

/// The version of a stored employee.
pub(super) fn version(value: &[u8]) -> Result<u64> {
    let (version, _) = value.split_first_chunk::<VERSION_BYTES>().ok_or("a value is too short")?;
    Ok(u64::from_le_bytes(*version))
}

/// A stored employee and its version.
pub(super) fn read(id: u32, value: &[u8]) -> Result<(Employee, u64)> {
    read_fields(id, value).ok_or_else(|| "a value cannot be read".into())
}

fn read_fields(id: u32, value: &[u8]) -> Option<(Employee, u64)> {
    let (version, mut rest) = value.split_first_chunk::<VERSION_BYTES>()?;
    let employee = Employee {
        office: take_text(&mut rest)?,
        id,
        first_name: take_text(&mut rest)?,
        last_name: take_text(&mut rest)?,
        email: take_text(&mut rest)?,
        phone: take_text(&mut rest)?,
        title: take_text(&mut rest)?,
        street: take_text(&mut rest)?,
        city: take_text(&mut rest)?,
        notes: take_text(&mut rest)?,
        age: take::<1>(&mut rest)?[0],
        salary: u32::from_le_bytes(take(&mut rest)?),
        active: take::<1>(&mut rest)?[0] == 1,
    };
    Some((employee, u64::from_le_bytes(*version)))
}

/// The email and last name of a stored employee, where their index rows must be found.
pub(super) fn indexed(value: &[u8]) -> Option<(&str, &str)> {
    let mut rest = value.get(VERSION_BYTES..)?;
    let [_office, _first_name] = [take_bytes(&mut rest)?, take_bytes(&mut rest)?];
    let [last_name, email] = [take_bytes(&mut rest)?, take_bytes(&mut rest)?];
    Some((std::str::from_utf8(email).ok()?, std::str::from_utf8(last_name).ok()?))
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}

fn take_text(rest: &mut &[u8]) -> Option<String> {
    std::str::from_utf8(take_bytes(rest)?).ok().map(str::to_owned)
}

fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let len = u16::from_le_bytes(take(rest)?);
    let (bytes, tail) = rest.split_at_checked(len.into())?;
    *rest = tail;
    Some(bytes)
}

fn take<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, tail) = rest.split_first_chunk()?;
    *rest = tail;
    Some(*bytes)
}

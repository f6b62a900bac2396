//! The entity that both sides keep: about 250 bytes, a primary key, a unique index and a plain one; and made-up ones.
//!
//! The same number always gives the same employee; nothing is stored here.

use tablemodel::{TableEntity, TableModel};

/// An employee. All share one office, and so one partition: the unique index holds over all of them.
#[derive(Debug, Clone, PartialEq, Eq, TableEntity)]
#[table(name = "Employees", partition = "{office}", row = "empid_{id:08}")]
#[table(index(by_email, row = "email_{email}", unique, keys_only))]
#[table(index(by_last_name, row = "name_{last_name}_{id:08}", keep(first_name, email)))]
pub(crate) struct Employee {
    pub(crate) office: String,
    pub(crate) id: u32,
    pub(crate) first_name: String,
    pub(crate) last_name: String,
    pub(crate) email: String,
    pub(crate) phone: String,
    pub(crate) title: String,
    pub(crate) street: String,
    pub(crate) city: String,
    pub(crate) age: u8,
    pub(crate) salary: u32,
    pub(crate) active: bool,
    pub(crate) notes: String,
}

/// All that is kept.
#[derive(Debug, TableModel)]
pub(crate) enum Staff {
    /// The only entity.
    Employee(Employee),
}

/// The one office.
pub(crate) const OFFICE: &str = "Seattle";

const FIRST_NAMES: [&str; 8] = ["Jonathan", "Maria", "Wei", "Amina", "Olga", "Pedro", "Sven", "Yuki"];
const SYLLABLES: [&str; 16] =
    ["an", "ber", "cor", "den", "el", "fin", "gar", "hol", "is", "jon", "kar", "lind", "mor", "nor", "ol", "per"];
const TITLES: [&str; 4] = ["Engineer", "Account manager", "Designer", "Head of logistics"];
const CITIES: [&str; 4] = ["Bellevue", "Redmond", "Seattle", "Tacoma"];
const NOTES: &str = "Joined through the summer programme; keeps the badge of building four and the key of the archive.";

impl Employee {
    /// The employee with this number.
    pub(crate) fn number(id: u32) -> Self {
        let bits = mixed(id.into());
        let first_name = pick(&FIRST_NAMES, bits);
        let last_name = last_name(bits >> 8);
        Self {
            office: OFFICE.to_owned(),
            id,
            first_name: first_name.to_owned(),
            email: format!("{}.{}.{:04x}{id}@contoso.com", first_name.to_lowercase(), last_name, bits >> 48),
            last_name,
            phone: format!("+1 425 {:07}", bits % 10_000_000),
            title: pick(&TITLES, bits >> 16).to_owned(),
            street: format!("{} Evergreen Terrace", bits >> 20 & 0xFFF),
            city: pick(&CITIES, bits >> 24).to_owned(),
            age: 20 + (bits >> 32 & 0x1F) as u8,
            salary: 40_000 + (bits >> 36 & 0xFFFF) as u32,
            active: bits >> 60 & 1 == 1,
            notes: NOTES.to_owned(),
        }
    }
}

/// One of 4,096 last names.
pub(crate) fn last_name(bits: u64) -> String {
    let syllables = [bits, bits >> 4, bits >> 8].map(|bits| pick(&SYLLABLES, bits));
    syllables.concat()
}

fn pick<'a>(words: &[&'a str], bits: u64) -> &'a str {
    words.get(bits as usize % words.len()).copied().unwrap_or_default()
}

/// Bits without a visible pattern, the same for the same number (SplitMix64).
pub(crate) fn mixed(number: u64) -> u64 {
    let mut bits = number.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ bits >> 31
}

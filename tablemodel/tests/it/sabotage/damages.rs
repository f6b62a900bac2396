//! Ways to damage a healthy store through its port, and what of it is to be found where.

use tablemodel::{
    Properties, Value, ValueRef,
    store::{Action, Condition, TableStore},
};

use super::{Dice, Hit, Place, Planted, Rows, write};

/// Rows of indexes, claims and back-references: each is wanted by one entity.
pub(super) const DERIVED: [&str; 20] = [
    "Person.by_name@2",
    "Person.by_zip@2",
    "Person.actives@2",
    "Person.by_seat@2",
    "Person.by_city@2",
    "Person.by_rank@2",
    "Person.by_skill@2",
    "Person.called@2",
    "Person.by_email@2",
    "Doc.by_title@1",
    "Doc.by_topic@1",
    "Doc.by_isbn@1",
    "Team.by_title@1",
    "Team.titled@1",
    "Team.~sponsor@1",
    "Fan.by_nick@1",
    "Fan.home@1",
    "Fan.by_card@1",
    "Fan.~team@1",
    "Fan.~backing@1",
];
const CLAIMS: [&str; 3] = ["Person.by_email@2", "Doc.by_isbn@1", "Fan.by_card@1"];
const CELLS: [&str; 5] = ["Team.~Members@1", "Team.~Points@1", "Team.~Rates@1", "Team.~Heads@1", "Team.~Odds@1"];
const LIST: &str = "Person.ids_by_zip@2";

/// What is done to a row that stands where it is wanted.
type Damage = (&'static str, fn(&Properties) -> Action);

const OF_DERIVED: [Damage; 5] = [
    ("missing", |_| Action::Delete(Condition::Exists)),
    ("more", |row| with(row, "Extra", 1)),
    ("ahead", |row| with(row, "_seq", i64::MAX)),
    ("another's", |row| with(row, "_rk", "p_02014_99")),
    ("of another version", |row| {
        let kind = text(row, "EntityType");
        with(row, "EntityType", format!("{}@77", kind.split('@').next().unwrap_or_default()))
    }),
];

const OF_CLAIMS: [Damage; 2] = [
    ("of another partition", |row| with(row, "_pk", "K999")),
    ("unconfirmed", |row| {
        let mut row = row.clone();
        row.retain(|name| name == "EntityType" || name.starts_with('_'));
        row.insert("_expires", tablemodel::DateTime::from_unix_seconds(1_577_836_860).expect("a time"));
        with(&row, "_claim", "pending")
    }),
];

const OF_LISTS: [Damage; 4] = [
    ("list missing", |_| Action::Delete(Condition::Exists)),
    ("list miscounted", |row| with(row, "_count", number(row, "_count") + 1)),
    ("list empty", |row| with(row, "_keys", "[]")),
    ("list too long", |row| with(row, "_keys", text(row, "_keys").replace(']', ",\"p_09999_99\"]"))),
];

/// Of lists in blobs: those of several keys.
const BLOB_LIST: &str = "Doc.titled@1";
const OF_BLOB_LISTS: [Damage; 5] = [
    ("list missing", |_| Action::Delete(Condition::Exists)),
    ("list miscounted", |row| with(row, "_count", number(row, "_count") + 1)),
    ("list without its link", |row| without(row, "_keys_in")),
    ("list of another's blob", |row| with(row, "_keys_in", text(row, "_keys_in").replace("docs", "cods"))),
    ("list of another content", |row| with(row, "_keys_sum", number(row, "_keys_sum") ^ 1)),
];

const OF_CELLS: [Damage; 4] = [
    ("cell missing", |_| Action::Delete(Condition::Exists)),
    ("cell miscounted", |row| with(row, "_count", number(row, "_count") + 1)),
    ("cell without a value", |row| without(row, "_value")),
    ("cell inexact", |row| match row.get("_exact") {
        Some(_) => with(row, "_exact", Value::Binary(vec![1_u8; 272])),
        None => with(row, "_value", number(row, "_value") - 7),
    }),
];

/// What is wrong with an entity: its whole copies are then not what it is.
const OF_HOLDERS: [(&str, &str, Damage); 5] = [
    ("Fan@1", "Team_Title", ("copy outdated", |row| with(row, "Team_Title", "Former"))),
    ("Fan@1", "Backing_Name", ("copy lost", |row| without(row, "Backing_Name"))),
    ("Fan@1", "Backing_Tier", ("copy of nothing", |row| with(row, "Backing_Tier", 99))),
    ("Team@1", "Members", ("total outdated", |row| with(row, "Members", number(row, "Members") + 1))),
    ("Team@1", "Rates", ("sum outdated", |row| with(row, "Rates", 0.125))),
];

/// Rows that cannot be read, or are not all there; what is told of them is of their entity.
const OF_PRIMARIES: [(&str, Damage); 14] = [
    ("Person@2", ("of a wrong type", |row| with(row, "City", 7))),
    ("Person@2", ("absent", |row| without(row, "Name"))),
    ("Person@2", ("of an unknown version", |row| with(row, "EntityType", "Person@77"))),
    ("Fan@1", ("of a wrong type", |row| with(row, "Nick", 1.5))),
    ("Sponsor@1", ("absent", |row| without(row, "Note"))),
    ("Doc@1", ("of fewer parts", |row| with(row, "_parts", 2))),
    ("Doc.~part@1", ("part lost", |_| Action::Delete(Condition::Exists))),
    ("Doc.~part@1", ("part altered", |row| with(row, "Reads", -1_i64))),
    ("Doc@1", ("half a link", |row| without(row, "Scan_length"))),
    ("Doc@1", ("of a wrong type", |row| with(row, "_parts", "2"))),
    ("Doc@1", ("of another generation", |row| with(row, "_gen", "00000000000000cd"))),
    ("Doc@1", ("of no type", |row| with(row, "EntityType", "Doc@x"))),
    ("Person@2", ("of no type", |row| with(row, "EntityType", "Person@"))),
    ("Sponsor@1", ("of no type", |row| with(row, "EntityType", "Sponsor@4294967296"))),
];

fn with(row: &Properties, name: &'static str, value: impl Into<Value>) -> Action {
    let mut row = row.clone();
    row.insert(name, value);
    Action::Replace(row, Condition::Exists)
}

fn without(row: &Properties, name: &'static str) -> Action {
    let mut row = row.clone();
    row.remove(name);
    Action::Replace(row, Condition::Exists)
}

fn text(row: &Properties, name: &str) -> String {
    match row.get(name) {
        Some(ValueRef::String(text)) => text.to_owned(),
        other => panic!("{name} is {other:?}"),
    }
}

fn number(row: &Properties, name: &str) -> i64 {
    match row.get(name) {
        Some(ValueRef::Int64(number)) => number,
        Some(ValueRef::Int32(number)) => number.into(),
        other => panic!("{name} is {other:?}"),
    }
}

/// The entity that a row is of.
fn owner(place: &Place, row: &Properties) -> (String, String) {
    let of = |name: &str| match row.get(name) {
        Some(ValueRef::String(text)) => Some(text.to_owned()),
        _ => None,
    };
    let row = of("_rk").unwrap_or_else(|| place.2.split(" ~~").next().unwrap_or_default().to_owned());
    (of("_pk").unwrap_or_else(|| place.1.clone()), row)
}

/// Plants damages in a store, no two in one entity.
pub(super) struct Saboteur<'a> {
    pub(super) rows: &'a Rows,
    pub(super) store: &'a dyn TableStore,
    dice: Dice,
    hit: Hit,
    pub(super) planted: Planted,
    /// The rows that were written over, as they were.
    pub(super) before: Rows,
    /// The rows of entities that are lost for good.
    pub(super) lost: Vec<Place>,
}

impl<'a> Saboteur<'a> {
    pub(super) fn new(rows: &'a Rows, store: &'a dyn TableStore) -> Self {
        Self {
            rows,
            store,
            dice: Dice(11),
            hit: Hit::new(),
            planted: Planted::new(),
            before: Rows::new(),
            lost: Vec::new(),
        }
    }

    /// A row of this kind, of an entity that is whole.
    fn draw(&mut self, kind: &str, fits: impl Fn(&Place, &Properties) -> bool) -> (Place, Properties) {
        let is_it = |row: &Properties| row.get("EntityType") == Some(ValueRef::String(kind));
        let of: Vec<_> = self.rows.iter().filter(|(place, row)| is_it(row) && fits(place, row)).collect();
        for _ in 0..1_000 {
            let (place, row) = of[self.dice.below(of.len())];
            let owner = owner(place, row);
            // What tells of the whole club: its list, its cells, its team.
            let is_shared = [LIST, "Team@1"].contains(&kind) || CELLS.contains(&kind);
            let is_free = match is_shared {
                true => self.hit.insert((owner.0.clone(), "shared".to_owned())),
                false => true,
            };
            if is_free && self.hit.insert(owner) {
                return (place.clone(), row.clone());
            }
        }
        panic!("no {kind} is left whole");
    }

    async fn write(&mut self, place: &Place, action: Action) {
        write(self.store, place, action).await;
        if let Some(row) = self.rows.get(place) {
            self.before.insert(place.clone(), row.clone());
        }
    }

    async fn damage(&mut self, kind: &str, (name, damage): Damage) {
        let (place, row) = self.draw(kind, |_, _| true);
        self.write(&place, damage(&row)).await;
        self.planted.insert(place, name);
    }

    /// What repair puts right, so many times each.
    pub(super) async fn plant(&mut self, times: usize) {
        for _ in 0..times {
            for kind in DERIVED {
                for damage in OF_DERIVED {
                    self.damage(kind, damage).await;
                }
                self.dangling(kind).await;
            }
            for kind in CLAIMS {
                for damage in OF_CLAIMS {
                    self.damage(kind, damage).await;
                }
            }
            for damage in OF_LISTS {
                self.damage(LIST, damage).await;
            }
            for (name, damage) in OF_BLOB_LISTS {
                let (place, row) = self.draw(BLOB_LIST, |_, row| row.get("_keys_in").is_some());
                self.write(&place, damage(&row)).await;
                self.planted.insert(place, name);
            }
            for (nth, damage) in OF_CELLS.into_iter().enumerate() {
                self.damage(CELLS[nth % CELLS.len()], damage).await;
            }
            for (kind, property, damage) in OF_HOLDERS {
                self.holder(kind, property, damage).await;
            }
            self.leftovers().await;
            self.undelivered().await;
            self.overdue().await;
            self.lost().await;
            self.orphan().await;
        }
    }

    /// An entity that says what it should not, and with it each of its whole copies.
    async fn holder(&mut self, kind: &str, property: &str, (name, damage): Damage) {
        let (place, row) = self.draw(kind, |_, row| row.get(property).is_some());
        let owner = owner(&place, &row);
        self.write(&place, damage(&row)).await;
        let has = |at: &Place, row: &Properties| self::owner(at, row) == owner && row.get(property).is_some();
        let shown: Vec<_> = self.rows.iter().filter(|(at, row)| has(at, row)).map(|(at, _)| at.clone()).collect();
        assert!(shown.len() > 1 && shown.contains(&place), "{shown:?}");
        self.planted.extend(shown.into_iter().map(|place| (place, name)));
    }

    /// A row where its entity wants none, and one of an entity that never was.
    async fn dangling(&mut self, kind: &str) {
        for is_known in [true, false] {
            let (place, mut row) = self.draw(kind, |_, _| true);
            if !is_known {
                row.insert("_rk", "p_02014_98");
            }
            let place = (place.0, place.1, format!("{}~{}", place.2, self.planted.len()));
            self.write(&place, Action::Insert(row)).await;
            self.planted.insert(place, "dangling");
        }
    }

    /// Tombstones that nothing sweeps, and a cell of nobody.
    async fn leftovers(&mut self) {
        let nth = self.planted.len();
        let mut dead = Properties::new();
        dead.insert("_seq", 7_i64);
        for kind in ["Person.~dead@2", "Person.by_city@2", "Fan.~backing@1", "Team.~Members@1"] {
            let mut row = dead.clone();
            row.insert("EntityType", kind);
            let (table, partition, key) = match kind {
                "Person.~dead@2" => ("Everything", "K000", format!("p_05555_{nth:05}")),
                "Person.by_city@2" => ("Cities", "Nowhere", format!("c_{nth}")),
                "Fan.~backing@1" => ("Sponsors", "003", format!("~~ref|7|sponsor|Fan.backing|4|K000|f_{nth}")),
                _ => ("Everything", "Ghosts", format!("~~agg|{nth}|Members")),
            };
            if ["Person.by_city@2", "Fan.~backing@1"].contains(&kind) {
                row.insert("_dead", true);
                row.insert("_pk", "K000");
                row.insert("_rk", "p_05555_99");
            }
            let place = (table.to_owned(), partition.to_owned(), key);
            self.write(&place, Action::Insert(row)).await;
            self.planted.insert(place, "leftover");
        }
    }

    /// An outbox row whose marker was lost.
    async fn undelivered(&mut self) {
        for kind in ["Person@2", "Fan@1", "Doc@1"] {
            let (place, of) = self.draw(kind, |_, _| true);
            let sequence = number(&of, "_seq");
            let mut row = Properties::new();
            row.insert("EntityType", kind.replace('@', ".~outbox@"));
            row.insert("_seq", sequence);
            row.insert("_rk", place.2.clone());
            row.insert("_entries", "[]");
            let place = (place.0, place.1, format!("~~out|{}|{sequence:020}", place.2));
            self.write(&place, Action::Insert(row)).await;
            self.planted.insert(place, "undelivered");
        }
    }

    /// An outbox row that stands for longer than the fence, in a partition whose marker is there.
    async fn overdue(&mut self) {
        let (place, of) = self.draw("Fan@1", |_, _| true);
        let sequence = number(&of, "_seq");
        let mut row = Properties::new();
        row.insert("EntityType", "Fan.~outbox@1");
        row.insert("_seq", sequence);
        row.insert("_rk", place.2.clone());
        row.insert("_entries", "[]");
        let outbox = (place.0.clone(), place.1.clone(), format!("~~out|{}|{sequence:020}", place.2));
        self.write(&outbox, Action::Insert(row)).await;
        let name = format!("{}|{}", place.0, place.1);
        let mut bytes = (name.len() as u64).to_le_bytes().to_vec();
        bytes.extend(name.bytes());
        let bucket = format!("{:02}", twox_hash::XxHash3_64::oneshot(&bytes) % 16);
        let mut marker = Properties::new();
        marker.insert("EntityType", "~dirty@1");
        marker.insert("_seq", 1_i64);
        self.write(&("tmdirty".to_owned(), bucket, name), Action::InsertOrReplace(marker)).await;
        self.planted.insert(outbox, "undelivered");
    }

    /// An entity whose row is lost, while all that was derived from it stays.
    async fn lost(&mut self) {
        let (place, row) = self.draw("Fan@1", |_, _| true);
        let lost = owner(&place, &row);
        self.write(&place, Action::Delete(Condition::Exists)).await;
        let rows = self.rows.iter().filter(|(at, row)| owner(at, row) == lost).map(|(at, _)| at.clone());
        let rows: Vec<_> = rows.collect();
        assert!(rows.len() > 2 && rows.contains(&place), "{rows:?}");
        self.planted.extend(rows.iter().filter(|at| **at != place).map(|at| (at.clone(), "dangling")));
        self.lost.extend(rows);
    }

    /// Entities that say they have the unique value of another, which is the one that claimed it.
    pub(super) async fn two_owners(&mut self, times: usize) {
        for _ in 0..times {
            let (_, owner) = self.draw("Doc@1", |_, row| row.get("Isbn").is_some());
            let (place, row) = self.draw("Doc@1", |_, row| row.get("Isbn").is_none());
            let isbn = number(&owner, "Isbn");
            self.write(&place, with(&row, "Isbn", isbn)).await;
            let claim = ("Emails".to_owned(), format!("isbn_{isbn:03}"), "isbn".to_owned());
            assert!(self.rows.contains_key(&claim), "{claim:?}");
            self.planted.insert(claim, "two owners");
        }
    }

    /// A part that no head names.
    async fn orphan(&mut self) {
        for tail in [" ~~77", " ~~00000000000000ab~01"] {
            let (place, row) = self.draw("Doc.~part@1", |_, _| true);
            let head = place.2.split(" ~~").next().unwrap_or_default();
            let place = (place.0, place.1, format!("{head}{tail}"));
            self.write(&place, Action::Insert(row)).await;
            self.planted.insert(place, "orphan");
        }
    }

    /// What only the user can put right, so many times each: told of the entity's primary row, or of the part that lacks.
    pub(super) async fn corrupt(&mut self, times: usize) {
        for _ in 0..times {
            for (kind, (name, damage)) in OF_PRIMARIES {
                let is_linked = |row: &Properties| name != "half a link" || row.get("Scan_length").is_some();
                let (place, row) = self.draw(kind, |_, row| is_linked(row));
                self.write(&place, damage(&row)).await;
                let (_, head) = owner(&place, &row);
                let told = match name {
                    "part lost" => place.2,
                    "of fewer parts" => format!("{head} ~~02"),
                    "of another generation" => format!("{head} ~~00000000000000cd~01"),
                    _ => head,
                };
                self.planted.insert((place.0, place.1, told), name);
            }
        }
    }

    /// The blobs of so many entities, and whose they are.
    pub(super) fn linked(&mut self, times: usize) -> Vec<String> {
        let mut names = Vec::new();
        for _ in 0..times {
            let (place, row) = self.draw("Doc@1", |_, row| row.get("Scan_length").is_some());
            names.push(text(&row, "Scan"));
            self.planted.insert(place, "blob");
        }
        names
    }
}

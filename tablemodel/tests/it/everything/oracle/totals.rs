//! The reference of aggregates: what the persons of a club come to, and the cells that hold it.

use std::collections::BTreeMap;

use tablemodel::Value;

use super::{Fields, Physical, Rule, put};
use crate::{
    aggregate::part_of,
    everything::{Entity, Person, Team},
};

/// What the persons of a club come to, in clubs that have persons or a team.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) active: i64,
    sources: i64,
    pub(super) points: i64,
    rated: i64,
    /// In quarters: all rates are such.
    rates: i64,
    /// Of persons whose keys fall into one part: the active ones, the rated ones, and their rates.
    parts: BTreeMap<u64, [i64; 3]>,
}

impl Totals {
    pub(super) fn of(entities: &[&Entity], rule: Rule) -> BTreeMap<String, Self> {
        let mut totals: BTreeMap<String, Self> = BTreeMap::new();
        for entity in entities {
            let club = match entity {
                Entity::Person(Person { club, .. }) | Entity::Team(Team { club, .. }) => club,
                _ => continue,
            };
            let of = totals.entry(club.clone()).or_default();
            let Entity::Person(person) = entity else { continue };
            of.active += i64::from(person.active || rule == Rule::CountsAll);
            of.sources += 1;
            if rule != Rule::SumSkipsOne || of.sources > 1 {
                of.points += person.points;
            }
            of.rated += i64::from(person.rate.is_some());
            let rate = (person.rate.unwrap_or_default() * 4.0) as i64;
            of.rates += rate;
            let part = match rule {
                Rule::PartsOfPartitions => part_of(club, ""),
                _ => part_of(club, &entity.key().1),
            };
            let [active, rated, rates] = of.parts.entry(part).or_default();
            *active += i64::from(person.active);
            *rated += i64::from(person.rate.is_some());
            *rates += rate;
        }
        totals
    }

    pub(super) fn rates(&self) -> Value {
        Value::Double(self.rates as f64 / 4.0)
    }

    pub(super) fn cells(&self, club: &str, has_target: bool, rule: Rule) -> Physical {
        let mut cells = self.parts_of(club);
        let exact = exact(self.rates);
        for (property, count, value, exact) in [
            ("Members", self.active, self.active.into(), None),
            ("Points", self.sources, self.points.into(), None),
            ("Rates", self.rated, self.rates(), Some(exact).filter(|_| rule != Rule::CellRounded)),
        ] {
            if !has_target && (count == 0 || rule == Rule::CellWithoutTargetGone) {
                continue;
            }
            cells.insert(place(club, property), cell(property, count, value, exact));
        }
        cells
    }

    fn parts_of(&self, club: &str) -> Physical {
        let mut cells = Physical::new();
        for (part, [active, rated, rates]) in &self.parts {
            let place = |property: &str| place(club, &format!("{property}|{part:02}"));
            if *active > 0 {
                cells.insert(place("Heads"), cell("Heads", *active, Value::Int64(*active), None));
            }
            if *rated > 0 {
                let sum = Value::Double(*rates as f64 / 4.0);
                cells.insert(place("Odds"), cell("Odds", *rated, sum, Some(exact(*rates))));
            }
        }
        cells
    }
}

fn place(club: &str, property: &str) -> (String, String, String) {
    ("Everything".into(), club.into(), format!("~~agg|team|{property}"))
}

fn cell(property: &str, count: i64, value: Value, exact: Option<Value>) -> Fields {
    let mut fields = Fields::new();
    put(&mut fields, "EntityType", Some(format!("Team.~{property}@1").into()));
    put(&mut fields, "_count", Some(Value::Int64(count)));
    put(&mut fields, "_value", Some(value));
    put(&mut fields, "_exact", exact);
    fields
}

/// A sum of so many quarters.
fn exact(quarters: i64) -> Value {
    let mut exact = vec![if quarters < 0 { 0xff_u8 } else { 0 }; 272];
    exact[134..142].copy_from_slice(&quarters.to_le_bytes()); // a quarter is bit 1,072
    if quarters < 0 {
        exact[..134].fill(0);
    }
    Value::Binary(exact)
}

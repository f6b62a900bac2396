//! The reference of aggregates: what the persons of a club come to, and the cells that hold it.

use std::collections::BTreeMap;

use tablemodel::Value;

use super::{Fields, Physical, Rule, put};
use crate::everything::{Entity, Person, Team};

/// What the persons of a club come to, in clubs that have persons or a team.
#[derive(Default)]
pub(super) struct Totals {
    pub(super) active: i64,
    sources: i64,
    pub(super) points: i64,
    rated: i64,
    /// In quarters: all rates are such.
    rates: i64,
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
            of.rates += (person.rate.unwrap_or_default() * 4.0) as i64;
        }
        totals
    }

    pub(super) fn rates(&self) -> Value {
        Value::Double(self.rates as f64 / 4.0)
    }

    pub(super) fn cells(&self, club: &str, has_target: bool, rule: Rule) -> Physical {
        let mut cells = Physical::new();
        let mut exact = vec![if self.rates < 0 { 0xff_u8 } else { 0 }; 272];
        exact[134..142].copy_from_slice(&self.rates.to_le_bytes()); // a quarter is bit 1,072
        if self.rates < 0 {
            exact[..134].fill(0);
        }
        let exact = Value::Binary(exact);
        for (property, count, value, exact) in [
            ("Members", self.active, self.active.into(), None),
            ("Points", self.sources, self.points.into(), None),
            ("Rates", self.rated, self.rates(), Some(exact).filter(|_| rule != Rule::CellRounded)),
        ] {
            if !has_target && (count == 0 || rule == Rule::CellWithoutTargetGone) {
                continue;
            }
            let mut fields = Fields::new();
            put(&mut fields, "EntityType", Some(format!("Team.~{property}@1").into()));
            put(&mut fields, "_count", Some(Value::Int64(count)));
            put(&mut fields, "_value", Some(value));
            put(&mut fields, "_exact", exact);
            cells.insert(("Everything".into(), club.into(), format!("~~agg|team|{property}")), fields);
        }
        cells
    }
}

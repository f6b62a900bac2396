//! Claims under an entity's key of values that it has not got: what an attempt of its own put that died, or what it gave up a
//! moment ago. Where it is to take such a value at another key, they go before it moves: whoever takes a claim over changes its
//! owner first, and that is the very entity which is to be written as it was read.

use tablemodel_store::{Action, Batch, Condition, ETag, Row};

use super::values::{claimed, keeps};
use crate::{
    database::{
        Database,
        calls::{ATTEMPTS, in_vain, is_transient},
        execute::doubt::outdated,
    },
    error::Result,
    plan::{change::is_primary, entries::told, group::Group, image::Image, system},
    rooms::unique,
    schema::EntitySchema,
    stored::Rows,
};

impl Database {
    /// Lets these claims go where the entity is about to stand at another key, and has it rest on its rows as they are then:
    /// nothing of them is new but their number.
    ///
    /// Cost: a point read for each value that it takes there; with such a claim two reads of the entity and two writes.
    pub(in crate::database) async fn let_claims_go(&self, entity: &mut Rows, to: &Image) -> Result<()> {
        if self.is_atomic() || !to.schema.has_claims() || to.key == *entity.group().key() {
            return Ok(());
        }
        let claims = self.old_claims(entity.group(), to).await?;
        if claims.is_empty() {
            return Ok(());
        }
        let rows = self.outdate(to.schema, entity.group()).await?;
        entity.rest_on(rows);
        for (table, claim) in claims {
            self.remove_claim(&table, claim).await?;
        }
        Ok(())
    }

    async fn old_claims(&self, old: &Group, to: &Image) -> Result<Vec<(String, Row)>> {
        // What cannot be told is refused where it is planned.
        let (Ok(wanted), Ok(was)) = (claimed(to), Image::written(to.schema, old)) else { return Ok(Vec::new()) };
        let (has, mut claims) = (told(&was, |_| false).entries, Vec::new());
        for away in wanted.iter().filter(|away| !keeps(&has, away)) {
            let claim = self.own_claim(away, |owner| owner == old.key()).await?;
            let is_claim = |row: &Row| away.claimed().is_some_and(|index| unique::read(index, row).is_some());
            let table = self.table_name(away.row.away.table);
            claims.extend(claim.filter(is_claim).map(|claim| (table, claim)));
        }
        Ok(claims)
    }

    /// Changes an entity that is as it was read, so that no write under way that rests on it succeeds; gives its rows.
    async fn outdate(&self, schema: &'static EntitySchema, old: &Group) -> Result<Group> {
        let table = self.table_name(schema.table);
        let mut before: Option<ETag> = None;
        for _ in 0..ATTEMPTS {
            let rows = match self.read_entity(schema, &table, old.key()).await? {
                Some(rows) if says_the_same(&rows, old) => rows,
                other => {
                    let found = other.map(|rows| rows.head).filter(|row| is_primary(schema, row));
                    return Err(outdated(schema, old, found));
                }
            };
            if before.is_some_and(|before| before != rows.head.etag) {
                return Ok(Group { fetched: old.fetched.clone(), ..rows });
            }
            self.touch_row(schema, Some(&rows.head)).await?;
            before = Some(rows.head.etag);
        }
        Err(in_vain("the entity", None).of(schema.entity_type).at_key(old.key().clone()))
    }

    /// Unless another has written it since.
    async fn remove_claim(&self, table: &str, claim: Row) -> Result<()> {
        let gone = Action::Delete(Condition::Match(claim.etag));
        let batch = Batch::new(table, claim.key.partition).with(claim.key.row, gone);
        for attempt in 0..ATTEMPTS {
            match self.race(batch.clone(), attempt).await? {
                Err(error) if is_transient(&error) => {}
                _ => break,
            }
        }
        Ok(())
    }
}

/// Whether nothing but the entity's number changed.
fn says_the_same(now: &Group, old: &Group) -> bool {
    let without_number = |row: &Row| {
        let mut properties = row.properties.clone();
        properties.retain(|name| name != system::SEQUENCE);
        properties
    };
    now.head.etag == old.head.etag
        || (without_number(&now.head) == without_number(&old.head) && now.etags().skip(1).eq(old.etags().skip(1)))
}

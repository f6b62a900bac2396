//! What is written at once of a load, and in halves where one of its changes is refused: so that only that one fails.
//!
//! Nothing is planned here.

use crate::{
    database::{
        Database, Registered,
        bulk::BulkReport,
        execute::{Asked, waits::Waits},
        halves::Halves,
    },
    plan::change::Change,
};

/// Makes changes of one partition as one batch, and of several as one commit; where one of them is refused, in halves.
pub(super) async fn write_changes(
    db: &Database,
    registered: &Registered,
    changes: &[Change],
    asked: Asked,
) -> BulkReport {
    let (mut report, mut halves) = (BulkReport::default(), Halves::of(changes.len()));
    while let Some(range) = halves.next() {
        let some = changes.get(range.clone()).unwrap_or_default();
        let Some(first) = some.first() else { continue };
        let together = some.len() > 1 && db.goes_together(first.schema());
        let asked = if together { Asked::TOGETHER } else { asked };
        db.note_traffic();
        let refused = match db.write_abreast(registered, some, asked, &mut Waits::default()).await {
            Ok(Some(_)) => {
                report.written += some.len() as u64;
                report.batches += 1;
                continue;
            }
            Ok(None) => None,
            Err(error) => Some(error),
        };
        if let Some(error) = halves.refused(&range, refused, together) {
            let each = some.iter().map(|change| (change.schema().entity_type, change.key().clone()));
            report.failed.extend(each.map(|(entity, key)| error.clone().for_entity(entity, key)));
        }
    }
    report
}

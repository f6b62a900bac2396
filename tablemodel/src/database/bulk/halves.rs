//! What is written at once of a load, and in halves where one of its changes is refused: so that only that one fails.
//!
//! Nothing is planned here.

use crate::{
    database::{
        Database, Registered,
        bulk::BulkReport,
        execute::Asked,
        vain::{is_of_a_race, is_of_all},
    },
    error::{Error, ErrorKind},
    plan::change::Change,
};

/// Makes changes of one partition as one batch, and of several as one commit; where one of them is refused, in halves.
pub(super) async fn write_changes(
    db: &Database,
    registered: &Registered,
    changes: &[Change],
    asked: Asked,
) -> BulkReport {
    let mut report = BulkReport::default();
    let mut rest = vec![changes];
    while let Some(changes) = rest.pop() {
        let Some(first) = changes.first() else { continue };
        let together = changes.len() > 1 && db.goes_together(first.schema());
        let asked = if together { Asked::TOGETHER } else { asked };
        db.note_traffic();
        match db.write_abreast(registered, changes, asked).await {
            Ok(true) => {
                report.written += changes.len() as u64;
                report.batches += 1;
            }
            Err(error) if changes.len() == 1 || concerns_all(&error, together) => {
                let each = changes.iter().map(|change| (change.schema().entity_type, change.key().clone()));
                report.failed.extend(each.map(|(entity, key)| error.clone().for_entity(entity, key)));
            }
            Ok(false) | Err(_) => {
                let (first, second) = changes.split_at(changes.len() / 2);
                rest.extend([second, first]);
            }
        }
    }
    report
}

/// Whether each entity of the batch would meet the same error, or may have been written.
fn concerns_all(error: &Error, together: bool) -> bool {
    match error.kind() {
        ErrorKind::OutcomeUnknown => true,
        ErrorKind::Unavailable if together => is_of_all(error), // else rows of others that go with them kept changing: fewer may do better
        // Else another is busy with what that one asks for, or that one's blob is refused.
        ErrorKind::Denied | ErrorKind::Unavailable => error.operation().is_none() && !is_of_a_race(error),
        _ => is_of_all(error),
    }
}

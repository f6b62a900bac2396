//! An application that stalls while cells are marked, and wakes when others have counted them.

use std::time::Duration;

use tablemodel::Consistency;

use super::{Club, assert_counted, filled};
use crate::{migrate::next, stall::Program};

#[tokio::test]
async fn an_application_that_stalls_marks_no_cell_that_is_counted_by_then() {
    let whole = filled(Consistency::Azure, 2, 3).await;
    whole.clock().advance(Duration::from_secs(130));
    for at in (0..).step_by(4) {
        let store = whole.fork().expect("in memory");
        let (other, clock) = (next::<Club>(&store).await, store.clock().clone());
        let meanwhile = async move {
            clock.advance(Duration::from_secs(300));
            let applied = other.migrations().apply().await.expect("built");
            assert!(applied.is_complete(), "{applied:?}");
        };
        let stalled = Program::sleeping::<Club>(&store, at, Box::pin(meanwhile)).await;
        let applied = stalled.db.migrations().apply().await;
        if !stalled.has_stalled() {
            assert!(at > 40, "{at} calls");
            break;
        }
        assert_counted(&next::<Club>(&store).await, &format!("stalled at call {at}: {applied:?}")).await;
    }
}

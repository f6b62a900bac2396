//! Sources that move within their partition leave the totals that they come to: only what these are in the end may be beyond their type.

use tablemodel::{ErrorKind, prelude::*};

use crate::migrate::{MODES, assert_clean, store_of};

/// The unique value elsewhere makes its moves several steps in the Azure mode.
#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Bank", partition = "{bank}", row = "sum_{id:04}")]
#[table(index(by_code, table = "Codes", partition = "{code}", row = "code", unique, keys_only))]
#[table(sum(Total, key(bank = bank), of = value, into = value))]
struct Sum {
    bank: String,
    id: u16,
    code: u8,
    value: i64,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Bank", partition = "{bank}", row = "total")]
struct Total {
    bank: String,
    #[table(aggregate)]
    value: i64,
}

#[derive(Debug, PartialEq, TableModel)]
enum Bank {
    Sum(Sum),
    Total(Total),
}

fn sum(id: u16, value: i64) -> Sum {
    Sum { bank: "b".into(), id, code: u8::try_from(id).unwrap(), value }
}

#[tokio::test]
async fn a_move_within_the_partition_is_refused_for_what_the_total_comes_to_alone() {
    for mode in MODES {
        let db = store_of::<Bank>(mode).await;
        db.insert(&Total { bank: "b".into(), value: 0 }).await.unwrap();
        let mut most = db.insert(&sum(1, i64::MAX)).await.unwrap();
        most.id = 2;
        db.rekey(&mut most).await.unwrap();
        let mut less = db.insert(&sum(5, -1)).await.unwrap();
        (less.id, less.value) = (6, 1);
        assert_eq!(*db.rekey(&mut less).await.unwrap_err().kind(), ErrorKind::Overflow, "{mode:?}");
        assert_eq!(Sum::find().bank("b").id(5).one(&db).await.unwrap().unwrap().value, -1, "it is where it was");
        less.value = 0;
        db.rekey(&mut less).await.unwrap();
        let total = Total::find().bank("b").one(&db).await.unwrap().unwrap();
        assert_eq!(total.value, i64::MAX, "{mode:?}");
        assert_clean(&db, "moved").await;
    }
}

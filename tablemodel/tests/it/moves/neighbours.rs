//! Other entities in the tables of one that moves: what is read of all of them in one query.

use tablemodel::prelude::*;

use super::{MODES, filled, first, next, second};

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Flights", partition = "{carrier}", row = "crew_{id}")]
struct Crew {
    carrier: String,
    id: u32,
}

#[derive(Debug, Clone, PartialEq, TableEntity)]
#[table(name = "Departures", partition = "{origin}", row = "gate_{id}")]
struct Gate {
    origin: String,
    id: u32,
}

#[derive(Debug, Clone, PartialEq, TableModel)]
enum First {
    Flight(first::Flight),
    Crew(Crew),
    Gate(Gate),
}

#[derive(Debug, Clone, PartialEq, TableModel)]
enum Second {
    Flight(second::Flight),
    Crew(Crew),
    Gate(Gate),
}

#[tokio::test]
async fn rows_of_the_form_in_another_table_are_left_out() {
    for mode in MODES {
        let store = filled(mode, 1, 4).await;
        let db = next::<First>(&store).await;
        let (crew, gate) = (Crew { carrier: "C0".into(), id: 1 }, Gate { origin: "OSL".into(), id: 1 });
        db.insert(&crew).await.expect("inserted");
        db.insert(&gate).await.expect("inserted");
        db.migrations().apply().await.expect("applied");
        let gates = First::rows(Gate::in_partition("OSL")).all(&db).await.expect("read beside shadows");
        assert_eq!(gates, [First::Gate(gate.clone())], "{mode:?}");
        assert_eq!(First::rows(Crew::in_partition("C0")).all(&db).await.expect("read").len(), 5, "{mode:?}");
        assert_eq!(First::rows(Gate::in_partition("OSL")).count(&db).await.expect("counted"), 1, "{mode:?}");
        let one = First::rows(Gate::in_partition("OSL")).page(1, None, &db).await.expect("read beside shadows");
        assert_eq!((one.items, one.cursor), (gates, None), "{mode:?}");

        drop(db);
        store.clock().advance(std::time::Duration::from_secs(130));
        let new = next::<Second>(&store).await;
        for is_switched in [false, true] {
            if is_switched {
                new.migrations().contract().await.expect("switched");
            }
            let crews = Second::rows(Crew::in_partition("C0")).all(&new).await.expect("read beside flights of old");
            assert_eq!(crews, [Second::Crew(crew.clone())], "{mode:?}");
            let one = Second::rows(Crew::in_partition("C0")).page(1, None, &new).await.expect("read");
            assert_eq!((one.items, one.cursor), (crews, None), "{mode:?}");
            assert_eq!(Second::rows(Gate::in_partition("OSL")).all(&new).await.expect("read").len(), 3, "{mode:?}");
        }
    }
}

//! One entity with more indexes than one batch has room for the states of.

use std::time::Duration;

use tablemodel::{prelude::*, testing::TestDatabase};

use super::{MODES, assert_clean, next, store_of};

macro_rules! release {
    ($name:ident $(, $index:ident $partition:literal)*) => {
        mod $name {
            use tablemodel::prelude::*;

            #[derive(Debug, Clone, PartialEq, TableEntity)]
            #[table(name = "Cups", partition = "{place}", row = "cup_{id:04}")]
            $(#[table(index($index, table = "Shelves", partition = $partition, row = "{id:04}", keys_only))])*
            pub(super) struct Cup {
                pub(super) place: String,
                pub(super) id: u32,
            }

            #[derive(Debug, Clone, PartialEq, TableModel)]
            pub(super) enum Cups {
                Cup(Cup),
            }
        }
    };
}

release!(bare);
release!(
    full,
    by_000 "x000_{place}", by_001 "x001_{place}", by_002 "x002_{place}", by_003 "x003_{place}", by_004 "x004_{place}",
    by_005 "x005_{place}", by_006 "x006_{place}", by_007 "x007_{place}", by_008 "x008_{place}", by_009 "x009_{place}",
    by_010 "x010_{place}", by_011 "x011_{place}", by_012 "x012_{place}", by_013 "x013_{place}", by_014 "x014_{place}",
    by_015 "x015_{place}", by_016 "x016_{place}", by_017 "x017_{place}", by_018 "x018_{place}", by_019 "x019_{place}",
    by_020 "x020_{place}", by_021 "x021_{place}", by_022 "x022_{place}", by_023 "x023_{place}", by_024 "x024_{place}",
    by_025 "x025_{place}", by_026 "x026_{place}", by_027 "x027_{place}", by_028 "x028_{place}", by_029 "x029_{place}",
    by_030 "x030_{place}", by_031 "x031_{place}", by_032 "x032_{place}", by_033 "x033_{place}", by_034 "x034_{place}",
    by_035 "x035_{place}", by_036 "x036_{place}", by_037 "x037_{place}", by_038 "x038_{place}", by_039 "x039_{place}",
    by_040 "x040_{place}", by_041 "x041_{place}", by_042 "x042_{place}", by_043 "x043_{place}", by_044 "x044_{place}",
    by_045 "x045_{place}", by_046 "x046_{place}", by_047 "x047_{place}", by_048 "x048_{place}", by_049 "x049_{place}",
    by_050 "x050_{place}", by_051 "x051_{place}", by_052 "x052_{place}", by_053 "x053_{place}", by_054 "x054_{place}",
    by_055 "x055_{place}", by_056 "x056_{place}", by_057 "x057_{place}", by_058 "x058_{place}", by_059 "x059_{place}",
    by_060 "x060_{place}", by_061 "x061_{place}", by_062 "x062_{place}", by_063 "x063_{place}", by_064 "x064_{place}",
    by_065 "x065_{place}", by_066 "x066_{place}", by_067 "x067_{place}", by_068 "x068_{place}", by_069 "x069_{place}",
    by_070 "x070_{place}", by_071 "x071_{place}", by_072 "x072_{place}", by_073 "x073_{place}", by_074 "x074_{place}",
    by_075 "x075_{place}", by_076 "x076_{place}", by_077 "x077_{place}", by_078 "x078_{place}", by_079 "x079_{place}",
    by_080 "x080_{place}", by_081 "x081_{place}", by_082 "x082_{place}", by_083 "x083_{place}", by_084 "x084_{place}",
    by_085 "x085_{place}", by_086 "x086_{place}", by_087 "x087_{place}", by_088 "x088_{place}", by_089 "x089_{place}",
    by_090 "x090_{place}", by_091 "x091_{place}", by_092 "x092_{place}", by_093 "x093_{place}", by_094 "x094_{place}",
    by_095 "x095_{place}", by_096 "x096_{place}", by_097 "x097_{place}", by_098 "x098_{place}", by_099 "x099_{place}",
    by_100 "x100_{place}", by_101 "x101_{place}"
);

fn cup(id: u32) -> full::Cup {
    full::Cup { place: "A".into(), id }
}

#[tokio::test]
async fn an_entity_of_very_many_indexes_is_recorded_with_all_of_them() {
    for mode in MODES {
        let db = store_of::<full::Cups>(mode).await;
        db.insert(&cup(1)).await.expect("written");
        let found = full::Cup::by_101().place("A").id(1).exists(&db).await;
        assert!(found.expect("it is complete from the start"), "{mode:?}");
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

#[tokio::test]
async fn very_many_indexes_are_added_to_an_entity_that_has_none() {
    for mode in MODES {
        let store: TestDatabase = store_of::<bare::Cups>(mode).await;
        store.insert(&bare::Cup { place: "A".into(), id: 1 }).await.expect("written");
        store.clock().advance(Duration::from_secs(130));
        let db = next::<full::Cups>(&store).await;
        // `ensure_tables` has done it already where one program has the store.
        db.migrations().apply().await.expect("applied").into_result().expect("complete");
        assert!(db.migrations().plan().await.expect("planned").is_empty(), "{mode:?}");
        assert!(full::Cup::by_101().place("A").id(1).exists(&db).await.expect("built"), "{mode:?}");
        assert_clean(&db, &format!("{mode:?}")).await;
    }
}

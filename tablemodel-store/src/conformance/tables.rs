//! Clauses of tables: creating, naming, listing, deleting.
//!
//! Rows are looked at only to see whose they are.

use super::{
    Broken,
    bench::{Bench, n},
    broken::{ensure, ensure_eq, refused, refused_at},
};
use crate::{Action, KeyRange, StoreErrorKind::*, key::RowKey};

type Checked = Result<(), Broken>;

pub(super) async fn a_created_table_is_listed_and_empty(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    ensure_eq!(bench.listed().await?, std::slice::from_ref(&table.name), "the tables listed");
    ensure_eq!(table.rows(&table.query(KeyRange::table())).await?, [], "the rows of a new table");
    Ok(())
}

pub(super) async fn a_table_cannot_be_created_twice_in_any_case(bench: &Bench) -> Checked {
    let name = bench.table().await?.name;
    for again in [name.clone(), name.to_uppercase(), name.to_lowercase()] {
        refused(bench.store().create_table(&again).await, TableExists, &format!("creating `{again}` again"))?;
    }
    ensure_eq!(bench.listed().await?, [name], "the tables listed");
    Ok(())
}

pub(super) async fn a_name_keeps_its_case_and_is_found_in_any(bench: &Bench) -> Checked {
    let mut table = bench.table().await?;
    table.insert("p", "r", n(1)).await?;
    let given = table.name.clone();
    for name in [given.to_uppercase(), given.to_lowercase()] {
        table.name = name;
        ensure_eq!(table.properties("p", "r").await?, Some(n(1)), "a row through `{}`", table.name);
        ensure_eq!(table.rows(&table.query(KeyRange::table())).await?.len(), 1, "rows through `{}`", table.name);
        table.act("p", "r", Action::InsertOrReplace(n(1))).await?;
    }
    ensure_eq!(bench.listed().await?, std::slice::from_ref(&given), "the tables listed");
    bench.store().delete_table(&given.to_uppercase()).await?;
    ensure!(bench.listed().await?.is_empty(), "a table must be deleted by its name in another case");
    Ok(())
}

pub(super) async fn names_are_listed_in_order_of_their_lower_case(bench: &Bench) -> Checked {
    let prefix = bench.name();
    let [b, a, c] = ["B", "a", "C"].map(|end| format!("{prefix}{end}"));
    for name in [&b, &a, &c] {
        bench.store().create_table(name).await?;
    }
    ensure_eq!(bench.listed().await?, [a, b, c], "the tables listed");
    Ok(())
}

pub(super) async fn names_that_break_the_rules_are_refused(bench: &Bench) -> Checked {
    let long = "a".repeat(64);
    let names = ["", "a", "ab", &long, "1abc", "a-b", "a_b", "a b", "a.b", "abc/", "\u{e4}bc", "ab\u{e4}", "abc\0"];
    for name in names.into_iter().chain(["tables", "Tables", "TABLES"]) {
        refused(bench.store().create_table(name).await, InvalidInput, &format!("creating a table named {name:?}"))?;
    }
    Ok(())
}

pub(super) async fn names_at_the_bounds_of_length_are_taken(bench: &Bench) -> Checked {
    let longest = format!("{:a<63}", bench.name());
    bench.store().create_table(&longest).await?;
    let shortest = shortest(bench).await?;
    for name in [shortest, longest] {
        let listed = bench.store().list_tables().await;
        bench.store().delete_table(&name).await?;
        ensure!(listed?.contains(&name), "`{name}` must be listed");
    }
    Ok(())
}

/// Makes a table of three letters that nobody has: there is no room for the name of the clause, so one may be somebody's.
async fn shortest(bench: &Bench) -> Result<String, Broken> {
    let listed = bench.store().list_tables().await?;
    for end in ('0'..='9').chain('a'..='z') {
        let name = format!("Cf{end}");
        if listed.iter().any(|there| there.eq_ignore_ascii_case(&name)) {
            continue;
        }
        match bench.store().create_table(&name).await {
            Ok(()) => return Ok(name),
            Err(error) if error.kind() == TableExists => {} // another run was faster
            Err(error) => return Err(error.into()),
        }
    }
    Err(Broken::new("all tables `Cf0` to `Cfz` are there: delete one that is left of a run that was cut short"))
}

pub(super) async fn a_deleted_table_is_gone_with_its_rows(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(1)).await?;
    bench.store().delete_table(&table.name).await?;
    ensure!(bench.listed().await?.is_empty(), "a deleted table must not be listed");
    refused(table.get("p", "r").await, TableNotFound, "reading a row of a deleted table")?;
    refused(bench.store().delete_table(&table.name).await, TableNotFound, "deleting it again")?;
    Ok(())
}

pub(super) async fn a_deleted_tables_name_is_free_at_once(bench: &Bench) -> Checked {
    let table = bench.table().await?;
    table.insert("p", "r", n(1)).await?;
    bench.store().delete_table(&table.name).await?;
    bench.store().create_table(&table.name).await?;
    ensure_eq!(table.get("p", "r").await?, None, "a row of the old table in the new one");
    ensure_eq!(table.rows(&table.query(KeyRange::table())).await?, [], "the rows of the new table");
    table.insert("p", "r", n(2)).await?;
    Ok(())
}

pub(super) async fn a_missing_table_cannot_be_deleted(bench: &Bench) -> Checked {
    let name = bench.name();
    refused(bench.store().delete_table(&name).await, TableNotFound, "deleting a table that never was")?;
    Ok(())
}

pub(super) async fn every_call_on_a_missing_table_says_so(bench: &Bench) -> Checked {
    let mut table = bench.table().await?;
    table.name = bench.name();
    refused(table.get("p", "r").await, TableNotFound, "a point read")?;
    refused(table.page(&table.query(KeyRange::table())).await, TableNotFound, "a query")?;
    let key = RowKey::new("p", "r");
    for (what, told) in [("a point read told at once", table.tells_at_once(&key)), ("a row shown", table.shows(&key))] {
        if let Some(told) = told {
            refused(told, TableNotFound, what)?;
        }
    }
    if let Some(told) = table.show_page(&table.query(KeyRange::table())) {
        refused(told, TableNotFound, "a page shown")?;
    }
    let commit = table.commit(table.batch("p").with("r", Action::Insert(n(1)))).await;
    refused_at(commit, TableNotFound, (0, 0), "a commit")
}

pub(super) async fn tables_do_not_share_rows(bench: &Bench) -> Checked {
    let (one, other) = (bench.table().await?, bench.table().await?);
    one.insert("p", "r", n(1)).await?;
    other.insert("p", "r", n(2)).await?;
    other.insert("p", "s", n(3)).await?;
    ensure_eq!(one.properties("p", "r").await?, Some(n(1)), "the row of the first table");
    bench.store().delete_table(&one.name).await?;
    let keys = other.keys(&other.query(KeyRange::table())).await?;
    ensure_eq!(keys, [RowKey::new("p", "r"), RowKey::new("p", "s")], "the rows of the other table");
    Ok(())
}

//! `cargo tablemodel`: the versions of what the two applications store, see `tablemodel::cli`.

tablemodel::cli!(examples::company::model::Company, examples::flights::model::Timetable);

//! The conformance suite: the port's contract as clauses, each a test that any store can be put to.
//!
//! Clauses speak to the store through [`TableStore`] alone; they need no runtime, clock, timer or task of their own.
//!
//! A store's own tests need one line, and get one test for each clause:
//!
//! ```
//! # use std::sync::Arc;
//! use tablemodel_store::{MemoryStore, TableStore, conformance_tests};
//!
//! async fn make() -> Arc<dyn TableStore> {
//!     Arc::new(MemoryStore::new())
//! }
//!
//! conformance_tests!(make);
//! # fn main() {}
//! ```
//!
//! A clause uses tables of its own name only, so that several may run at once on one account, and drops them.

mod bench;
mod broken;

mod across;
mod actions;
mod batches;
mod concurrency;
mod etags;
mod filters;
mod limits;
mod names;
mod order;
mod pages;
mod points;
mod projections;
mod ranges;
mod single;
mod tables;
mod values;

use std::{future::Future, pin::Pin, sync::Arc};

use crate::{Capabilities, TableStore};
pub use bench::Bench;
pub use broken::Broken;

/// The outcome of one clause, to be awaited.
pub type Run<'a> = Pin<Box<dyn Future<Output = Result<(), Broken>> + Send + 'a>>;

/// One clause of the contract.
#[derive(Debug, Clone, Copy)]
pub struct Clause {
    /// The part of the contract it belongs to.
    pub group: &'static str,
    /// What the store promises, as an identifier.
    pub name: &'static str,
    /// What a store must be able to do for the clause to apply.
    pub need: Need,
    /// Puts a store to it.
    pub run: fn(&Bench) -> Run<'_>,
}

/// What a store must declare in its [`Capabilities`] for a clause to apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    /// Nothing: the clause binds every store.
    Nothing,
    /// `atomic_across`.
    AtomicAcross,
    /// No `atomic_across`.
    SingleBatch,
    /// `ordered`.
    Ordered,
}

impl Need {
    /// Whether a store with these capabilities is bound.
    pub const fn is_met(self, capabilities: &Capabilities) -> bool {
        match self {
            Self::Nothing => true,
            Self::AtomicAcross => capabilities.atomic_across,
            Self::SingleBatch => !capabilities.atomic_across,
            Self::Ordered => capabilities.ordered,
        }
    }
}

/// How a store did.
#[derive(Debug, Clone, Default)]
pub struct Report {
    /// The clauses that held, as `group::name`.
    pub held: Vec<String>,
    /// The clauses that did not apply, with what they need.
    pub skipped: Vec<(String, Need)>,
    /// The clauses that were broken, and how.
    pub broken: Vec<(String, Broken)>,
}

impl Clause {
    /// `group::name`.
    pub fn path(&self) -> String {
        format!("{}::{}", self.group, self.name)
    }

    /// Puts `store` to this clause: `Some` outcome, or `None` where it does not apply. Its tables are dropped again.
    pub async fn check(&self, store: Arc<dyn TableStore>) -> Option<Result<(), Broken>> {
        if !self.need.is_met(&store.capabilities()) {
            return None;
        }
        let bench = Bench::new(store, &self.path());
        let outcome = (self.run)(&bench).await;
        bench.clear().await;
        Some(outcome)
    }
}

/// Puts stores made by `make`, a fresh one each time, to all clauses in turn.
pub async fn run_all<F>(make: impl Fn() -> F) -> Report
where
    F: Future<Output = Arc<dyn TableStore>>,
{
    let mut report = Report::default();
    for clause in CLAUSES {
        match clause.check(make().await).await {
            Some(Ok(())) => report.held.push(clause.path()),
            Some(Err(broken)) => report.broken.push((clause.path(), broken)),
            None => report.skipped.push((clause.path(), clause.need)),
        }
    }
    report
}

/// Runs one clause for [`conformance_tests!`](crate::conformance_tests); a skipped one says so on standard error.
#[doc(hidden)]
pub fn run_one(path: &str, store: Arc<dyn TableStore>) -> Run<'_> {
    Box::pin(async move {
        let Some(clause) = CLAUSES.iter().find(|clause| clause.path() == path) else {
            return Err(Broken::new(format!("there is no clause {path}")));
        };
        clause.check(store).await.unwrap_or_else(|| {
            eprintln!("skipped {path}: the store does not declare {:?}", clause.need);
            Ok(())
        })
    })
}

/// The one list of clauses: `group Need { clauses }`, handed to the macro `$then`.
#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_clauses {
    ($then:ident $args:tt) => {
        $crate::$then! { $args
            tables Nothing {
                a_created_table_is_listed_and_empty,
                a_table_cannot_be_created_twice_in_any_case,
                a_name_keeps_its_case_and_is_found_in_any,
                names_are_listed_in_order_of_their_lower_case,
                names_that_break_the_rules_are_refused,
                names_at_the_bounds_of_length_are_taken,
                a_deleted_table_is_gone_with_its_rows,
                a_deleted_tables_name_is_free_at_once,
                a_missing_table_cannot_be_deleted,
                every_call_on_a_missing_table_says_so,
                tables_do_not_share_rows,
            }
            points Nothing {
                a_missing_row_is_none,
                a_row_is_found_by_its_exact_keys_only,
                a_row_reads_back_with_its_receipts_etag_and_timestamp,
                a_row_without_properties_is_a_row,
                a_point_read_shows_the_last_acknowledged_write,
                a_row_told_at_once_is_the_row,
                a_row_shown_is_the_row,
            }
            actions Nothing {
                an_insert_needs_a_missing_row,
                a_replace_needs_an_existing_row,
                a_replace_obeys_its_etag,
                a_replace_leaves_no_old_property,
                a_merge_needs_an_existing_row,
                a_merge_obeys_its_etag,
                a_merge_keeps_what_it_does_not_name,
                a_merge_of_nothing_is_a_write,
                a_merge_may_change_a_propertys_type,
                a_merge_sets_what_is_empty_or_zero,
                a_merged_row_obeys_the_limit_of_properties,
                a_merged_row_obeys_the_limit_of_bytes,
                an_insert_or_replace_takes_any_state,
                an_insert_or_merge_takes_any_state,
                a_delete_needs_an_existing_row,
                a_delete_obeys_its_etag,
                an_etag_of_another_row_meets_no_condition,
                an_etag_of_no_store_meets_no_condition,
                the_timestamp_is_of_the_last_write,
            }
            batches Nothing {
                a_batch_of_every_action_commits_as_one,
                a_failing_operation_undoes_the_batch_and_is_named,
                an_invalid_operation_undoes_the_batch_and_is_named,
                a_merge_over_a_limit_undoes_the_batch_and_is_named,
                an_empty_batch_is_refused,
                no_batches_at_all_are_nothing_to_do,
                a_batch_may_have_100_operations_and_no_more,
                a_batch_may_have_4_mib_and_no_more,
                a_row_may_come_once_and_its_second_operation_is_named,
                rows_that_differ_in_case_are_two,
                operations_need_no_order,
                receipts_come_in_the_order_of_operations,
                a_patient_commit_is_a_commit,
                an_owned_commit_is_a_commit,
            }
            across AtomicAcross {
                batches_of_several_tables_and_partitions_commit_as_one,
                a_failing_batch_undoes_the_others_and_is_named,
                an_invalid_batch_undoes_the_others_and_is_named,
                a_missing_table_undoes_the_others_and_is_named,
                a_row_may_come_once_over_all_batches,
                a_partition_may_come_in_several_batches,
                one_of_many_inserts_over_partitions_wins,
                commits_over_partitions_do_not_mix,
                a_patient_commit_of_several_batches_is_one,
                an_owned_commit_of_several_batches_is_one,
            }
            single SingleBatch {
                several_batches_are_unsupported_and_write_nothing,
            }
            limits Nothing {
                keys_may_have_1024_utf16_units_and_no_more,
                a_string_may_have_32768_utf16_units_and_no_more,
                a_binary_may_have_64_kib_and_no_more,
                a_time_may_lie_between_1601_and_9999_only,
                a_row_may_have_252_properties_and_no_more,
                a_row_may_have_1_mib_and_no_more,
                a_limit_binds_every_action_that_writes,
            }
            names Nothing {
                forbidden_characters_in_keys_are_refused,
                unusual_characters_in_keys_are_taken,
                empty_keys_are_keys,
                property_names_are_identifiers,
                property_names_may_have_255_utf16_units_and_no_more,
                property_names_are_compared_with_case,
                property_names_of_the_system_are_refused,
            }
            values Nothing {
                binaries_come_back_as_written,
                booleans_come_back_as_written,
                times_come_back_to_the_tick,
                doubles_come_back_to_the_bit,
                guids_come_back_as_written,
                int32s_come_back_as_written,
                int64s_come_back_as_written,
                strings_come_back_as_written,
                strings_that_xml_cannot_carry_come_back_or_are_refused,
                queries_give_what_point_reads_give,
            }
            order Ordered {
                rows_come_by_partition_key_then_row_key,
                keys_order_by_utf16_units,
                order_holds_over_pages,
            }
            ranges Nothing {
                a_partition_is_read_without_its_neighbours,
                every_pair_of_row_bounds_gives_the_rows_between,
                bounds_order_by_utf16_units,
                empty_and_inverted_ranges_give_nothing,
                bounds_need_not_be_legal_keys,
                one_exact_row_can_be_queried,
                a_whole_table_is_read,
                a_slice_of_a_table_begins_after_a_key,
                a_slice_of_a_table_ends_before_a_partition,
                slices_of_a_table_order_by_utf16_units,
            }
            filters Nothing {
                comparisons_hold_for_every_type,
                a_missing_property_satisfies_no_comparison,
                another_type_satisfies_no_comparison,
                not_and_or_combine,
                text_compares_by_utf16_units,
                nan_compares_as_ieee_says,
                keys_and_timestamp_can_be_compared,
                a_filter_narrows_a_range,
                a_filtered_query_finds_rare_rows_over_pages,
                a_query_makes_15_comparisons_and_no_more,
            }
            projections Nothing {
                only_selected_properties_come,
                a_selection_of_nothing_still_gives_keys_and_etag,
                a_filter_may_use_what_is_not_selected,
            }
            pages Nothing {
                a_limit_outside_1_to_1000_is_refused,
                a_page_never_exceeds_its_limit,
                pages_give_each_row_once_for_any_limit,
                the_last_page_has_no_continuation,
                a_range_and_a_selection_hold_over_pages,
                no_page_loses_large_rows,
                more_than_1000_rows_come_in_several_pages,
                the_limit_may_change_between_pages,
                deletes_between_pages_lose_no_other_row,
                inserts_between_pages_repeat_no_row,
                a_continuation_of_another_query_is_refused,
                a_continuation_of_nobody_is_refused,
                pages_shown_hold_the_rows,
                a_page_shown_ends_at_the_row_where_it_is_told_to,
                a_page_is_not_shown_where_a_query_is_refused,
            }
            etags Nothing {
                every_write_gives_a_new_etag,
                a_failed_write_leaves_the_etag,
                a_row_deleted_and_inserted_again_has_a_new_etag,
                a_table_deleted_and_made_again_repeats_no_etag,
                the_rows_of_a_batch_have_etags_of_their_own,
                an_etag_survives_its_text,
            }
            concurrency Nothing {
                one_of_many_inserts_wins,
                one_of_many_conditional_writers_wins,
                counters_lose_no_update,
                batches_do_not_mix,
                a_reader_sees_all_of_a_batch_or_nothing,
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_table {
    (() $($group:ident $need:ident { $($clause:ident,)* })*) => {
        /// All clauses, in the order in which they are best read.
        // A constant would be compiled, with every clause, once more wherever it is named.
        pub static CLAUSES: &[Clause] = &[$($(
            Clause {
                group: stringify!($group),
                name: stringify!($clause),
                need: Need::$need,
                run: |bench| Box::pin($group::$clause(bench)),
            },
        )*)*];
    };
}

__conformance_clauses!(__conformance_table());

/// Makes a test of each clause, in a module for each group.
///
/// The argument is a path of an `async fn() -> Arc<dyn TableStore>` that makes a fresh store. The crate that uses
/// this needs `tokio` with the features `macros` and `rt`. A clause that does not apply to the store says so.
#[macro_export]
macro_rules! conformance_tests {
    ($make:path) => {
        async fn __conformance_store() -> ::std::sync::Arc<dyn $crate::TableStore> {
            $make().await
        }

        $crate::__conformance_clauses!(__conformance_test_modules());
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __conformance_test_modules {
    (() $($group:ident $need:ident { $($clause:ident,)* })*) => {$(
        mod $group {
            $(
                #[tokio::test]
                async fn $clause() -> Result<(), $crate::conformance::Broken> {
                    let path = concat!(stringify!($group), "::", stringify!($clause));
                    $crate::conformance::run_one(path, super::__conformance_store().await).await
                }
            )*
        }
    )*};
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::MemoryStore;

    #[test]
    fn no_clause_sees_the_tables_of_another() {
        let store = Arc::new(MemoryStore::new());
        let prefixes: Vec<_> = CLAUSES.iter().map(|clause| Bench::new(store.clone(), &clause.path()).name()).collect();
        for (at, one) in prefixes.iter().enumerate() {
            crate::validate::table_name(one).unwrap();
            let one = one.trim_end_matches("X0").to_lowercase();
            let sharing = prefixes.iter().skip(at + 1).filter(|other| other.to_lowercase().starts_with(&one));
            assert_eq!(sharing.count(), 0, "{one}");
        }
    }
}

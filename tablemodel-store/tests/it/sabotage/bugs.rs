//! The planted bugs, and the clauses that must catch each.
//!
//! What a bug does is written in `writes`, `values`, `rows`, `queries` and `tables`.

use super::{Bug, Twist, queries::*, rows::*, tables::*, values::*, writes::*};

const fn bug(name: &'static str, caught_by: &'static [&'static str], twist: Twist) -> Bug {
    Bug { name, caught_by, twist }
}

pub(super) const BUGS: &[Bug] = &[
    bug(
        "If-Match is ignored",
        &[
            "actions::a_replace_obeys_its_etag",
            "actions::a_merge_obeys_its_etag",
            "actions::a_delete_obeys_its_etag",
            "actions::an_etag_of_another_row_meets_no_condition",
            "actions::an_etag_of_no_store_meets_no_condition",
            "etags::a_row_deleted_and_inserted_again_has_a_new_etag",
            "etags::a_table_deleted_and_made_again_repeats_no_etag",
            "concurrency::one_of_many_conditional_writers_wins",
            "batches::a_failing_operation_undoes_the_batch_and_is_named",
        ],
        Twist::Batches(ignore_if_match),
    ),
    bug(
        "a row told at once lacks its properties",
        &["points::a_row_told_at_once_is_the_row"],
        Twist::AtOnce(told_without_properties),
    ),
    bug(
        "a row is shown without its properties",
        &["points::a_row_shown_is_the_row"],
        Twist::Shown(shown_without_properties),
    ),
    bug(
        "the last row of a page is not shown",
        &["pages::pages_shown_hold_the_rows"],
        Twist::ShownPage(shown_without_the_last),
    ),
    bug(
        "a page shown goes on after it is told to stop",
        &["pages::a_page_shown_ends_at_the_row_where_it_is_told_to"],
        Twist::ShownOn,
    ),
    bug("any limit is shown", &["pages::a_page_is_not_shown_where_a_query_is_refused"], Twist::ShownFreely),
    bug("the first page is shown again and again", &["pages::pages_shown_hold_the_rows"], Twist::ShownAgain),
    bug(
        "an insert replaces",
        &["actions::an_insert_needs_a_missing_row", "concurrency::one_of_many_inserts_wins"],
        Twist::Batches(insert_replaces),
    ),
    bug("a replace inserts", &["actions::a_replace_needs_an_existing_row"], Twist::Batches(replace_inserts)),
    bug("a merge inserts", &["actions::a_merge_needs_an_existing_row"], Twist::Batches(merge_inserts)),
    bug("a merge replaces", &["actions::a_merge_keeps_what_it_does_not_name"], Twist::Batches(merge_replaces)),
    bug("a replace merges", &["actions::a_replace_leaves_no_old_property"], Twist::Batches(replace_merges)),
    bug(
        "an insert-or-replace merges",
        &["actions::an_insert_or_replace_takes_any_state"],
        Twist::Batches(upsert_merges),
    ),
    bug(
        "an insert-or-merge replaces",
        &["actions::an_insert_or_merge_takes_any_state"],
        Twist::Batches(upsert_replaces),
    ),
    bug(
        "errors of missing rows are swallowed",
        &["actions::a_delete_needs_an_existing_row"],
        Twist::CommitError(swallow),
    ),
    bug(
        "a merge of nothing does nothing",
        &["actions::a_merge_of_nothing_is_a_write"],
        Twist::Commit(skip_empty_merges),
    ),
    bug("a merge keeps the old type", &["actions::a_merge_may_change_a_propertys_type"], Twist::Commit(keep_types)),
    bug(
        "merged rows are cut to their limits",
        &["actions::a_merged_row_obeys_the_limit_of_properties", "actions::a_merged_row_obeys_the_limit_of_bytes"],
        Twist::CommitError(swallow_too_large),
    ),
    bug(
        "the last operation of a batch is lost",
        &["batches::a_batch_of_every_action_commits_as_one"],
        Twist::Batches(lose_last_operation),
    ),
    bug(
        "operations are committed one by one",
        &[
            "batches::a_failing_operation_undoes_the_batch_and_is_named",
            "batches::an_invalid_operation_undoes_the_batch_and_is_named",
            "batches::a_batch_may_have_100_operations_and_no_more",
            "batches::a_batch_may_have_4_mib_and_no_more",
            "batches::a_row_may_come_once_and_its_second_operation_is_named",
            "across::a_failing_batch_undoes_the_others_and_is_named",
            "across::an_invalid_batch_undoes_the_others_and_is_named",
            "across::a_missing_table_undoes_the_others_and_is_named",
            "across::a_row_may_come_once_over_all_batches",
            "concurrency::batches_do_not_mix",
        ],
        Twist::Commit(one_by_one),
    ),
    bug(
        "readers see half of a batch",
        &["concurrency::a_reader_sees_all_of_a_batch_or_nothing"],
        Twist::Commit(in_two_steps),
    ),
    bug(
        "the failing operation is not named",
        &[
            "batches::a_failing_operation_undoes_the_batch_and_is_named",
            "tables::every_call_on_a_missing_table_says_so",
        ],
        Twist::CommitError(name_nothing),
    ),
    bug(
        "the first operation is always named",
        &[
            "batches::a_failing_operation_undoes_the_batch_and_is_named",
            "batches::an_invalid_operation_undoes_the_batch_and_is_named",
            "batches::a_row_may_come_once_and_its_second_operation_is_named",
        ],
        Twist::CommitError(name_first),
    ),
    bug("an empty batch is taken", &["batches::an_empty_batch_is_refused"], Twist::Batches(drop_empty_batches)),
    bug(
        "a commit of nothing is refused",
        &["batches::no_batches_at_all_are_nothing_to_do"],
        Twist::Commit(refuse_nothing),
    ),
    bug(
        "only the last operation on a row counts",
        &["batches::a_row_may_come_once_and_its_second_operation_is_named"],
        Twist::Batches(keep_last_of_row),
    ),
    bug(
        "row keys are compared without case",
        &["batches::rows_that_differ_in_case_are_two", "points::a_row_is_found_by_its_exact_keys_only"],
        Twist::Batches(lower_case_keys),
    ),
    bug("operations must be in order", &["batches::operations_need_no_order"], Twist::Commit(refuse_unordered)),
    bug(
        "a patient commit loses its last operation",
        &["batches::a_patient_commit_is_a_commit"],
        Twist::Patient(lose_last_operation),
    ),
    bug(
        "an owned commit loses its last operation",
        &["batches::an_owned_commit_is_a_commit"],
        Twist::Owned(lose_last_operation),
    ),
    bug(
        "an owned commit carries out operations one by one",
        &["batches::an_owned_commit_is_a_commit"],
        Twist::OwnedCommit(one_by_one),
    ),
    bug(
        "receipts come reversed",
        &["batches::receipts_come_in_the_order_of_operations"],
        Twist::Receipts(reverse_receipts),
    ),
    bug(
        "receipts carry another ETag than the row",
        &["points::a_row_reads_back_with_its_receipts_etag_and_timestamp", "etags::every_write_gives_a_new_etag"],
        Twist::Receipts(other_etags),
    ),
    bug(
        "only the first of several batches is committed",
        &[
            "across::batches_of_several_tables_and_partitions_commit_as_one",
            "across::a_partition_may_come_in_several_batches",
        ],
        Twist::Batches(first_batch_only),
    ),
    bug(
        "several batches are checked together and committed apart",
        &["across::one_of_many_inserts_over_partitions_wins", "across::commits_over_partitions_do_not_mix"],
        Twist::Commit(check_all_then_one_by_one),
    ),
    bug(
        "several batches are cut to one where one is the limit",
        &["single::several_batches_are_unsupported_and_write_nothing"],
        Twist::OneBatchOnly(first_batch_only),
    ),
    bug(
        "what is too long or too large is cut",
        &[
            "limits::keys_may_have_1024_utf16_units_and_no_more",
            "limits::a_string_may_have_32768_utf16_units_and_no_more",
            "limits::a_binary_may_have_64_kib_and_no_more",
            "limits::a_row_may_have_252_properties_and_no_more",
            "limits::a_limit_binds_every_action_that_writes",
            "names::property_names_may_have_255_utf16_units_and_no_more",
        ],
        Twist::Batches(cut),
    ),
    bug(
        "lengths are counted in bytes",
        &[
            "limits::keys_may_have_1024_utf16_units_and_no_more",
            "limits::a_string_may_have_32768_utf16_units_and_no_more",
        ],
        Twist::Commit(count_bytes),
    ),
    bug("a row of 1 MiB is refused", &["limits::a_row_may_have_1_mib_and_no_more"], Twist::Commit(refuse_full_rows)),
    bug("times are clamped", &["limits::a_time_may_lie_between_1601_and_9999_only"], Twist::Batches(clamp_times)),
    bug(
        "bad characters are dropped",
        &["names::forbidden_characters_in_keys_are_refused", "names::property_names_are_identifiers"],
        Twist::Batches(drop_bad_characters),
    ),
    bug(
        "non-ASCII keys are lost",
        &["names::unusual_characters_in_keys_are_taken", "order::keys_order_by_utf16_units"],
        Twist::Commit(refuse_non_ascii_keys),
    ),
    bug("empty keys are refused", &["names::empty_keys_are_keys"], Twist::Commit(refuse_empty_keys)),
    bug(
        "property names are compared without case",
        &["names::property_names_are_compared_with_case"],
        Twist::Batches(lower_case_names),
    ),
    bug(
        "properties of the system are ignored",
        &["names::property_names_of_the_system_are_refused"],
        Twist::Batches(drop_system_properties),
    ),
    bug("rows without properties are not kept", &["points::a_row_without_properties_is_a_row"], Twist::Got(drop_bare)),
    bug("a missing row is an error", &["points::a_missing_row_is_none"], Twist::Got(missing_is_error)),
    bug(
        "keys are joined without a separator",
        &["points::a_row_is_found_by_its_exact_keys_only"],
        Twist::Batches(join_keys),
    ),
    bug("point reads ignore case", &["points::a_row_is_found_by_its_exact_keys_only"], Twist::Key(lower_case_key)),
    bug(
        "only the first write of a number is kept",
        &["points::a_point_read_shows_the_last_acknowledged_write"],
        Twist::Batches(upsert_odd_only),
    ),
    bug(
        "ETags are hashes of the content",
        &[
            "etags::every_write_gives_a_new_etag",
            "etags::a_row_deleted_and_inserted_again_has_a_new_etag",
            "etags::a_table_deleted_and_made_again_repeats_no_etag",
        ],
        Twist::Row(hash_etag),
    ),
    bug(
        "all rows of a batch share an ETag that changes with the last",
        &["etags::the_rows_of_a_batch_have_etags_of_their_own"],
        Twist::Row(coarse_etag),
    ),
    bug("a failed write changes the ETag", &["etags::a_failed_write_leaves_the_etag"], Twist::Commit(touch_on_failure)),
    bug("ETags do not survive their text", &["etags::an_etag_survives_its_text"], Twist::Row(spaced_etag)),
    bug(
        "conditions are checked before the write, not with it",
        &[
            "concurrency::one_of_many_inserts_wins",
            "concurrency::one_of_many_conditional_writers_wins",
            "concurrency::counters_lose_no_update",
        ],
        Twist::Commit(check_then_act),
    ),
    bug("doubles that are not numbers are lost", &["values::doubles_come_back_to_the_bit"], Twist::Row(lose_nan)),
    bug("-0.0 becomes 0.0", &["values::doubles_come_back_to_the_bit"], Twist::Row(lose_negative_zero)),
    bug("times are cut to microseconds", &["values::times_come_back_to_the_tick"], Twist::Row(cut_ticks)),
    bug("Int32 becomes Int64", &["values::int32s_come_back_as_written"], Twist::Row(widen_int32)),
    bug("Int64 passes through a double", &["values::int64s_come_back_as_written"], Twist::Row(round_int64)),
    bug("empty strings are dropped", &["values::strings_come_back_as_written"], Twist::Row(drop_empty_strings)),
    bug("empty binaries are dropped", &["values::binaries_come_back_as_written"], Twist::Row(drop_empty_binaries)),
    bug("false is dropped", &["values::booleans_come_back_as_written"], Twist::Row(drop_false)),
    bug("the nil guid is dropped", &["values::guids_come_back_as_written"], Twist::Row(drop_nil)),
    bug("queries give no guids", &["values::queries_give_what_point_reads_give"], Twist::Page(no_guids)),
    bug(
        "rows of a page come reversed",
        &["order::rows_come_by_partition_key_then_row_key", "order::order_holds_over_pages"],
        Twist::Page(reverse_rows),
    ),
    bug("rows of a page come in UTF-8 order", &["order::keys_order_by_utf16_units"], Twist::Page(utf8_order)),
    bug("bounds are compared as UTF-8", &["ranges::bounds_order_by_utf16_units"], Twist::Pages(utf8_bounds)),
    bug(
        "upper bounds are inclusive",
        &["ranges::every_pair_of_row_bounds_gives_the_rows_between", "ranges::empty_and_inverted_ranges_give_nothing"],
        Twist::Query(upper_inclusive),
    ),
    bug(
        "lower bounds are exclusive",
        &["ranges::every_pair_of_row_bounds_gives_the_rows_between", "ranges::one_exact_row_can_be_queried"],
        Twist::Query(lower_exclusive),
    ),
    bug(
        "partitions are matched by prefix",
        &["ranges::a_partition_is_read_without_its_neighbours"],
        Twist::Query(by_prefix),
    ),
    bug("bounds must be legal keys", &["ranges::bounds_need_not_be_legal_keys"], Twist::Pages(legal_bounds)),
    bug(
        "slices of tables are not cut",
        &["ranges::a_slice_of_a_table_begins_after_a_key", "ranges::a_slice_of_a_table_ends_before_a_partition"],
        Twist::Query(whole_table),
    ),
    bug("table scans lose the empty partition", &["ranges::a_whole_table_is_read"], Twist::Page(lose_empty_partition)),
    bug(
        "filters are ignored",
        &[
            "filters::comparisons_hold_for_every_type",
            "filters::not_and_or_combine",
            "filters::a_filter_narrows_a_range",
            "filters::a_filtered_query_finds_rare_rows_over_pages",
            "filters::a_query_makes_15_comparisons_and_no_more",
            "filters::text_compares_by_utf16_units",
            "filters::nan_compares_as_ieee_says",
            "filters::keys_and_timestamp_can_be_compared",
            "projections::a_filter_may_use_what_is_not_selected",
        ],
        Twist::Query(no_filter),
    ),
    bug("not eq becomes ne", &["filters::a_missing_property_satisfies_no_comparison"], Twist::Query(push_not_down)),
    bug("Int32 compares with Int64", &["filters::another_type_satisfies_no_comparison"], Twist::Query(mix_integers)),
    bug("selections are ignored", &["projections::only_selected_properties_come"], Twist::Query(select_all)),
    bug(
        "a selection of nothing selects all",
        &["projections::a_selection_of_nothing_still_gives_keys_and_etag"],
        Twist::Query(select_something),
    ),
    bug(
        "filters see only what is selected",
        &["projections::a_filter_may_use_what_is_not_selected"],
        Twist::Page(filter_after_select),
    ),
    bug(
        "limits are ignored",
        &["pages::a_limit_outside_1_to_1000_is_refused", "pages::a_page_never_exceeds_its_limit"],
        Twist::Query(no_limit),
    ),
    bug("pages have no end", &["pages::more_than_1000_rows_come_in_several_pages"], Twist::Pages(one_page)),
    bug(
        "continuations are inclusive",
        &["pages::pages_give_each_row_once_for_any_limit", "pages::inserts_between_pages_repeat_no_row"],
        Twist::Pages(inclusive),
    ),
    bug("continuations skip a row", &["pages::pages_give_each_row_once_for_any_limit"], Twist::Pages(skipping)),
    bug(
        "continuations count rows",
        &["pages::deletes_between_pages_lose_no_other_row", "pages::inserts_between_pages_repeat_no_row"],
        Twist::Pages(by_offset),
    ),
    bug("continuations remember the limit", &["pages::the_limit_may_change_between_pages"], Twist::Pages(sticky_limit)),
    bug(
        "continuations of other queries begin anew",
        &["pages::a_continuation_of_another_query_is_refused", "pages::a_continuation_of_nobody_is_refused"],
        Twist::Pages(forgiving),
    ),
    bug("queries end after a page", &["pages::more_than_1000_rows_come_in_several_pages"], Twist::Page(end)),
    bug("pages are empty and have no last", &["pages::the_limit_may_change_between_pages"], Twist::Page(go_on)),
    bug("the last page has a continuation", &["pages::the_last_page_has_no_continuation"], Twist::Pages(never_end)),
    bug(
        "tables are created twice",
        &["tables::a_table_cannot_be_created_twice_in_any_case"],
        Twist::Create(create_twice),
    ),
    bug(
        "bad names of tables are mended",
        &["tables::names_that_break_the_rules_are_refused"],
        Twist::Create(mend_name),
    ),
    bug(
        "long names of tables are refused",
        &["tables::names_at_the_bounds_of_length_are_taken"],
        Twist::Create(short_names),
    ),
    bug(
        "deleted tables stay",
        &["tables::a_deleted_table_is_gone_with_its_rows", "tables::a_missing_table_cannot_be_deleted"],
        Twist::Delete(keep_table),
    ),
    bug(
        "the names of deleted tables stay taken",
        &["tables::a_deleted_tables_name_is_free_at_once"],
        Twist::Delete(keep_name),
    ),
    bug("deletes of tables never fail", &["tables::a_missing_table_cannot_be_deleted"], Twist::Delete(delete_anything)),
    bug("tables are not listed", &["tables::a_created_table_is_listed_and_empty"], Twist::List(Vec::clear)),
    bug(
        "tables are listed in lower case",
        &["tables::a_name_keeps_its_case_and_is_found_in_any"],
        Twist::List(lower_names),
    ),
    bug(
        "tables are listed in order of their case",
        &["tables::names_are_listed_in_order_of_their_lower_case"],
        Twist::List(|names| names.sort()),
    ),
    bug("all tables are one", &["tables::tables_do_not_share_rows"], Twist::Name(one_table)),
];

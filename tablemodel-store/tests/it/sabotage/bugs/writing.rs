//! Bugs of what is written: of actions, batches, limits, names, ETags, and of calls at once.
//!
//! Those of what is read are in `reading`.

use super::{
    super::{Bug, Twist, rows::*, undone::*, values::*, writes::*},
    bug,
};

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
        "the ETag `*` is that of any row",
        &["actions::an_etag_of_no_store_meets_no_condition"],
        Twist::Batches(star_matches),
    ),
    bug(
        "the timestamp stays that of the insert",
        &["actions::the_timestamp_is_of_the_last_write"],
        Twist::OldTimes { of_rows: true, of_receipts: true },
    ),
    bug(
        "the timestamp of a row stays that of its insert, and receipts tell another",
        &["actions::the_timestamp_is_of_the_last_write"],
        Twist::OldTimes { of_rows: true, of_receipts: false },
    ),
    bug(
        "receipts tell the timestamp of the insert",
        &["actions::the_timestamp_is_of_the_last_write"],
        Twist::OldTimes { of_rows: false, of_receipts: true },
    ),
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
    bug(
        "a merge of nothing into nothing does nothing",
        &["actions::a_merge_of_nothing_is_a_write"],
        Twist::Commit(skip_merges_into_empty_rows),
    ),
    bug("a merge keeps the old type", &["actions::a_merge_may_change_a_propertys_type"], Twist::Commit(keep_types)),
    bug(
        "a merge keeps a text where an empty one is set",
        &["actions::a_merge_sets_what_is_empty_or_zero"],
        Twist::Batches(merge_keeps_text_at_empty),
    ),
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
        "deletes before an operation that fails stay",
        &[
            "batches::a_failing_operation_undoes_the_batch_and_is_named",
            "across::a_failing_batch_undoes_the_others_and_is_named",
        ],
        Twist::Commit(deletes_stay),
    ),
    bug(
        "what stands before a merge that is too large stays",
        &[
            "batches::a_merge_over_a_limit_undoes_the_batch_and_is_named",
            "across::a_failing_batch_undoes_the_others_and_is_named",
        ],
        Twist::Commit(all_stays_before_a_merge_too_large),
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
        "a patient commit of several batches is one for each",
        &["across::a_patient_commit_of_several_batches_is_one"],
        Twist::PatientCommit(batch_by_batch),
    ),
    bug(
        "an owned commit of several batches is one for each",
        &["across::an_owned_commit_of_several_batches_is_one"],
        Twist::OwnedCommit(batch_by_batch),
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
        "a patient commit of several batches is one for each where one is the limit",
        &["single::several_batches_are_unsupported_and_write_nothing"],
        Twist::OneBatchPatient(batch_by_batch),
    ),
    bug(
        "an owned commit of several batches is one for each where one is the limit",
        &["single::several_batches_are_unsupported_and_write_nothing"],
        Twist::OneBatchOwned(batch_by_batch),
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
];

//! Overlap of templates: a `false` is certain, and the usual templates are told apart.

use proptest::prelude::*;
use tablemodel::key::{
    Codec, Part,
    Segment::{Literal, Part as P},
    Template,
};

use super::hostile::{case, key, pick};

const ID: Part = Part::of::<u32>("id", "Id", Codec::Width(6));
const YEAR: Part = Part::of::<u16>("year", "Year", Codec::Width(4));
const A: Part = Part::of::<String>("a", "A", Codec::Plain);
const B: Part = Part::of::<String>("b", "B", Codec::Plain);
const DAY: Part = Part::of::<tablemodel_store::DateTime>("at", "At", Codec::Day);
const FLAG: Part = Part::of::<bool>("flag", "Flag", Codec::Plain);
const BYTES: Part = Part::of::<Vec<u8>>("bytes", "Bytes", Codec::Plain);
const RAW: Part = Part::of::<String>("raw", "Raw", Codec::Raw);

const APART: [(Template, Template); 10] = [
    (Template(&[Literal("empid_"), P(ID)]), Template(&[Literal("email_"), P(A)])),
    (Template(&[Literal("empid_"), P(ID)]), Template(&[Literal("empid_"), P(ID), Literal("_"), P(YEAR)])),
    (Template(&[P(A), Literal("!"), P(B)]), Template(&[P(A)])),
    (Template(&[P(A)]), Template(&[P(A), Literal("!")])),
    (Template(&[P(ID)]), Template(&[P(YEAR)])),
    (Template(&[P(DAY)]), Template(&[P(ID), P(YEAR)])),
    (Template(&[P(FLAG)]), Template(&[P(ID)])),
    (Template(&[Literal("é"), P(A)]), Template(&[Literal("è"), P(A)])),
    (Template(&[P(A), Literal("!x")]), Template(&[P(A), Literal("!y")])),
    (Template(&[P(BYTES)]), Template(&[Literal("g"), P(A)])),
];

const TOGETHER: [(Template, Template); 11] = [
    (Template(&[P(A)]), Template(&[Literal("email_"), P(B)])),
    (Template(&[P(A)]), Template(&[P(A)])),
    (Template(&[P(A), Literal("_"), P(B)]), Template(&[P(A)])),
    (Template(&[P(A), Literal("_"), P(B)]), Template(&[P(A), Literal("-"), P(B)])),
    (Template(&[P(ID)]), Template(&[P(A)])),
    (Template(&[Literal("0"), P(A)]), Template(&[P(ID)])),
    (Template(&[P(A)]), Template(&[P(FLAG)])),
    (Template(&[P(A)]), Template(&[Literal("é")])),
    (Template(&[P(A)]), Template(&[P(BYTES)])),
    (Template(&[P(BYTES)]), Template(&[Literal("$")])),
    (Template(&[P(RAW)]), Template(&[P(A), Literal("!"), P(B)])),
];

const _: () = {
    let mut at = 0;
    while at < APART.len() {
        assert!(!APART[at].0.may_overlap(&APART[at].1), "evaluated when compiling");
        at += 1;
    }
};

#[test]
fn the_usual_templates_are_told_apart() {
    for (a, b) in APART {
        assert!(!a.may_overlap(&b) && !b.may_overlap(&a), "{a:?}, {b:?}");
    }
}

#[test]
fn templates_with_a_common_key_overlap() {
    for (a, b) in TOGETHER {
        assert!(a.may_overlap(&b) && b.may_overlap(&a), "{a:?}, {b:?}");
    }
}

#[test]
fn a_template_too_long_to_look_at_may_overlap() {
    let long: &'static str = "x".repeat(300).leak();
    let template = Template(vec![Literal(long)].leak());
    assert!(template.may_overlap(&Template(&[Literal("x")])));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(10_000))]

    #[test]
    fn templates_said_to_be_apart_never_share_a_key(a in case(), b in case(), picks in any::<[usize; 3]>()) {
        let may = a.template.may_overlap(&b.template);
        prop_assert_eq!(may, b.template.may_overlap(&a.template));
        prop_assert!(a.template.may_overlap(&a.template));
        let key = key(&a.template, &pick(&a.pools, picks));
        if let Some(key) = key.filter(|key| b.template.decode(key).is_ok()) {
            prop_assert!(may, "{key:?}");
        }
    }
}

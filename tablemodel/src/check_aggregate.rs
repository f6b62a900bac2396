//! Checks of aggregates that generated constants make while the user's program compiles: of one aggregate against its target,
//! and of all aggregates of a model.
//!
//! As in `check`: each fails by a panic with one sentence, and nothing here runs later.

use crate::{
    check::{fail, stands_in},
    key::{Segment, Template},
    schema::{AggregateSchema, EntitySchema, same, same_entity_type},
};

/// Fails unless the aggregate, which entity `of` adds to, is kept in one row, under a key that its sources tell.
#[track_caller]
pub const fn check_aggregate(of: &str, aggregate: &AggregateSchema) {
    let target = aggregate.target;
    if target.has_mistakes() {
        return;
    }
    check_no_more(aggregate, target);
    let mut templates: &[&Template] = &[&target.partition, &target.row];
    while let [template, tail @ ..] = templates {
        let mut segments = template.0;
        while let [segment, rest @ ..] = segments {
            if let Segment::Part(part) = segment
                && aggregate.source_of(part.property).is_none()
            {
                let name = target.entity_type;
                let remedy = "`: say in `key(..)` which field of `";
                fail(&["the key of `", name, "` holds `", part.field, remedy, of, "` that is"])
            }
            segments = rest;
        }
        templates = tail;
    }
}

/// That only fields of the target's key are told.
#[track_caller]
const fn check_no_more(aggregate: &AggregateSchema, target: &EntitySchema) {
    let mut pairs = aggregate.key;
    while let [(property, _), tail @ ..] = pairs {
        if !stands_in(&target.partition, property) && !stands_in(&target.row, property) {
            let remedy = "`: remove it from `key(..)`";
            fail(&["field `", field_of(target, property), "` is in no key of `", target.entity_type, remedy])
        }
        pairs = tail;
    }
}

/// The field that is stored under this name.
const fn field_of(schema: &EntitySchema, name: &'static str) -> &'static str {
    let mut at = 0;
    while at < schema.property_count() {
        let property = schema.property_at(at);
        if same(property.property, name) {
            return property.field;
        }
        at += 1;
    }
    name
}

/// Fails unless each property that holds an aggregate has one source in the model, and each aggregate its target.
#[track_caller]
pub const fn check_aggregates(model: &[&EntitySchema]) {
    let mut entities = model;
    while let [entity, tail @ ..] = entities {
        if entity.has_mistakes() {
            return;
        }
        entities = tail;
    }
    let mut entities = model;
    while let [entity, tail @ ..] = entities {
        check_targets(entity, model);
        let mut fields = entity.fields;
        while let [field, rest @ ..] = fields {
            // One that holds an aggregate is one property.
            if let [property] = field.properties()
                && property.aggregate
            {
                check_sources(entity, property.property, property.field, model);
            }
            fields = rest;
        }
        let mut sharded = entity.sharded;
        while let [property, rest @ ..] = sharded {
            check_sources(entity, property.property, property.field, model);
            sharded = rest;
        }
        entities = tail;
    }
}

#[track_caller]
const fn check_targets(entity: &EntitySchema, model: &[&EntitySchema]) {
    let mut aggregates = entity.aggregates;
    while let [aggregate, tail @ ..] = aggregates {
        let (mut others, mut is_listed) = (model, false);
        while let [other, rest @ ..] = others {
            is_listed |= same_entity_type(other, aggregate.target);
            others = rest;
        }
        if !is_listed {
            let target = aggregate.target.entity_type;
            fail(&["`", target, "` holds an aggregate of `", entity.entity_type, "`, and the model does not list it"])
        }
        aggregates = tail;
    }
}

#[track_caller]
const fn check_sources(target: &EntitySchema, property: &str, field: &str, model: &[&EntitySchema]) {
    let (mut entities, mut sources) = (model, 0);
    while let [entity, tail @ ..] = entities {
        let mut aggregates = entity.aggregates;
        while let [aggregate, rest @ ..] = aggregates {
            if same_entity_type(aggregate.target, target) && same(aggregate.into, property) {
                sources += 1;
            }
            aggregates = rest;
        }
        entities = tail;
    }
    if sources == 0 {
        fail(&["`", field, "` of `", target.entity_type, "` holds an aggregate, and no entity of the model adds to it"])
    }
    if sources > 1 {
        fail(&["`", field, "` of `", target.entity_type, "` holds an aggregate, and more than one adds to it"])
    }
}

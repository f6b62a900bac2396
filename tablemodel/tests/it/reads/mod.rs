//! What reads promise: every path gives what a naive filter and sort gives, however the store pages its answers.

#[macro_use]
mod terminals;

mod buckets;
mod explain;
mod fixture;
mod foreign;
mod indexes;
mod mixed;
mod pages;
mod paths;
mod scans;
mod selected;
mod shards;
mod shown;

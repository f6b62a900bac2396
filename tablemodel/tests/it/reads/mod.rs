//! What reads promise: every path gives what a naive filter and sort gives, however the store pages its answers.

#[macro_use]
mod terminals;

mod buckets;
mod explain;
mod fixture;
mod foreign;
mod indexes;
mod lookup;
mod mixed;
mod mixed_pages;
mod pages;
mod parts;
mod paths;
mod scan_pages;
mod scans;
mod selected;
mod shards;
mod shown;

#![doc = include_str!("../docs/paths.md")]
//!
//! A page: paths have their code in `path`, cursors in `cursor`, reading in `read`.

//! The embedded store: its contract, and what a file adds to it.
//!
//! Crashes are `kill`'s and `power_cut`'s.

mod conformance;

//! `TestDatabase` as applications use it: relays and tasks beside a test, programs that are waited for, faults that take time or act.
//!
//! Where a mistake would be a test that never ends, a thread watches over it.

mod faults;
mod migrations;
mod relays;
mod turns;

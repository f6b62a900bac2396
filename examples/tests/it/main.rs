//! The example programs run and keep their promises, and the flights' check finds what is wrong.
//! The programs assert their own claims; here they are run.

mod flights;
mod rooms;

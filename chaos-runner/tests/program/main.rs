//! The program as a whole, with a small client under test (`examples/courier.rs`).
//!
//! One test binary, so that the program's libraries are linked once.

mod bench;
mod exact;
mod exit_codes;
mod explore;
mod forms;
mod leftovers;
mod reports;
mod slow_start;
mod toxiproxy;

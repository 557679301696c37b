//! What people and programs read of a run.
//!
//! Reports read histories and findings; none reads the run.

pub mod console;

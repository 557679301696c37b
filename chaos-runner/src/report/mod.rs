//! What people and programs read of a run.
//!
//! Owns the console, JSON, `JUnit` and GitHub reports. Reports read histories and findings; none reads
//! the run.

pub mod console;
pub mod diagram;
pub mod explore;
pub mod failure;
pub mod github;
pub mod json;
pub mod junit;
pub mod summary;
pub mod words;

#[cfg(test)]
mod tests;

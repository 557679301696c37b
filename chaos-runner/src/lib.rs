//! Proves that an SMS client delivers each message exactly once, whatever the network, the
//! provider and its own process do.

pub mod bug_kind;
pub mod checks;
pub mod cli;
pub mod client_file;
pub mod diagnosis;
pub mod diagnostic;
mod document;
pub mod exit_code;
pub mod fault;
pub mod history;
pub mod intent;
pub mod judgement;
pub mod plan;
pub mod policy;
pub mod reach;
pub mod report;
pub mod result;
pub mod run;
pub mod scenario;
pub mod schema;
pub mod severity;
pub mod suite;
pub mod verdict;

//! The reference client: a transactional outbox that sends each SMS exactly once.
//!
//! It knows a provider by its URL and nothing else. The map, from the pure core outwards:
//!
//! | module | owns |
//! |---|---|
//! | [`message`] | one SMS, its request bytes and their fingerprint |
//! | [`classify`] | what an exchange means: definitive, recoverable, ambiguous, throttled |
//! | [`backoff`], [`retry_after`], [`rule`], [`policy`] | when to try again, when to stop, what may be claimed |
//! | [`clock`], [`config`] | the time, the environment |
//! | [`store`] | the tables, on SQLite or PostgreSQL |
//! | [`provider`] | HTTP: one call is one request |
//! | [`delivery`], [`worker`] | one claimed row; the loop over all of them |
//! | [`receipts`] | the worker's own HTTP server |
//!
//! ```
//! use outbox_worker::classify::{Class, Exchange, classify};
//!
//! // The answer was lost on its way back. The phone may buzz, or not: nobody here knows,
//! // and so it is neither a success nor a failure.
//! let lost = classify(&Exchange::Lost("connection reset".to_owned()));
//! assert_eq!(lost.class, Class::Ambiguous);
//!
//! // No connection was made: whatever comes, this attempt has delivered nothing.
//! let refused = classify(&Exchange::NeverConnected("connection refused".to_owned()));
//! assert_eq!(refused.class, Class::Recoverable);
//! assert!(!refused.touched);
//! ```

pub mod backoff;
pub mod classify;
pub mod clock;
pub mod config;
pub mod delivery;
pub mod message;
pub mod policy;
pub mod provider;
pub mod receipts;
pub mod retry_after;
pub mod rule;
pub mod store;
pub mod worker;

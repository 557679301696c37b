//! An SMS provider to test against.

pub mod attempts;
pub mod duration;
pub mod event;
pub mod fault;
pub mod intent;

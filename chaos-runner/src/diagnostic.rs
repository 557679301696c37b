//! What is wrong with a file, as people see it. Owned by [`stub_provider::diagnostic`], since a
//! profile is such a file too.

pub(crate) use stub_provider::diagnostic::did_you_mean;
pub use stub_provider::diagnostic::{FileError, line_of, source};

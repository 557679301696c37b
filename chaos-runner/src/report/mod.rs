//! What people and programs read of a run.
//!
//! Owns the console, JSON, `JUnit`, GitHub, SVG and HTML reports. Reports read histories and
//! findings; none reads the run.

pub mod console;
pub mod diagram;
pub mod explore;
pub mod failure;
pub mod github;
pub mod html;
pub mod json;
pub mod junit;
pub mod sequence;
pub mod summary;
pub mod svg;
pub mod words;

#[cfg(test)]
mod tests;

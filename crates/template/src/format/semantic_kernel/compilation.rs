//! A compiled source.

use super::ast::Program;

/// A compiled source.
#[derive(Debug)]
pub(super) struct Compilation {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) program: Program,
    pub(super) trusted: Vec<String>,
}

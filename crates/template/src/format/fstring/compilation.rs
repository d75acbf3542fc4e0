//! A compiled source.

use super::ast::Program;

#[derive(Debug)]
pub(super) struct Compilation {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) program: Program,
}

//! A compiled set of sources.

use super::ast::Program;
use crate::{Missing, References};

#[derive(Debug)]
pub(super) struct MustacheTemplate {
    pub(super) sources: Vec<Compilation>,
    pub(super) references: References,
    pub(super) missing: Missing,
    pub(super) escape_html: bool,
}

#[derive(Debug)]
pub(super) struct Compilation {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) library: bool,
    pub(super) program: Program,
}

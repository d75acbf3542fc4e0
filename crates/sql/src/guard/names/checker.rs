//! The state of a check of names: the query, the catalogue and the open scopes.

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

/// Walks the tree with the scopes that are open.
pub(super) struct Checker<'a> {
    pub(super) text: &'a TokenizedQuery<'a>,
    pub(super) catalogue: Option<&'a Catalogue>,
    /// Scopes from the outermost to the one at hand.
    pub(super) frames: Vec<ScopeFrame>,
    /// Tables that are read.
    pub(super) read: Vec<String>,
    /// Fields of composite values and names of arguments, which are names but no columns: known by
    /// their address.
    pub(super) fields: HashSet<*const Expr>,
    /// Columns of tables of the catalogue by their place in it.
    pub(super) known: HashMap<usize, Rc<Columns>>,
}

impl Checker<'_> {
    /// A name as the server compares it: PostgreSQL folds what is not quoted, the others
    /// do not look at the case of letters.
    pub(super) fn key(&self, ident: &Ident) -> String {
        // MySQL compares names of tables by the case rules of its file system, which the guard
        // cannot know; ignoring case never rejects a valid name.
        match (self.text.dialect, ident.quote_style) {
            (SqlDialect::PostgreSql, Some(_)) => truncate_identifier(&ident.value).to_owned(),
            (SqlDialect::PostgreSql, None) => {
                truncate_identifier(&ident.value).to_ascii_lowercase()
            }
            _ => ident.value.to_lowercase(),
        }
    }

    /// A name of the catalogue as the server compares it.
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

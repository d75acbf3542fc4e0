//! Checks that tables and columns exist in the catalogue.
//!
//! A false rejection is worse than a later error from the database. In uncertain scopes (functions
//! in FROM, virtual tables, expressions without a name), any name therefore passes.

mod checker;
mod columns;
mod frame;
mod scope;
mod tables;

use std::ops::ControlFlow;

use foldhash::{HashMap, HashSet};
use sqlparser::ast::{
    AccessExpr, Expr, FunctionArg, FunctionArguments, ObjectNamePart, Query, Select, SelectItem,
    SelectItemQualifiedWildcardKind, TableFactor, Visit, Visitor,
};

use self::checker::Checker;
use self::frame::ScopeFrame;
use super::GuardError;
use super::text::TokenizedQuery;
use crate::Catalogue;

pub(super) use self::frame::constraint;

/// Returns the tables that a query reads, in order of appearance.
///
/// # Errors
/// Fails for an unknown or ambiguous table or column.
pub(super) fn check(
    text: &TokenizedQuery<'_>,
    query: &Query,
    catalogue: Option<&Catalogue>,
) -> Result<Vec<String>, GuardError> {
    let mut checker = Checker {
        text,
        catalogue,
        frames: Vec::new(),
        read: Vec::new(),
        fields: HashSet::default(),
        known: HashMap::default(),
    };
    // The first error ends the walk, because models repair one problem better than a list.
    match query.visit(&mut checker) {
        ControlFlow::Break(error) => Err(*error),
        ControlFlow::Continue(()) => Ok(checker.read),
    }
}

type GuardFlow = ControlFlow<Box<GuardError>>;

fn verdict(result: Result<(), GuardError>) -> GuardFlow {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

impl Checker<'_> {
    /// Checks that `t.*` refers to a table of the query.
    fn check_wildcards(&self, select: &Select) -> Result<(), GuardError> {
        for item in &select.projection {
            let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) =
                item
            else {
                continue;
            };
            let [ObjectNamePart::Identifier(ident)] = name.0.as_slice() else {
                continue;
            };
            if self.source_named(&self.key(ident)).is_none() && !self.is_open() {
                return Err(self.unknown_source(ident));
            }
        }
        Ok(())
    }

    /// Records argument names such as `days` in `f(days => 3)`, which are not columns.
    fn note_argument_names(&mut self, arguments: &[FunctionArg]) {
        for argument in arguments {
            if let FunctionArg::ExprNamed { name, .. } = argument {
                self.fields.insert(std::ptr::from_ref(name));
            }
        }
    }

    fn check_expr(&mut self, expr: &Expr) -> Result<(), GuardError> {
        match expr {
            Expr::CompoundFieldAccess { access_chain, .. } => {
                for access in access_chain {
                    if let AccessExpr::Dot(field) = access {
                        self.fields.insert(std::ptr::from_ref(field));
                    }
                }
                Ok(())
            }
            Expr::Function(function) => {
                if let FunctionArguments::List(list) = &function.args {
                    self.note_argument_names(&list.args);
                }
                Ok(())
            }
            Expr::Identifier(_) if self.fields.contains(&std::ptr::from_ref(expr)) => Ok(()),
            Expr::Identifier(ident) => self.check_bare(ident),
            Expr::CompoundIdentifier(parts) => self.check_qualified(parts),
            _ => Ok(()),
        }
    }
}

impl Visitor for Checker<'_> {
    type Break = Box<GuardError>;

    fn pre_visit_query(&mut self, query: &Query) -> GuardFlow {
        let frame = self.frame_of(query);
        self.frames.push(frame);
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> GuardFlow {
        self.frames.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> GuardFlow {
        let is_body = self.frames.last().is_some_and(|frame| frame.is_of(select));
        if !is_body {
            // Each part of a set operation has its own tables.
            let mut frame = ScopeFrame::default();
            self.fill(&mut frame, select);
            self.frames.push(frame);
        }
        match self.catalogue {
            Some(_) => verdict(self.check_wildcards(select)),
            None => ControlFlow::Continue(()),
        }
    }

    fn post_visit_select(&mut self, select: &Select) -> GuardFlow {
        // The body's scope stays open for ORDER BY and is closed with the query.
        let is_part = |frame: &ScopeFrame| frame.is_of(select) && !frame.is_query;
        if self.frames.last().is_some_and(is_part) {
            self.frames.pop();
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> GuardFlow {
        match factor {
            TableFactor::Table {
                name, args: None, ..
            } => verdict(self.read_table(name)),
            TableFactor::Table {
                args: Some(arguments),
                ..
            } => {
                self.note_argument_names(&arguments.args);
                ControlFlow::Continue(())
            }
            TableFactor::Function { args, .. } => {
                self.note_argument_names(args);
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> GuardFlow {
        match self.catalogue {
            Some(_) => verdict(self.check_expr(expr)),
            None => ControlFlow::Continue(()),
        }
    }
}

//! One scope of a query: its tables, columns and aliases.

use std::rc::Rc;

use foldhash::{HashMap, HashSet};
use sqlparser::ast::{
    Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Query, Select,
};

/// Columns of an item in FROM.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// Names as declared, in order.
    pub(super) names: Vec<String>,
    /// Names in the form in which they are compared.
    pub(super) keys: HashSet<String>,
}

/// An item in FROM.
#[derive(Clone, Debug)]
pub(super) struct ScopeSource {
    /// Name in the form in which it is compared, if it has one.
    pub(super) name: Option<String>,
    /// Its columns; `None` if they are unknown, so that any name passes.
    pub(super) columns: Option<Rc<Columns>>,
}

/// Names that a SELECT or a whole query makes visible.
#[derive(Debug, Default)]
pub(super) struct ScopeFrame {
    /// Tables of the WITH clause.
    pub(super) ctes: HashMap<String, Option<Rc<Columns>>>,
    /// Items of the FROM clause.
    pub(super) sources: Vec<ScopeSource>,
    /// Output column names, which ORDER BY and GROUP BY may use.
    pub(super) aliases: HashSet<String>,
    /// Columns merged by USING.
    pub(super) merged: HashSet<String>,
    /// Whether any name may be a column, because an item in FROM is unknown.
    pub(super) open: bool,
    /// Whether NATURAL merges columns.
    pub(super) natural: bool,
    /// Whether it is the scope of a query, not of one part of a set operation.
    pub(super) is_query: bool,
    /// Whether it hides the tables of the outer scope, as in WITH, and in FROM without LATERAL.
    pub(super) hides_parent: bool,
    /// Addresses of nested queries that cannot see its tables.
    pub(super) isolated: HashSet<*const Query>,
    pub(super) select: Option<*const Select>,
}

impl ScopeFrame {
    pub(super) fn is_of(&self, select: &Select) -> bool {
        self.select == Some(std::ptr::from_ref(select))
    }
}

/// Returns the columns without duplicates. A query that repeatedly joins a table with itself would
/// otherwise double them each time.
pub(super) fn columns_from(names: Vec<(String, String)>) -> Columns {
    let mut columns = Columns::default();
    for (name, key) in names {
        if columns.keys.insert(key) {
            columns.names.push(name);
        }
    }
    columns
}

/// Returns the last part of a name, if it is a plain identifier.
pub(super) fn last(name: &ObjectName) -> Option<&Ident> {
    match name.0.last()? {
        ObjectNamePart::Identifier(ident) => Some(ident),
        ObjectNamePart::Function(_) => None,
    }
}

/// Returns the constraint of a join.
pub(in crate::guard) fn constraint(operator: &JoinOperator) -> Option<&JoinConstraint> {
    match operator {
        JoinOperator::Join(constraint)
        | JoinOperator::Inner(constraint)
        | JoinOperator::Left(constraint)
        | JoinOperator::LeftOuter(constraint)
        | JoinOperator::Right(constraint)
        | JoinOperator::RightOuter(constraint)
        | JoinOperator::FullOuter(constraint)
        | JoinOperator::CrossJoin(constraint)
        | JoinOperator::StraightJoin(constraint) => Some(constraint),
        _ => None,
    }
}

//! One scope of a query: its tables, columns and aliases.

use std::rc::Rc;

use foldhash::{HashMap, HashSet};
use sqlparser::ast::{
    Ident, JoinConstraint, JoinOperator, ObjectName, ObjectNamePart, Query, Select,
};

/// Columns that something in FROM has.
#[derive(Clone, Debug, Default)]
pub(super) struct Columns {
    /// As their author wrote them, in order.
    pub(super) names: Vec<String>,
    /// As they are compared.
    pub(super) keys: HashSet<String>,
}

/// Something in FROM.
#[derive(Clone, Debug)]
pub(super) struct ScopeSource {
    /// What it is called, as it is compared; nothing where it has no name.
    pub(super) name: Option<String>,
    /// Its columns; `None` where any name may be one.
    pub(super) columns: Option<Rc<Columns>>,
}

/// What a SELECT or a whole query adds to what is visible.
#[derive(Debug, Default)]
pub(super) struct ScopeFrame {
    /// Tables of WITH.
    pub(super) ctes: HashMap<String, Option<Rc<Columns>>>,
    /// Tables of FROM.
    pub(super) sources: Vec<ScopeSource>,
    /// Names of the result's columns: ORDER BY and GROUP BY may use them.
    pub(super) aliases: HashSet<String>,
    /// Columns that USING makes one of.
    pub(super) merged: HashSet<String>,
    /// Whether any name may be a column, because something in FROM is not known.
    pub(super) open: bool,
    /// Whether NATURAL makes one column of several.
    pub(super) natural: bool,
    /// Whether it is the scope of a query, not of one part of a set operation.
    pub(super) is_query: bool,
    /// Whether the tables of the scope around are not visible: in WITH, and in FROM
    /// without LATERAL.
    pub(super) hides_parent: bool,
    /// Queries in it that do not see its tables, by their address.
    pub(super) isolated: HashSet<*const Query>,
    pub(super) select: Option<*const Select>,
}

impl ScopeFrame {
    pub(super) fn is_of(&self, select: &Select) -> bool {
        self.select == Some(std::ptr::from_ref(select))
    }
}

/// Columns of names and keys, each once: a query that joins a table with itself over and
/// over would double them each time.
pub(super) fn columns_from(names: Vec<(String, String)>) -> Columns {
    let mut columns = Columns::default();
    for (name, key) in names {
        if columns.keys.insert(key) {
            columns.names.push(name);
        }
    }
    columns
}

/// The last part of a name, where it is a plain one.
pub(super) fn last(name: &ObjectName) -> Option<&Ident> {
    match name.0.last()? {
        ObjectNamePart::Identifier(ident) => Some(ident),
        ObjectNamePart::Function(_) => None,
    }
}

/// What a join says of its two sides.
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

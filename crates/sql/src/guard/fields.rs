//! Detects fields that are function calls. PostgreSQL interprets `s.f` and `(x).f` as `f(x)` if the
//! row has no field `f` (manual, 38.5.3), so a name after a dot could read a file.
//!
//! Tables, subqueries and joins are rows, and few functions accept rows. A function in FROM that
//! returns a single value stands for that value, and many functions accept such values. After the
//! name of such a function, the guard therefore accepts only its own column, or a name that is
//! either not a function or an allowed one.
//!
//! If several items share a name, the meaning depends on the scope. It is certain for names outside
//! FROM that are defined in the FROM of the same SELECT. It is uncertain in join conditions, in
//! functions and subqueries of FROM, and for names that only an outer SELECT defines. There, every
//! function in FROM with that name must have the column, in any scope.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, Expr, Ident, JoinConstraint, ObjectName, Query, Select, SetExpr, TableAlias,
    TableFactor, TableWithJoins, Visit, Visitor,
};

use super::names::constraint;
use super::{Policy, functions};
use crate::SqlDialect;

/// Fields of the rows that system functions return.
const KNOWN: [&str; 8] = ["f1", "f2", "f3", "f4", "f5", "key", "ordinality", "value"];

/// Allowed functions that return rows with several columns, so that their alias is composite.
const COMPOSITE: [&str; 15] = [
    "each",
    "json_each",
    "json_each_text",
    "json_populate_record",
    "json_populate_recordset",
    "json_to_record",
    "json_to_recordset",
    "jsonb_each",
    "jsonb_each_text",
    "jsonb_populate_record",
    "jsonb_populate_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
    "ts_debug",
    "ts_parse",
];

/// Allowed functions whose single column has a fixed name, regardless of the alias.
const NAMED: [&str; 4] = [
    "json_array_elements",
    "json_array_elements_text",
    "jsonb_array_elements",
    "jsonb_array_elements_text",
];

/// Name of that column.
const VALUE: &str = "value";

/// Kind of an item in FROM.
#[derive(Clone, Debug)]
enum FromItem {
    /// A row.
    Row,
    /// A single value, with the possible names of its column.
    Value(HashSet<String>),
}

/// Names defined in the FROM of one SELECT.
#[derive(Clone, Debug, Default)]
struct FromScope {
    sources: HashMap<String, FromItem>,
    /// Whether some names are visible only in a part of it, because they are inside a named join.
    partly: bool,
}

/// Finds names after dots that may be calls, while walking a query once.
pub(super) struct FieldCalls<'a> {
    policy: &'a Policy,
    /// All single-value functions in FROM.
    values: HashMap<String, Vec<HashSet<String>>>,
    /// Scopes around the current node.
    open: Vec<OpenScope>,
    /// Join conditions, by address.
    conditions: HashSet<*const Expr>,
}

/// A scope, and the current depth inside its FROM.
#[derive(Default)]
struct OpenScope {
    scope: FromScope,
    in_from: usize,
}

/// Returns the first name in a query that may be a call of a function that is not allowed.
pub(super) fn find_field_call(
    query: &Query,
    dialect: SqlDialect,
    policy: &Policy,
) -> Option<Ident> {
    if dialect != SqlDialect::PostgreSql {
        return None;
    }
    let mut all = TableFunctionCollector(HashMap::new());
    // Two walks are needed, because a name may be used before the FROM that defines it, for example
    // in a select list.
    let _ = query.visit(&mut all);
    let mut fields = FieldCalls {
        policy,
        values: all.0,
        open: Vec::new(),
        conditions: HashSet::new(),
    };
    match query.visit(&mut fields) {
        ControlFlow::Break(name) => Some(name),
        ControlFlow::Continue(()) => None,
    }
}

/// Collects all single-value functions in FROM.
struct TableFunctionCollector(HashMap<String, Vec<HashSet<String>>>);

impl Visitor for TableFunctionCollector {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if let Some((name, FromItem::Value(columns))) = source(factor) {
            self.0.entry(name).or_default().push(columns);
        }
        ControlFlow::Continue(())
    }
}

impl FieldCalls<'_> {
    fn may_call(&self, expr: &Expr) -> Option<Ident> {
        let may_be = |name: &&Ident| !is_harmless(&key(name), self.policy);
        let name = match expr {
            Expr::CompoundFieldAccess { access_chain, .. } => {
                access_chain.iter().filter_map(field).find(may_be)
            }
            Expr::CompoundIdentifier(parts) => {
                let [.., qualifier, name] = parts.as_slice() else {
                    return None;
                };
                let qualified = parts.len() > 2;
                let is_column = self.is_column(&key(qualifier), &key(name), qualified);
                Some(name).filter(may_be).filter(|_| !is_column)
            }
            _ => None,
        };
        name.cloned()
    }

    /// Returns whether the name can only be a column.
    // In doubt the answer is no, because a wrong yes would let a query read files.
    fn is_column(&self, qualifier: &str, name: &str, qualified: bool) -> bool {
        // No function in FROM has this name, so the qualifier is a row, and few functions accept
        // rows.
        let Some(values) = self.values.get(qualifier) else {
            return true;
        };
        let here = self
            .open
            .last()
            .filter(|open| !qualified && open.in_from == 0);
        let here = here.filter(|open| !open.scope.partly);
        match here.and_then(|open| open.scope.sources.get(qualifier)) {
            Some(FromItem::Row) => true,
            Some(FromItem::Value(columns)) => columns.contains(name),
            None => values.iter().all(|columns| columns.contains(name)),
        }
    }
}

impl Visitor for FieldCalls<'_> {
    type Break = Ident;

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Ident> {
        // ORDER BY has the scope of the SELECT.
        let scope = match query.body.as_ref() {
            SetExpr::Select(select) => scope_of(select),
            _ => FromScope::default(),
        };
        self.open.push(OpenScope { scope, in_from: 0 });
        ControlFlow::Continue(())
    }

    fn post_visit_query(&mut self, _: &Query) -> ControlFlow<Ident> {
        self.open.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<Ident> {
        let joins = select.from.iter().flat_map(conditions);
        self.conditions.extend(joins);
        let scope = scope_of(select);
        self.open.push(OpenScope { scope, in_from: 0 });
        ControlFlow::Continue(())
    }

    fn post_visit_select(&mut self, _: &Select) -> ControlFlow<Ident> {
        self.open.pop();
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<Ident> {
        if let TableFactor::NestedJoin {
            table_with_joins, ..
        } = factor
        {
            self.conditions.extend(conditions(table_with_joins));
        }
        self.enter(1);
        ControlFlow::Continue(())
    }

    fn post_visit_table_factor(&mut self, _: &TableFactor) -> ControlFlow<Ident> {
        self.enter(-1);
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Ident> {
        if self.conditions.contains(&std::ptr::from_ref(expr)) {
            self.enter(1);
        }
        match self.may_call(expr) {
            Some(name) => ControlFlow::Break(name),
            None => ControlFlow::Continue(()),
        }
    }

    fn post_visit_expr(&mut self, expr: &Expr) -> ControlFlow<Ident> {
        if self.conditions.contains(&std::ptr::from_ref(expr)) {
            self.enter(-1);
        }
        ControlFlow::Continue(())
    }
}

impl FieldCalls<'_> {
    fn enter(&mut self, by: isize) {
        if let Some(open) = self.open.last_mut() {
            open.in_from = open.in_from.saturating_add_signed(by);
        }
    }
}

fn scope_of(select: &Select) -> FromScope {
    let mut scope = FromScope::default();
    for table in &select.from {
        add(&mut scope, table);
    }
    scope
}

fn add(scope: &mut FromScope, table: &TableWithJoins) {
    let joined = table.joins.iter().map(|join| &join.relation);
    for factor in std::iter::once(&table.relation).chain(joined) {
        match factor {
            TableFactor::NestedJoin {
                table_with_joins,
                alias,
            } => {
                // The tables inside a named join are not visible outside it.
                scope.partly |= alias.is_some();
                add(scope, table_with_joins);
            }
            factor => {
                if let Some((name, source)) = source(factor) {
                    // A duplicate name is an error, or only one of the two is visible.
                    let known = scope.sources.insert(name, source);
                    scope.partly |= known.is_some();
                }
            }
        }
    }
}

fn conditions(table: &TableWithJoins) -> Vec<*const Expr> {
    let mut found = Vec::new();
    for join in &table.joins {
        if let Some(JoinConstraint::On(condition)) = constraint(&join.join_operator) {
            found.push(std::ptr::from_ref(condition));
        }
    }
    found
}

/// Returns the name and the kind of an item in FROM.
fn source(factor: &TableFactor) -> Option<(String, FromItem)> {
    match factor {
        TableFactor::Table {
            name,
            alias,
            args: Some(_),
            ..
        }
        | TableFactor::Function { name, alias, .. } => function(last(name)?, alias.as_ref()),
        TableFactor::UNNEST { alias, .. } => function(&Ident::new("unnest"), alias.as_ref()),
        TableFactor::Table { name, alias, .. } => {
            let called = alias.as_ref().map(|alias| &alias.name);
            Some((key(called.or(last(name))?), FromItem::Row))
        }
        TableFactor::Derived { alias, .. }
        | TableFactor::NestedJoin { alias, .. }
        | TableFactor::JsonTable { alias, .. }
        | TableFactor::XmlTable { alias, .. } => {
            let alias = alias.as_ref()?;
            Some((key(&alias.name), FromItem::Row))
        }
        _ => None,
    }
}

/// Returns the name of a function in FROM, and its single column. The column is named by the column
/// alias, or else by the function itself, or else by the table alias.
fn function(function: &Ident, alias: Option<&TableAlias>) -> Option<(String, FromItem)> {
    let name = key(function);
    let called = alias.map_or_else(|| name.clone(), |alias| key(&alias.name));
    if COMPOSITE.contains(&name.as_str()) {
        return Some((called, FromItem::Row));
    }
    // A column alias renames the only column. If there is no column alias, PostgreSQL names the
    // column after the table alias.
    let own = alias.into_iter().flat_map(|alias| &alias.columns);
    let mut columns: HashSet<String> = own.map(|column| key(&column.name)).collect();
    if columns.is_empty() {
        columns.insert(if NAMED.contains(&name.as_str()) {
            VALUE.to_owned()
        } else {
            called.clone()
        });
    }
    Some((called, FromItem::Value(columns)))
}

fn last(name: &ObjectName) -> Option<&Ident> {
    name.0.last()?.as_ident()
}

fn field(access: &AccessExpr) -> Option<&Ident> {
    match access {
        AccessExpr::Dot(Expr::Identifier(name)) => Some(name),
        AccessExpr::Dot(Expr::CompoundIdentifier(names)) => names.last(),
        _ => None,
    }
}

fn is_harmless(name: &str, policy: &Policy) -> bool {
    KNOWN.contains(&name)
        || functions::is_listed(SqlDialect::PostgreSql, name)
        || policy.functions.iter().any(|allowed| allowed == name)
}

/// Returns a name as PostgreSQL compares it.
fn key(name: &Ident) -> String {
    let folded = match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    };
    truncate_identifier(&folded).to_owned()
}

/// Truncates a name as PostgreSQL does: to 63 bytes, without splitting a character.
pub(super) fn truncate_identifier(name: &str) -> &str {
    const LONGEST: usize = 63;
    let mut end = name.len().min(LONGEST);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name.get(..end).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::{Policy, check};

    #[test]
    fn names_are_cut_as_the_server_cuts_them() {
        let long = "a".repeat(63);
        for (name, cut) in [
            ("abc".to_owned(), "abc".to_owned()),
            (long.clone() + "X", long),
            ("订".repeat(22), "订".repeat(21)),
            (
                "a".to_owned() + &"订".repeat(21),
                "a".to_owned() + &"订".repeat(20),
            ),
        ] {
            assert_eq!(truncate_identifier(&name), cut);
        }
    }

    #[test]
    fn names_behind_dots_are_columns_or_what_only_computes() {
        let long = "a".repeat(63);
        let far = format!(
            "SELECT (SELECT {long}Y.pg_read_file) FROM unnest(ARRAY['/etc/passwd']) AS {long}X, \
             (SELECT 1 AS pg_read_file) AS {long}Y"
        );
        for (sql, may) in [
            ("SELECT s.x FROM unnest(ARRAY[1]) AS s(x)", true),
            ("SELECT s.s FROM unnest(ARRAY[1]) AS s", true),
            ("SELECT unnest.unnest FROM unnest(ARRAY[1])", true),
            (
                "SELECT s.value FROM json_array_elements_text('[1]') AS s",
                true,
            ),
            ("SELECT s.lower FROM unnest(ARRAY['A']) AS s", true),
            (
                "SELECT g.day FROM generate_series(1, 2) AS g(day) ORDER BY g.day",
                true,
            ),
            // Each SELECT refers to its own FROM.
            (
                "SELECT s.amount, (SELECT max(s.d) FROM generate_series(1, 2) AS s(d)) FROM sales AS s",
                true,
            ),
            (
                "SELECT s.a FROM unnest(ARRAY[1]) AS s(a) UNION ALL SELECT s.b FROM unnest(ARRAY[1]) AS s(b)",
                true,
            ),
            // With a column alias, the table alias is not a column.
            (
                "SELECT pg_read_file.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS pg_read_file(x)",
                false,
            ),
            // The table alias is not a column either if the function names its own column.
            (
                "SELECT pg_read_file.pg_read_file FROM json_array_elements_text('[\"/etc/passwd\"]') AS pg_read_file",
                false,
            ),
            // Two scopes have the same alias.
            (
                "SELECT (SELECT s.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS s LIMIT 1) \
                 FROM unnest(ARRAY['x']) AS s(pg_read_file)",
                false,
            ),
            // Join conditions, functions and subqueries in FROM see only a part of FROM.
            (
                "SELECT 1 FROM unnest(ARRAY['/etc/passwd']) AS s WHERE EXISTS (SELECT 1 FROM orders o \
                 JOIN info i ON s.pg_read_file IS NULL CROSS JOIN users AS s)",
                false,
            ),
            (
                "SELECT 1 FROM unnest(ARRAY['/etc/passwd']) AS s WHERE EXISTS (SELECT 1 FROM \
                 lower(s.pg_read_file) AS z, users AS s)",
                false,
            ),
            (
                "SELECT 1 FROM unnest(ARRAY['/etc/passwd']) AS s WHERE EXISTS (SELECT s.pg_read_file FROM \
                 (users AS s CROSS JOIN orders) AS j)",
                false,
            ),
            (
                "SELECT 1 FROM unnest(ARRAY['PG_VERSION']) AS s ORDER BY s.pg_read_file",
                false,
            ),
            (&far, false),
        ] {
            let verdict = check(sql, SqlDialect::PostgreSql, None, &Policy::default());
            assert_eq!(verdict.is_ok(), may, "{sql}: {verdict:?}");
        }
    }
}

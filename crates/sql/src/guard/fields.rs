//! Fields that are calls: PostgreSQL takes `s.f` and `(x).f` for `f(x)` where the row has no field
//! `f` (manual, 38.5.3), so that a name behind a dot can read a file.
//!
//! Tables, sub-selects and joins are rows, and few functions take them; a function in FROM that
//! gives one value is that value, which many functions take. So behind the name of such a function
//! only its own column may stand, or what is no call, or a call of what only computes.
//!
//! Which of several things of one name is meant depends on the place. It is certain for names
//! outside of FROM that the same SELECT's FROM has. Elsewhere, in conditions of joins, in functions
//! and sub-selects of FROM, and where only a SELECT around has the name, all functions in FROM of
//! that name have to have the column, wherever they stand.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, Expr, Ident, JoinConstraint, ObjectName, Query, Select, SetExpr, TableAlias,
    TableFactor, TableWithJoins, Visit, Visitor,
};

use super::names::constraint;
use super::{Policy, functions};
use crate::SqlDialect;

/// Fields of rows that the system's functions give.
const KNOWN: [&str; 8] = ["f1", "f2", "f3", "f4", "f5", "key", "ordinality", "value"];

/// Functions on the list that give rows of more than one column: their alias is composite.
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

/// Functions on the list whose one column has a name of its own, whatever their alias is.
const NAMED: [&str; 4] = [
    "json_array_elements",
    "json_array_elements_text",
    "jsonb_array_elements",
    "jsonb_array_elements_text",
];

/// The column of these.
const VALUE: &str = "value";

/// Something in FROM.
#[derive(Clone, Debug)]
enum FromItem {
    /// A row.
    Row,
    /// One value, with the names of its column.
    Value(HashSet<String>),
}

/// What the FROM of one SELECT names.
#[derive(Clone, Debug, Default)]
struct FromScope {
    sources: HashMap<String, FromItem>,
    /// Some names are visible in a part of it only: within a join that has a name.
    partly: bool,
}

/// Names behind dots that may be calls: found by walking a query once.
pub(super) struct FieldCalls<'a> {
    policy: &'a Policy,
    /// All functions in FROM that give one value.
    values: HashMap<String, Vec<HashSet<String>>>,
    /// Where the walk is.
    open: Vec<OpenScope>,
    /// Conditions of joins, by their address.
    conditions: HashSet<*const Expr>,
}

/// The scope at hand, and how deep in its FROM the walk is.
#[derive(Default)]
struct OpenScope {
    scope: FromScope,
    in_from: usize,
}

/// The first name in a query that may be a call of what is not on the list.
pub(super) fn find_field_call(
    query: &Query,
    dialect: SqlDialect,
    policy: &Policy,
) -> Option<Ident> {
    if dialect != SqlDialect::PostgreSql {
        return None;
    }
    let mut all = TableFunctionCollector(HashMap::new());
    // Two walks: a name may be used before the walk reaches the FROM that defines it, for example
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

/// Collects all functions in FROM that give one value.
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

    /// Whether it cannot be anything but a column.
    // Errs towards "may be a call": a wrong "column" would let a query read files.
    fn is_column(&self, qualifier: &str, name: &str, qualified: bool) -> bool {
        // No function in FROM has this name: the qualifier is a row, and few functions take rows.
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
        // ORDER BY sees what the SELECT sees.
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
                // Behind a name of its own nothing of it can be seen.
                scope.partly |= alias.is_some();
                add(scope, table_with_joins);
            }
            factor => {
                if let Some((name, source)) = source(factor) {
                    // What is there twice is an error, or one of the two cannot be seen.
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

/// What something in FROM is called, and what it is.
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

/// A function in FROM. Its one column is called as its alias says; else, where the function itself
/// does not say, as the alias is.
fn function(function: &Ident, alias: Option<&TableAlias>) -> Option<(String, FromItem)> {
    let name = key(function);
    let called = alias.map_or_else(|| name.clone(), |alias| key(&alias.name));
    if COMPOSITE.contains(&name.as_str()) {
        return Some((called, FromItem::Row));
    }
    // A column alias renames the only column; without one PostgreSQL names it after the table
    // alias.
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

/// A name as PostgreSQL compares it.
fn key(name: &Ident) -> String {
    let folded = match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    };
    truncate_identifier(&folded).to_owned()
}

/// A name without what PostgreSQL cuts off: it keeps 63 bytes, and no part of a character.
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
            // Each SELECT means its own.
            (
                "SELECT s.amount, (SELECT max(s.d) FROM generate_series(1, 2) AS s(d)) FROM sales AS s",
                true,
            ),
            (
                "SELECT s.a FROM unnest(ARRAY[1]) AS s(a) UNION ALL SELECT s.b FROM unnest(ARRAY[1]) AS s(b)",
                true,
            ),
            // The name of the alias is no column where there is a list.
            (
                "SELECT pg_read_file.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS pg_read_file(x)",
                false,
            ),
            // Nor where the function names its column itself.
            (
                "SELECT pg_read_file.pg_read_file FROM json_array_elements_text('[\"/etc/passwd\"]') AS pg_read_file",
                false,
            ),
            // Two scopes with one alias.
            (
                "SELECT (SELECT s.pg_read_file FROM unnest(ARRAY['/etc/passwd']) AS s LIMIT 1) \
                 FROM unnest(ARRAY['x']) AS s(pg_read_file)",
                false,
            ),
            // What a condition of a join, a function or a sub-select in FROM sees is less than FROM
            // has.
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

//! Fields that are calls: PostgreSQL takes `(x).f` for `f(x)` where `x` has no field `f`
//! (manual, 38.5.3), so that a name behind a dot can read a file.
//!
//! Tables are composite, and few functions take them; what is no table may be a text, which many
//! functions take. So only names that cannot be a call, or a call of what only computes, may follow.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use sqlparser::ast::{
    AccessExpr, Expr, Ident, ObjectName, Query, TableAlias, TableFactor, Visit, Visitor,
};

use super::{Policy, functions};
use crate::Dialect;

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

/// Names of functions in FROM that give one value, and the columns that each may have.
#[derive(Debug, Default)]
pub(super) struct Fields {
    columns: HashMap<String, HashSet<String>>,
}

impl Fields {
    /// Reads all FROM clauses of a query; scopes are not told apart, which can only refuse more.
    pub(super) fn of(query: &Query, dialect: Dialect) -> Self {
        let mut fields = Fields::default();
        if dialect == Dialect::PostgreSql {
            let _ = query.visit(&mut fields);
        }
        fields
    }

    /// The name in this expression that may be a call of what is not on the list.
    pub(super) fn call<'a>(&self, expr: &'a Expr, policy: &Policy) -> Option<&'a Ident> {
        let may_be = |name: &&Ident| !is_harmless(&folded(name), policy);
        match expr {
            Expr::CompoundFieldAccess { access_chain, .. } => {
                access_chain.iter().filter_map(field).find(may_be)
            }
            Expr::CompoundIdentifier(parts) => {
                let [.., qualifier, name] = parts.as_slice() else {
                    return None;
                };
                let columns = self.columns.get(&folded(qualifier))?;
                Some(name).filter(|name| !columns.contains(&folded(name)) && may_be(name))
            }
            _ => None,
        }
    }

    fn add(&mut self, name: &ObjectName, alias: Option<&TableAlias>) {
        let Some(function) = name.0.last().and_then(|part| part.as_ident()) else {
            return;
        };
        if COMPOSITE.contains(&folded(function).as_str()) {
            return;
        }
        let called = alias.map_or(function, |alias| &alias.name);
        let columns = self.columns.entry(folded(called)).or_default();
        columns.extend([folded(function), folded(called)]);
        let own = alias.into_iter().flat_map(|alias| &alias.columns);
        columns.extend(own.map(|column| folded(&column.name)));
    }
}

impl Visitor for Fields {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table {
                name,
                alias,
                args: Some(_),
                ..
            }
            | TableFactor::Function { name, alias, .. } => self.add(name, alias.as_ref()),
            TableFactor::UNNEST { alias, .. } => {
                let name = ObjectName::from(vec![Ident::new("unnest")]);
                self.add(&name, alias.as_ref());
            }
            _ => {}
        }
        ControlFlow::Continue(())
    }
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
        || functions::is_listed(Dialect::PostgreSql, name)
        || policy.functions.iter().any(|allowed| allowed == name)
}

/// A name as PostgreSQL compares it.
fn folded(name: &Ident) -> String {
    match name.quote_style {
        Some(_) => name.value.clone(),
        None => name.value.to_ascii_lowercase(),
    }
}

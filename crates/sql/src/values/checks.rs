//! Extracts the values that a CHECK constraint allows from its expression as the server prints it:
//! `status IN ('a', 'b')`, PostgreSQL's `(status)::text = ANY (ARRAY['a'::character varying])`,
//! `status = 'a' OR status = 'b'`, MySQL's `_utf8mb4\'a\'`. An expression with any further
//! condition gives no values.

use sqlparser::ast::{BinaryOperator, Expr, Value};
use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect};
use sqlparser::parser::Parser;

use crate::SqlDialect;

/// Maximum length of an expression to parse; lists of values are short.
const LONGEST: usize = 20_000;
/// Recursion limit of the parser; lists are flat.
const RECURSION: usize = 100;

/// Returns the column of an expression and its values, in order.
pub(crate) fn choice(expression: &str, dialect: SqlDialect) -> Option<(String, Vec<String>)> {
    if expression.len() > LONGEST {
        return None;
    }
    let expression = match dialect {
        SqlDialect::MySql => plain(expression),
        _ => expression.to_owned(),
    };
    let rules: Box<dyn sqlparser::dialect::Dialect> = match dialect {
        SqlDialect::MySql => Box::new(MySqlDialect {}),
        _ => Box::new(PostgreSqlDialect {}),
    };
    let parser = Parser::new(&*rules).with_recursion_limit(RECURSION);
    let expression = parser.try_with_sql(&expression).ok()?.parse_expr().ok()?;
    let mut values = Vec::new();
    let column = list(&expression, &mut values)?;
    values.dedup();
    (!values.is_empty()).then_some((column, values))
}

/// Converts MySQL's notation in its own catalogue, `_utf8mb4\'a\'`, to a plain literal.
fn plain(expression: &str) -> String {
    if expression.contains("\\'") && expression.contains("_utf8") {
        expression.replace("\\'", "'")
    } else {
        expression.to_owned()
    }
}

fn list(expression: &Expr, values: &mut Vec<String>) -> Option<String> {
    match expression {
        Expr::Nested(inner) => list(inner, values),
        Expr::InList {
            expr,
            list,
            negated: false,
        } => {
            add(list, values)?;
            column(expr)
        }
        Expr::AnyOp {
            left,
            compare_op: BinaryOperator::Eq,
            right,
            ..
        } => {
            let Expr::Array(array) = bare(right) else {
                return None;
            };
            add(&array.elem, values)?;
            column(left)
        }
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Eq,
            right,
        } => {
            values.push(text(right)?);
            column(left)
        }
        // NULL passes every CHECK anyway, so this condition can be ignored.
        Expr::BinaryOp {
            left,
            op: BinaryOperator::Or,
            right,
        } => match (is_null(left), is_null(right)) {
            (None, None) => {
                let (first, second) = (list(left, values)?, list(right, values)?);
                (first == second).then_some(first)
            }
            (Some(name), None) => list(right, values).filter(|column| *column == name),
            (None, Some(name)) => list(left, values).filter(|column| *column == name),
            (Some(_), Some(_)) => None,
        },
        _ => None,
    }
}

fn add(list: &[Expr], values: &mut Vec<String>) -> Option<()> {
    for item in list {
        values.push(text(item)?);
    }
    Some(())
}

/// Strips brackets and casts from an expression.
fn bare(expression: &Expr) -> &Expr {
    match expression {
        Expr::Nested(inner) => bare(inner),
        Expr::Cast { expr, .. } => bare(expr),
        Expr::Prefixed { value, .. } => bare(value),
        other => other,
    }
}

fn column(expression: &Expr) -> Option<String> {
    match bare(expression) {
        Expr::Identifier(name) => Some(name.value.clone()),
        _ => None,
    }
}

fn is_null(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Nested(inner) => is_null(inner),
        Expr::IsNull(inner) => column(inner),
        _ => None,
    }
}

fn text(expression: &Expr) -> Option<String> {
    match bare(expression) {
        Expr::Value(value) => match &value.value {
            Value::SingleQuotedString(text) => Some(text.clone()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_as_servers_print_them() {
        let (postgres, mysql) = (SqlDialect::PostgreSql, SqlDialect::MySql);
        for (dialect, text, expected) in [
            (
                postgres,
                "((status)::text = ANY ((ARRAY['a'::character varying, 'it''s'::character varying])::text[]))",
                Some(("status", vec!["a", "it's"])),
            ),
            (
                postgres,
                "(\"Status\" = ANY (ARRAY['待付款'::text, '已付款'::text]))",
                Some(("Status", vec!["待付款", "已付款"])),
            ),
            (
                postgres,
                "((kind = 'a'::bpchar) OR (kind = 'b'::bpchar))",
                Some(("kind", vec!["a", "b"])),
            ),
            (
                postgres,
                "((kind IS NULL) OR ((kind)::text = ANY (ARRAY['a'::text])))",
                Some(("kind", vec!["a"])),
            ),
            (postgres, "(VALUE = 'a'::text)", Some(("VALUE", vec!["a"]))),
            (
                postgres,
                "((kind = 'a'::text) OR (other = 'b'::text))",
                None,
            ),
            (postgres, "((kind = 'a'::text) OR (price > 3))", None),
            (postgres, "(kind <> ALL (ARRAY['a'::text]))", None),
            (postgres, "(kind <> 'a'::text)", None),
            (postgres, "(lower(kind) = 'a'::text)", None),
            (postgres, "(level = ANY (ARRAY[1, 2]))", None),
            (postgres, "(price > (0)::numeric)", None),
            (postgres, "", None),
            (
                mysql,
                "`status` in ('open','it\\'s')",
                Some(("status", vec!["open", "it's"])),
            ),
            (
                mysql,
                "(`status` in (_utf8mb4\\'open\\',_utf8mb4\\'paid\\'))",
                Some(("status", vec!["open", "paid"])),
            ),
            (mysql, "`status` not in ('a')", None),
            (mysql, "json_valid(`extra`)", None),
        ] {
            let found = choice(text, dialect);
            let expected = expected.map(|(name, values): (&str, Vec<&str>)| {
                let values = values.into_iter().map(str::to_owned).collect();
                (name.to_owned(), values)
            });
            assert_eq!(found, expected, "{text}");
        }
    }
}

//! Checks the whole tree of a query for anything that does more than read.

use std::ops::{ControlFlow, Range};

use quillet_core::ErrorCode;
use sqlparser::ast::{
    BinaryOperator, DataType, Expr, Function, Ident, JsonTableColumn, ObjectName, ObjectNamePart,
    Query, Select, SelectItem, SetExpr, Spanned, Statement, TableFactor, Visit, Visitor,
    XmlTableColumnOption,
};

use super::fields;
use super::text::TokenizedQuery;
use super::{GuardError, Policy, functions, parse, relations};
use crate::SqlDialect;

/// Rejects a query that does more than read.
pub(super) fn check(
    text: &TokenizedQuery<'_>,
    query: &Query,
    policy: &Policy,
) -> Result<(), GuardError> {
    let mut reader = QueryReader { text, policy };
    // Field notation is checked first, because the visitor below sees such a call as a column.
    if let Some(name) = fields::find_field_call(query, text.dialect, policy) {
        return Err(reader.field(&name));
    }
    match query.visit(&mut reader) {
        ControlFlow::Break(error) => Err(*error),
        ControlFlow::Continue(()) => Ok(()),
    }
}

/// Replaces a syntax error by a clearer one if the words show that the text locks or writes. The
/// parser does not know every such syntax.
pub(super) fn refine_error(text: &TokenizedQuery<'_>, error: GuardError) -> GuardError {
    if error.code != ErrorCode::GuardSyntax {
        return error;
    }
    if let Some(place) = find(text, &LOCKS) {
        return locks(text, Some(place));
    }
    match find(text, &[&["INTO", "OUTFILE"], &["INTO", "DUMPFILE"]]) {
        Some(place) => into(text, Some(place)),
        None => error,
    }
}

/// Clauses that lock rows.
const LOCKS: [&[&str]; 5] = [
    &["FOR", "UPDATE"],
    &["FOR", "SHARE"],
    &["FOR", "NO", "KEY"],
    &["FOR", "KEY", "SHARE"],
    &["LOCK", "IN", "SHARE"],
];

fn find(text: &TokenizedQuery<'_>, phrases: &[&[&str]]) -> Option<Range<usize>> {
    phrases.iter().find_map(|words| text.find_words(words))
}

fn locks(text: &TokenizedQuery<'_>, place: Option<Range<usize>>) -> GuardError {
    error_at(
        text,
        ErrorCode::GuardLock,
        "this query would lock rows",
        place,
    )
    .help("leave out FOR UPDATE, FOR SHARE or LOCK IN SHARE MODE")
}

fn into(text: &TokenizedQuery<'_>, place: Option<Range<usize>>) -> GuardError {
    error_at(
        text,
        ErrorCode::GuardInto,
        "INTO would write the result",
        place,
    )
    .help("leave out INTO")
}

fn error_at(
    text: &TokenizedQuery<'_>,
    code: ErrorCode,
    message: &str,
    place: Option<Range<usize>>,
) -> GuardError {
    let error = GuardError::new(code, message);
    match place {
        Some(place) => error.at(text.source, &place),
        None => error,
    }
}

struct QueryReader<'a> {
    text: &'a TokenizedQuery<'a>,
    policy: &'a Policy,
}

type GuardFlow = ControlFlow<Box<GuardError>>;

/// Keywords of statements that change data.
const CHANGES: [&str; 4] = ["INSERT", "UPDATE", "DELETE", "MERGE"];

impl QueryReader<'_> {
    fn refuse(&self, code: ErrorCode, message: &str, place: Option<Range<usize>>) -> GuardError {
        error_at(self.text, code, message, place)
    }

    fn range(&self, span: sqlparser::tokenizer::Span) -> Option<Range<usize>> {
        parse::range_of(&self.text.plain, span)
    }

    fn check_query(&self, query: &Query) -> Result<(), GuardError> {
        if !query.locks.is_empty() {
            return Err(locks(self.text, find(self.text, &LOCKS)));
        }
        // Clauses of other dialects that the parser accepts. Their effects are unknown, so they are
        // rejected.
        let rest = query.for_clause.is_some()
            || query.settings.is_some()
            || query.format_clause.is_some()
            || !query.pipe_operators.is_empty();
        if rest {
            let place = self.text.find_words(&["FOR"]);
            return Err(self.refuse(
                ErrorCode::GuardClause,
                "this clause is not allowed in a query that reads",
                place,
            ));
        }
        self.check_body(&query.body)
    }

    fn check_body(&self, body: &SetExpr) -> Result<(), GuardError> {
        match body {
            SetExpr::Select(_) | SetExpr::Query(_) | SetExpr::Values(_) | SetExpr::Table(_) => {
                Ok(())
            }
            SetExpr::SetOperation { left, right, .. } => {
                // Chains of operators nest to the left, so they are walked in a loop instead of
                // recursively.
                let mut left = left;
                self.check_body(right)?;
                while let SetExpr::SetOperation {
                    left: next, right, ..
                } = left.as_ref()
                {
                    self.check_body(right)?;
                    left = next;
                }
                self.check_body(left)
            }
            SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => {
                Err(self.writes())
            }
        }
    }

    fn writes(&self) -> GuardError {
        let place = CHANGES
            .iter()
            .find_map(|word| self.text.find_words(&[word]));
        self.refuse(
            ErrorCode::GuardWrites,
            "this query would change data",
            place,
        )
        .help("write a query that only reads")
    }

    fn check_select(&self, select: &Select) -> Result<(), GuardError> {
        if select.into.is_some() {
            return Err(into(self.text, self.text.find_words(&["INTO"])));
        }
        let foreign = !select.lateral_views.is_empty()
            || select.prewhere.is_some()
            || !select.connect_by.is_empty()
            || !select.cluster_by.is_empty()
            || !select.distribute_by.is_empty()
            || !select.sort_by.is_empty()
            || select.top.is_some()
            || select.value_table_mode.is_some();
        if foreign {
            let title = self.text.dialect.title();
            let message = format!("this SELECT has a clause that {title} does not support");
            let place = self.range(select.select_token.0.span);
            return Err(self.refuse(ErrorCode::GuardClause, &message, place));
        }
        let mut items = select.projection.iter();
        items.try_for_each(|item| self.check_alias(item))
    }

    fn check_factor(&self, factor: &TableFactor) -> Result<(), GuardError> {
        self.check_columns(factor)?;
        match factor {
            TableFactor::Table {
                name, args: None, ..
            } => {
                if let [ObjectNamePart::Identifier(bare)] = name.0.as_slice() {
                    // In `FROM CURRENT_USER`, the name is also a function call.
                    self.check_bare(bare)?;
                }
                relations::check(self.text, name)
            }
            TableFactor::Table {
                name,
                args: Some(_),
                ..
            }
            | TableFactor::Function { name, .. } => self.check_function(name),
            TableFactor::Derived { .. }
            | TableFactor::TableFunction { .. }
            | TableFactor::UNNEST { .. }
            | TableFactor::JsonTable { .. }
            | TableFactor::XmlTable { .. }
            | TableFactor::NestedJoin { .. } => Ok(()),
            _ => {
                let title = self.text.dialect.title();
                let message = format!("{title} does not support this form of table expression");
                Err(self.refuse(ErrorCode::GuardClause, &message, self.range(factor.span())))
            }
        }
    }

    fn check_function(&self, name: &ObjectName) -> Result<(), GuardError> {
        functions::check(self.text, name, self.policy)
    }

    fn check_expr(&self, expr: &Expr) -> Result<(), GuardError> {
        match expr {
            Expr::Function(Function { name, .. }) => self.check_function(name),
            Expr::BinaryOp { op, .. } => self.check_operator(expr, op),
            Expr::AnyOp { compare_op, .. } | Expr::AllOp { compare_op, .. } => {
                self.check_operator(expr, compare_op)
            }
            Expr::Cast { data_type, .. } => self.check_type(expr.span(), data_type),
            Expr::Convert {
                data_type: Some(data_type),
                ..
            } => self.check_type(expr.span(), data_type),
            Expr::TypedString(typed) => self.check_type(expr.span(), &typed.data_type),
            Expr::Identifier(name) => self.check_bare(name),
            _ => Ok(()),
        }
    }

    /// Creates the error for `(x).f`, which can mean `f(x)`.
    fn field(&self, name: &Ident) -> GuardError {
        let message = format!(
            "{name} after a dot may call a function that is not on the list of allowed functions"
        );
        self.refuse(ErrorCode::GuardFunction, &message, self.range(name.span))
            .help(format!(
                "select it from a table in FROM, or allow {} in the settings (sql.functions)",
                name.value
            ))
    }

    /// Rejects a string literal as an alias. In PostgreSQL such a literal is never a name; after a
    /// type or another literal it becomes part of a value.
    fn check_alias(&self, item: &SelectItem) -> Result<(), GuardError> {
        let SelectItem::ExprWithAlias { alias, .. } = item else {
            return Ok(());
        };
        if self.text.dialect != SqlDialect::PostgreSql || alias.quote_style != Some('\'') {
            return Ok(());
        }
        let message = "unexpected string literal";
        Err(self
            .refuse(ErrorCode::GuardSyntax, message, self.range(alias.span))
            .help("write names in double quotes"))
    }

    /// Checks functions that are called without brackets, such as `CURRENT_USER`.
    fn check_bare(&self, name: &Ident) -> Result<(), GuardError> {
        let calls: &[&str] = match self.text.dialect {
            SqlDialect::PostgreSql => &[
                "current_user",
                "session_user",
                "system_user",
                "user",
                "current_role",
            ],
            SqlDialect::MySql => &["current_user", "current_role"],
            SqlDialect::Sqlite => &[],
        };
        let word = name.value.to_ascii_lowercase();
        let is_call = name.quote_style.is_none() && calls.contains(&word.as_str());
        if !is_call {
            return Ok(());
        }
        let name = ObjectName(vec![ObjectNamePart::Identifier(name.clone())]);
        self.check_function(&name)
    }

    fn check_operator(&self, expr: &Expr, op: &BinaryOperator) -> Result<(), GuardError> {
        let place = || self.range(expr.span());
        match op {
            BinaryOperator::Assignment => Err(self
                .refuse(
                    ErrorCode::GuardAssignment,
                    "this would set a variable",
                    place(),
                )
                .help("write = to compare")),
            BinaryOperator::Custom(name) if !functions::OPERATORS.contains(&name.as_str()) => {
                let message =
                    format!("the operator {name} is not on the list of allowed operators");
                Err(self.refuse(ErrorCode::GuardOperator, &message, place()))
            }
            BinaryOperator::PGCustomBinaryOperator(parts) => self.check_named(expr, parts),
            _ => Ok(()),
        }
    }

    /// Checks `OPERATOR(schema.+)`: only operators of the system schema are allowed.
    fn check_named(&self, expr: &Expr, parts: &[String]) -> Result<(), GuardError> {
        if matches!(parts, [schema, _] if schema.eq_ignore_ascii_case("pg_catalog")) {
            return Ok(());
        }
        let message = format!(
            "the operator {} is not on the list of allowed operators",
            parts.join(".")
        );
        Err(self
            .refuse(ErrorCode::GuardOperator, &message, self.range(expr.span()))
            .help("write the operator itself"))
    }

    /// Checks column types declared by an item in FROM.
    fn check_columns(&self, factor: &TableFactor) -> Result<(), GuardError> {
        let alias = match factor {
            TableFactor::Table { alias, .. } | TableFactor::Function { alias, .. } => {
                alias.as_ref()
            }
            _ => None,
        };
        let columns = alias.into_iter().flat_map(|alias| &alias.columns);
        for data_type in columns.filter_map(|column| column.data_type.as_ref()) {
            self.check_type(factor.span(), data_type)?;
        }
        match factor {
            TableFactor::XmlTable { columns, .. } => {
                columns.iter().try_for_each(|column| match &column.option {
                    XmlTableColumnOption::NamedInfo { r#type, .. } => {
                        self.check_type(factor.span(), r#type)
                    }
                    XmlTableColumnOption::ForOrdinality => Ok(()),
                })
            }
            TableFactor::JsonTable { columns, .. } => self.check_json_columns(factor, columns),
            _ => Ok(()),
        }
    }

    fn check_json_columns(
        &self,
        factor: &TableFactor,
        columns: &[JsonTableColumn],
    ) -> Result<(), GuardError> {
        columns.iter().try_for_each(|column| match column {
            JsonTableColumn::Named(named) => self.check_type(factor.span(), &named.r#type),
            JsonTableColumn::Nested(nested) => self.check_json_columns(factor, &nested.columns),
            JsonTableColumn::ForOrdinality(_) => Ok(()),
        })
    }

    /// Rejects system types: `reg…` types look up names in the system catalogue, and others are its
    /// row types.
    fn check_type(
        &self,
        span: sqlparser::tokenizer::Span,
        data_type: &DataType,
    ) -> Result<(), GuardError> {
        let name = match data_type {
            DataType::Regclass => "regclass".to_owned(),
            DataType::Custom(name, _) => name.to_string().to_ascii_lowercase(),
            DataType::Array(_) => data_type.to_string().to_ascii_lowercase(),
            _ => return Ok(()),
        };
        let (schema, bare) = name.rsplit_once('.').unwrap_or(("", &name));
        // The name of an array type starts with an underscore.
        let bare = bare
            .trim_end_matches(|c: char| c == '[' || c == ']' || c.is_ascii_digit())
            .trim_matches('"')
            .trim_start_matches('_');
        let of_system = schema.trim_matches('"') == "information_schema"
            || (bare.starts_with("pg_") && !PLAIN_TYPES.contains(&bare));
        let looks_up = of_system || REG_TYPES.contains(&bare);
        if self.text.dialect != SqlDialect::PostgreSql || !looks_up {
            return Ok(());
        }
        let message = format!("the type {bare} reads the system catalogue");
        Err(self
            .refuse(ErrorCode::GuardType, &message, self.range(span))
            .help("name the table in FROM, or query information_schema"))
    }
}

/// Harmless types whose names start like system relations.
const PLAIN_TYPES: [&str; 2] = ["pg_lsn", "pg_snapshot"];

/// PostgreSQL's object identifier types (manual, 8.19), and other types whose values identify
/// objects.
const REG_TYPES: [&str; 14] = [
    "aclitem",
    "cstring",
    "refcursor",
    "regclass",
    "regcollation",
    "regconfig",
    "regdictionary",
    "regnamespace",
    "regoper",
    "regoperator",
    "regproc",
    "regprocedure",
    "regrole",
    "regtype",
];

fn verdict(result: Result<(), GuardError>) -> GuardFlow {
    match result {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => ControlFlow::Break(Box::new(error)),
    }
}

impl Visitor for QueryReader<'_> {
    type Break = Box<GuardError>;

    // A statement inside a query, such as an INSERT in a CTE, counts as a write.
    fn pre_visit_statement(&mut self, _: &Statement) -> GuardFlow {
        verdict(Err(self.writes()))
    }

    fn pre_visit_query(&mut self, query: &Query) -> GuardFlow {
        verdict(self.check_query(query))
    }

    fn pre_visit_select(&mut self, select: &Select) -> GuardFlow {
        verdict(self.check_select(select))
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> GuardFlow {
        verdict(self.check_factor(factor))
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> GuardFlow {
        verdict(self.check_expr(expr))
    }
}

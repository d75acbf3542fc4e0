//! Extracts comments on tables and columns. SQLite does not support them, but it stores the text of
//! CREATE statements including SQL comments.
//!
//! The rules follow common usage:
//! - A comment at the end of a line refers to the column on that line, also after the comma. If no
//!   column has started on that line, it refers to the table
//!   (`CREATE TABLE orders ( -- one row for each order`).
//! - A comment on a line of its own refers to the next column.
//! - Comments after the closing bracket refer to the table. In a view, comments before its query
//!   refer to the view.
//! - Comments on constraints are ignored, because the catalogue cannot store them.
//!
//! A column's `CHECK (name IN ('a', 'b'))` provides its allowed values.

use super::scan::{Token, tokens, unquoted};

/// Information from the text of a CREATE statement that SQLite itself does not report.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct TableComments {
    /// Comment on the table.
    pub(super) comment: Option<String>,
    /// Comments on its columns.
    pub(super) columns: Vec<ColumnComment>,
}

/// Information about a column.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ColumnComment {
    /// Name, unquoted.
    pub(super) name: String,
    /// Comment on the column.
    pub(super) comment: Option<String>,
    /// Values that a CHECK constraint allows.
    pub(super) values: Vec<String>,
}

/// A column or constraint definition: the tokens between two commas.
#[derive(Default)]
struct ColumnClause<'a> {
    tokens: Vec<Token<'a>>,
    comments: Vec<&'a str>,
}

/// Parser state of a CREATE statement.
#[derive(Default)]
struct CreateParts<'a> {
    about: Vec<&'a str>,
    pieces: Vec<ColumnClause<'a>>,
    /// Comments to attach to the next column.
    waiting: Vec<&'a str>,
    depth: usize,
    /// Whether the next token starts a definition.
    at_start: bool,
}

/// Parses a CREATE TABLE or CREATE VIEW statement as stored by SQLite.
pub(super) fn read(sql: &str) -> TableComments {
    let mut parts = CreateParts::default();
    let mut tokens = tokens(sql);
    let mut is_view = false;
    for token in tokens.by_ref() {
        match token {
            // The query of a view starts here, and its comments do not describe the view.
            Token::Word(word) if is_view && parts.depth == 0 && is(word, "AS") => break,
            Token::Word(word) if parts.depth == 0 => is_view |= is(word, "VIEW"),
            _ => {}
        }
        parts.add(token);
    }
    for token in tokens {
        let Token::Comment { text, .. } = token else {
            break;
        };
        parts.about.push(text);
    }
    parts.into_comments()
}

fn is(word: &str, keyword: &str) -> bool {
    word.eq_ignore_ascii_case(keyword)
}

impl<'a> CreateParts<'a> {
    fn add(&mut self, token: Token<'a>) {
        match token {
            Token::Comment { text, first } => return self.comment(text, first),
            Token::Open => self.depth += 1,
            Token::Close => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        match (token, self.depth) {
            (Token::Open, 1) | (Token::Comma, 1) => self.at_start = true,
            (_, 0) => self.at_start = false,
            _ => self.define(token),
        }
    }

    fn comment(&mut self, text: &'a str, first: bool) {
        let inside = self.depth > 0;
        match self.pieces.last_mut() {
            _ if inside && first && self.at_start => self.waiting.push(text),
            Some(piece) if inside => piece.comments.push(text),
            _ => self.about.push(text),
        }
    }

    /// Adds a token to the current definition.
    fn define(&mut self, token: Token<'a>) {
        if self.at_start {
            self.at_start = false;
            let comments = std::mem::take(&mut self.waiting);
            self.pieces.push(ColumnClause {
                tokens: Vec::new(),
                comments,
            });
        }
        if let Some(piece) = self.pieces.last_mut() {
            piece.tokens.push(token);
        }
    }

    fn into_comments(self) -> TableComments {
        let (columns, constraints): (Vec<_>, Vec<_>) =
            self.pieces.iter().partition(|piece| piece.is_column());
        let mut columns: Vec<ColumnComment> =
            columns.into_iter().map(ColumnClause::column).collect();
        for (name, values) in constraints.into_iter().filter_map(ColumnClause::choice) {
            if let Some(column) = columns.iter_mut().find(|column| is(&column.name, &name)) {
                column.values = values;
            }
        }
        TableComments {
            comment: joined(&self.about),
            columns,
        }
    }
}

impl ColumnClause<'_> {
    fn is_column(&self) -> bool {
        const CONSTRAINTS: [&str; 5] = ["CONSTRAINT", "PRIMARY", "UNIQUE", "CHECK", "FOREIGN"];
        match self.tokens.first() {
            Some(Token::Word(word)) => !CONSTRAINTS.iter().any(|keyword| is(word, keyword)),
            Some(Token::Quoted(_)) => true,
            _ => false,
        }
    }

    fn column(&self) -> ColumnComment {
        let name = self.tokens.first().and_then(name).unwrap_or_default();
        let values = self.choice().filter(|(checked, _)| is(checked, &name));
        ColumnComment {
            comment: joined(&self.comments),
            values: values.map(|(_, values)| values).unwrap_or_default(),
            name,
        }
    }

    /// Returns the name and the values of `CHECK (name IN ('a', 'b'))`.
    fn choice(&self) -> Option<(String, Vec<String>)> {
        let check = |token: &Token| matches!(token, Token::Word(word) if is(word, "CHECK"));
        let at = self.tokens.iter().position(check)?;
        let [
            Token::Open,
            column,
            Token::Word(word),
            Token::Open,
            list @ ..,
        ] = self.tokens.get(at + 1..)?
        else {
            return None;
        };
        let end = list.iter().position(|token| *token == Token::Close)?;
        let closed = list.get(end + 1) == Some(&Token::Close);
        let values: Option<Vec<String>> = list
            .get(..end)?
            .split(|token| *token == Token::Comma)
            .map(text)
            .collect();
        (is(word, "IN") && closed).then_some((name(column)?, values?))
    }
}

fn name(token: &Token<'_>) -> Option<String> {
    match token {
        Token::Word(name) | Token::Quoted(name) => Some(unquoted(name)),
        _ => None,
    }
}

/// Returns the value of a list item that is a single string literal.
fn text(item: &[Token<'_>]) -> Option<String> {
    match item {
        [Token::Quoted(text)] if text.starts_with('\'') => Some(unquoted(text)),
        _ => None,
    }
}

/// Joins comments into one line without rulers and stars; `None` if the result is empty.
fn joined(comments: &[&str]) -> Option<String> {
    let lines = comments.iter().flat_map(|comment| comment.lines());
    let words =
        lines.map(|line| line.trim_matches(|c: char| c.is_whitespace() || "-*=#".contains(c)));
    let words: Vec<&str> = words.filter(|line| !line.is_empty()).collect();
    (!words.is_empty()).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formats `table; column: comment; column: comment`. A column without a comment appears by
    /// name.
    fn shown(sql: &str) -> String {
        let told = read(sql);
        let columns = told.columns.iter().map(|column| match &column.comment {
            Some(comment) => format!("{}: {comment}", column.name),
            None => column.name.clone(),
        });
        let table = told.comment.unwrap_or_default();
        std::iter::once(table)
            .chain(columns)
            .collect::<Vec<_>>()
            .join("; ")
    }

    #[test]
    fn comments_belong_to_what_they_stand_at() {
        for (sql, expected) in [
            ("CREATE TABLE t (a, b)", "; a; b"),
            (
                "CREATE TABLE t ( -- 订单\n a INT, -- 编号\n b TEXT -- 名称\n)",
                "订单; a: 编号; b: 名称",
            ),
            (
                "CREATE TABLE t (\n -- the id\n a INT,\n -- the name,\n -- in full\n b TEXT\n)",
                "; a: the id; b: the name, in full",
            ),
            (
                "CREATE TABLE t (a INT /* x */, b DECIMAL(10, /* y */ 2))",
                "; a: x; b: y",
            ),
            (
                "CREATE TABLE t /* orders */ (a) -- kept for ever\n",
                "orders kept for ever; a",
            ),
            (
                "CREATE TABLE t (a, -- x\n PRIMARY KEY (a), -- y\n -- z\n UNIQUE (a) -- w\n)",
                "; a: x",
            ),
            (
                "CREATE TABLE t (a TEXT DEFAULT '-- no', \"b, /*\" INT)",
                "; a; b, /*",
            ),
            (
                "CREATE TABLE t (\n -- ---------\n /*\n * two\n * lines\n */ a)",
                "; a: two lines",
            ),
            ("CREATE TABLE t (a, \n -- nothing follows\n)", "; a"),
            ("CREATE TABLE t (a) WITHOUT ROWID, STRICT", "; a"),
            (
                "CREATE VIEW v AS -- sums\n SELECT a, -- x\n b FROM t -- y",
                "sums",
            ),
            (
                "CREATE VIEW v (a /* one */, b) AS /* two */ SELECT 1, 2",
                "two; a: one; b",
            ),
            (
                "CREATE TABLE \"view\" (\"as\" INT, -- word\n b)",
                "; as: word; b",
            ),
            ("", ""),
            ("CREATE TABLE t (", ""),
            (")))((,,(,", ""),
        ] {
            assert_eq!(shown(sql), expected, "{sql}");
        }
    }

    #[test]
    fn checks_give_values() {
        for (sql, expected) in [
            (
                "CREATE TABLE t (a TEXT CHECK (a IN ('x', 'y''z')))",
                vec!["x", "y'z"],
            ),
            ("CREATE TABLE t (a TEXT, CHECK (\"A\" IN ('x')))", vec!["x"]),
            ("CREATE TABLE t (a TEXT CHECK (b IN ('x')))", vec![]),
            ("CREATE TABLE t (a INT CHECK (a IN (1, 2)))", vec![]),
            (
                "CREATE TABLE t (a TEXT CHECK (a IN ('x') OR a IS NULL))",
                vec![],
            ),
            ("CREATE TABLE t (a TEXT CHECK (a IN (", vec![]),
        ] {
            assert_eq!(read(sql).columns[0].values, expected, "{sql}");
        }
    }
}

#[cfg(test)]
mod properties {
    use proptest::prelude::*;
    use rusqlite::Connection;

    use super::*;

    /// Fragments that are significant to the parser.
    fn piece() -> impl Strategy<Value = String> {
        let marks = proptest::sample::select(vec![
            "(",
            ")",
            ",",
            "--",
            "/*",
            "*/",
            "\n",
            "'",
            "\"",
            "`",
            "[",
            "]",
            " ",
            "CREATE TABLE t",
            "CREATE VIEW v AS",
            "CHECK",
            "IN",
            "a",
            "订单",
            "''",
        ]);
        prop_oneof![4 => marks.prop_map(str::to_owned), 1 => "\\PC{0,3}"]
    }

    /// Generates a name, a type and a comment at the end of the line.
    fn column() -> impl Strategy<Value = (String, String, String)> {
        let name = "[a-zA-Z订单 \"'\\[\\]`.,()-]{1,8}";
        let kind = proptest::sample::select(vec![
            "INT",
            "TEXT DEFAULT ')--'",
            "DECIMAL(10, 2)",
            "TEXT CHECK (1 IN (1, 2))",
            "",
        ]);
        (name, kind.prop_map(str::to_owned), "[a-z订单,;'\"()]{1,12}")
    }

    proptest! {
        #[test]
        fn no_text_stops_the_reader(pieces in proptest::collection::vec(piece(), 0..60)) {
            let text = pieces.concat();
            let told = read(&text);
            prop_assert!(told.columns.len() <= text.matches(',').count() + text.matches('(').count());
        }

        #[test]
        fn names_and_comments_are_those_of_sqlite(columns in proptest::collection::vec(column(), 1..8), block in any::<bool>()) {
            let lines = columns.iter().enumerate().map(|(i, (name, kind, comment))| {
                let name = format!("\"{}{i}\"", name.replace('"', "\"\""));
                let comma = if i + 1 < columns.len() { "," } else { "" };
                if block { format!("  {name} {kind} /* {comment} */{comma}\n") } else { format!("  {name} {kind}{comma} -- {comment}\n") }
            });
            let connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(&format!("CREATE TABLE t (\n{})", lines.collect::<String>())).unwrap();
            let sql: String = connection.query_row("SELECT sql FROM sqlite_schema", [], |row| row.get(0)).unwrap();
            let mut statement = connection.prepare("SELECT name FROM pragma_table_xinfo('t')").unwrap();
            let names = statement.query_map([], |row| row.get::<_, String>(0)).unwrap();
            let names: Vec<String> = names.map(Result::unwrap).collect();
            let told = read(&sql);
            let found: Vec<&str> = told.columns.iter().map(|column| column.name.as_str()).collect();
            prop_assert_eq!(found, names);
            for (column, (_, _, comment)) in told.columns.iter().zip(&columns) {
                prop_assert_eq!(column.comment.as_deref(), Some(comment.as_str()));
            }
        }
    }
}

//! Parses text to sqlparser's tree, and converts the parser's positions to bytes.

use quillet_core::ErrorCode;
use sqlparser::ast::{Query, Statement};
use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Whitespace};

use super::lexer::{self, Kind};
use super::{GuardError, spelling};
use crate::SqlDialect;

/// Recursion limit of the parser. The guard's own nesting limit is lower; each of its levels takes
/// several of these.
const RECURSION: usize = 2_000;

/// Parses the single query of a text without comments.
///
/// # Errors
/// Fails if the text is not valid SQL of the dialect, or not a query.
pub(super) fn query(plain: &str, dialect: SqlDialect) -> Result<Query, GuardError> {
    let mut statements = statements(plain, dialect)?;
    // The token check already rejects a second statement; this enforces the same rule on the
    // parser's view of the text.
    let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
        let message = "more than one statement";
        return Err(GuardError::new(ErrorCode::GuardStatements, message));
    };
    match statement {
        Statement::Query(query) => Ok(*query),
        _ => Err(GuardError::new(
            ErrorCode::GuardStatement,
            "this statement does more than read",
        )),
    }
}

fn statements(plain: &str, dialect: SqlDialect) -> Result<Vec<Statement>, GuardError> {
    let rules: Box<dyn sqlparser::dialect::Dialect> = match dialect {
        SqlDialect::PostgreSql => Box::new(PostgreSqlDialect {}),
        SqlDialect::MySql => Box::new(MySqlDialect {}),
        SqlDialect::Sqlite => Box::new(SQLiteDialect {}),
    };
    let tokens = Tokenizer::new(&*rules, plain)
        .tokenize_with_location()
        .map_err(|error| {
            let at = byte_of(plain, error.location);
            syntax(plain, Some(at), error.message)
        })?;
    if let Some(comment) = tokens.iter().find(|token| is_comment(&token.token)) {
        // All comments were blanked, so the parser must have found a comment where the server sees
        // none.
        let at = byte_of(plain, comment.span.start);
        let message = "this text cannot be distinguished from a comment".to_owned();
        return Err(syntax(plain, Some(at), message));
    }
    check_agreement(plain, dialect, &tokens)?;
    let mut parser = Parser::new(&*rules)
        .with_recursion_limit(RECURSION)
        .with_tokens_with_locations(spelling::respell_tokens(tokens, dialect));
    parser.parse_statements().map_err(|error| {
        let (message, at) = split_position(&error.to_string());
        syntax(plain, at.map(|location| byte_of(plain, location)), message)
    })
}

fn is_comment(token: &Token) -> bool {
    let comment = |space: &Whitespace| {
        matches!(
            space,
            Whitespace::SingleLineComment { .. } | Whitespace::MultiLineComment(_)
        )
    };
    matches!(token, Token::Whitespace(space) if comment(space))
}

/// Compares where the parser's tokenizer and the guard's lexer end literals and quoted names. Text
/// that is a literal for one and SQL for the other is rejected.
fn check_agreement(
    plain: &str,
    dialect: SqlDialect,
    tokens: &[TokenWithSpan],
) -> Result<(), GuardError> {
    let ours = lexer::tokens(plain, dialect);
    let quoted = |token: &&lexer::Token| matches!(token.kind, Kind::Text | Kind::Quoted);
    // Comparing the ends of quoted tokens is enough, because both lexers treat everything between
    // them as SQL.
    let mut ours = ours.iter().filter(quoted).map(|token| token.span.end);
    let mut places = PositionCursor::new(plain);
    for token in tokens.iter().filter(|token| is_quoted(&token.token)) {
        let start = places.byte_of(token.span.start);
        let end = places.byte_of(token.span.end);
        // The parser reads the number 0x1F as a string.
        let is_number = plain.as_bytes().get(start) == Some(&b'0');
        if !is_number && ours.next() != Some(end) {
            return Err(ambiguous_quote_error(plain, end));
        }
    }
    match ours.next() {
        Some(end) => Err(ambiguous_quote_error(plain, end)),
        None => Ok(()),
    }
}

fn ambiguous_quote_error(plain: &str, at: usize) -> GuardError {
    syntax(
        plain,
        Some(at),
        "ambiguous quotes: servers may disagree on where this text ends".to_owned(),
    )
}

fn is_quoted(token: &Token) -> bool {
    match token {
        Token::Word(word) => word.quote_style.is_some(),
        Token::SingleQuotedString(_)
        | Token::DoubleQuotedString(_)
        | Token::DollarQuotedString(_)
        | Token::SingleQuotedByteStringLiteral(_)
        | Token::DoubleQuotedByteStringLiteral(_)
        | Token::NationalStringLiteral(_)
        | Token::EscapedStringLiteral(_)
        | Token::UnicodeStringLiteral(_)
        | Token::HexStringLiteral(_) => true,
        _ => false,
    }
}

/// Converts positions to bytes. The positions must be in ascending order.
struct PositionCursor<'a> {
    rest: std::iter::Peekable<std::str::CharIndices<'a>>,
    line: u64,
    column: u64,
    length: usize,
}

impl<'a> PositionCursor<'a> {
    fn new(source: &'a str) -> Self {
        PositionCursor {
            rest: source.char_indices().peekable(),
            line: 1,
            column: 1,
            length: source.len(),
        }
    }

    fn byte_of(&mut self, place: Location) -> usize {
        // Positions are in ascending order, so one pass serves all of them. Searching for each
        // position from the start would be quadratic.
        while (self.line, self.column) < (place.line, place.column) {
            match self.rest.next() {
                Some((_, '\n')) => (self.line, self.column) = (self.line + 1, 1),
                Some(_) => self.column += 1,
                None => break,
            }
        }
        self.rest.peek().map_or(self.length, |(at, _)| *at)
    }
}

fn syntax(plain: &str, at: Option<usize>, message: String) -> GuardError {
    let error = GuardError::new(ErrorCode::GuardSyntax, message);
    match at {
        Some(at) => error.at(plain, &(at..at)),
        None => error,
    }
}

/// Splits a parser error into its message, without prefixes, and the position at its end.
fn split_position(message: &str) -> (String, Option<Location>) {
    let message = message
        .strip_prefix("sql parser error: ")
        .unwrap_or(message);
    let Some((words, place)) = message.rsplit_once(" at Line: ") else {
        return (lower_first(message), None);
    };
    let location = place
        .split_once(", Column: ")
        .and_then(|(line, column)| Some(Location::new(line.parse().ok()?, column.parse().ok()?)));
    (lower_first(words), location)
}

fn lower_first(text: &str) -> String {
    let mut characters = text.chars();
    match characters.next() {
        Some(first) => first.to_lowercase().chain(characters).collect(),
        None => "invalid SQL".to_owned(),
    }
}

/// Returns the byte offset of a position whose lines and characters count from one.
pub(super) fn byte_of(source: &str, location: Location) -> usize {
    let (Some(line), Some(column)) = (
        usize::try_from(location.line)
            .ok()
            .and_then(|n| n.checked_sub(1)),
        usize::try_from(location.column)
            .ok()
            .and_then(|n| n.checked_sub(1)),
    ) else {
        return 0;
    };
    let start = match line {
        0 => Some(0),
        _ => source
            .match_indices('\n')
            .nth(line - 1)
            .map(|(at, _)| at + 1),
    };
    let Some(start) = start else {
        return source.len();
    };
    let rest = &source[start..];
    start
        + rest
            .char_indices()
            .nth(column)
            .map_or(rest.len(), |(at, _)| at)
}

/// Returns the bytes of a parser span, if it has a position.
pub(super) fn range_of(source: &str, span: Span) -> Option<std::ops::Range<usize>> {
    if span == Span::empty() {
        return None;
    }
    let start = byte_of(source, span.start);
    Some(start..byte_of(source, span.end).max(start))
}

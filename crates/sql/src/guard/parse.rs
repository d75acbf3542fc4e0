//! From text to sqlparser's tree, and from its places back to bytes.

use sqlparser::ast::{Query, Statement};
use sqlparser::dialect::{MySqlDialect, PostgreSqlDialect, SQLiteDialect};
use sqlparser::keywords::Keyword;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Span, Token, TokenWithSpan, Tokenizer, Whitespace, Word};

use super::{GuardError, codes};
use crate::Dialect;

/// Calls of the parser within each other. Our own bound on nesting is lower; each of its levels
/// takes a few of these.
const RECURSION: usize = 2_000;

/// The one query of a text without comments.
///
/// # Errors
/// It is no SQL of the dialect, or no query.
pub(super) fn query(plain: &str, dialect: Dialect) -> Result<Query, GuardError> {
    let mut statements = statements(plain, dialect)?;
    let (Some(statement), true) = (statements.pop(), statements.is_empty()) else {
        let message = "there is more than one statement";
        return Err(GuardError::new(codes::STATEMENTS, message));
    };
    match statement {
        Statement::Query(query) => Ok(*query),
        _ => Err(GuardError::new(
            codes::STATEMENT,
            "this statement does not read",
        )),
    }
}

fn statements(plain: &str, dialect: Dialect) -> Result<Vec<Statement>, GuardError> {
    let rules: Box<dyn sqlparser::dialect::Dialect> = match dialect {
        Dialect::PostgreSql => Box::new(PostgreSqlDialect {}),
        Dialect::MySql => Box::new(MySqlDialect {}),
        Dialect::Sqlite => Box::new(SQLiteDialect {}),
    };
    let tokens = Tokenizer::new(&*rules, plain)
        .tokenize_with_location()
        .map_err(|error| {
            let at = byte_of(plain, error.location);
            syntax(plain, Some(at), error.message)
        })?;
    if let Some(comment) = tokens.iter().find(|token| is_comment(&token.token)) {
        // Comments were blanked: the parser reads one where the server reads none.
        let at = byte_of(plain, comment.span.start);
        let message = "this cannot be told from a comment".to_owned();
        return Err(syntax(plain, Some(at), message));
    }
    let mut parser = Parser::new(&*rules)
        .with_recursion_limit(RECURSION)
        .with_tokens_with_locations(spell_out_tables(tokens));
    parser.parse_statements().map_err(|error| {
        let (message, at) = said(&error.to_string());
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

/// The parser does not know `TABLE t`, which means `SELECT * FROM t` (SQL:2016, 7.16).
fn spell_out_tables(tokens: Vec<TokenWithSpan>) -> Vec<TokenWithSpan> {
    let mut spelt = Vec::with_capacity(tokens.len() + 2);
    let mut before = Token::LParen;
    for token in tokens {
        let begins = match &before {
            Token::LParen => true,
            Token::Word(word) => matches!(
                word.keyword,
                Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::ALL
            ),
            // `WITH t AS (…) TABLE t`
            Token::RParen => true,
            _ => false,
        };
        let is_table = matches!(&token.token, Token::Word(word) if word.keyword == Keyword::TABLE);
        if !matches!(token.token, Token::Whitespace(_)) {
            before = token.token.clone();
        }
        if !(begins && is_table) {
            spelt.push(token);
            continue;
        }
        for word in [
            keyword("SELECT", Keyword::SELECT),
            Token::Mul,
            keyword("FROM", Keyword::FROM),
        ] {
            spelt.push(TokenWithSpan::new(word, token.span));
        }
    }
    spelt
}

fn keyword(value: &str, keyword: Keyword) -> Token {
    Token::Word(Word {
        value: value.to_owned(),
        quote_style: None,
        keyword,
    })
}

fn syntax(plain: &str, at: Option<usize>, message: String) -> GuardError {
    let error = GuardError::new(codes::SYNTAX, message);
    match at {
        Some(at) => error.at(plain, &(at..at)),
        None => error,
    }
}

/// The parser's words without its decoration, and the place that it puts at their end.
fn said(message: &str) -> (String, Option<Location>) {
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
        None => "it cannot be read".to_owned(),
    }
}

/// The byte at a place that counts lines and characters from one.
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

/// The bytes of one of the parser's spans; none where it has no place.
pub(super) fn range_of(source: &str, span: Span) -> Option<std::ops::Range<usize>> {
    if span == Span::empty() {
        return None;
    }
    let start = byte_of(source, span.start);
    Some(start..byte_of(source, span.end).max(start))
}

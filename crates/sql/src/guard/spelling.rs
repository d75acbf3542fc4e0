//! Rewrites syntax that servers support but the parser does not.
//!
//! The rewriting affects parsing only; the original text runs. Every rule replaces fixed keywords
//! with equivalents that have the same operands, and never removes anything that could be
//! evaluated.

use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Word};

use crate::SqlDialect;

/// Returns the tokens in a form that the parser supports, with their original positions.
pub(super) fn respell_tokens(
    tokens: Vec<TokenWithSpan>,
    dialect: SqlDialect,
) -> Vec<TokenWithSpan> {
    let speaks = |token: &TokenWithSpan| !matches!(token.token, Token::Whitespace(_));
    let tokens: Vec<TokenWithSpan> = tokens.into_iter().filter(speaks).collect();
    let mut spelt = Vec::with_capacity(tokens.len() + 2);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        // All new tokens get the span of the first replaced token, so that errors point into the
        // original text.
        let (taken, new) = respelt(&tokens, at, dialect);
        if taken == 0 {
            spelt.push(token.clone());
            at += 1;
            continue;
        }
        spelt.extend(
            new.into_iter()
                .map(|new| TokenWithSpan::new(new, token.span)),
        );
        at += taken;
    }
    spelt
}

/// Returns the number of tokens to replace here, and their replacement.
fn respelt(tokens: &[TokenWithSpan], at: usize, dialect: SqlDialect) -> (usize, Vec<Token>) {
    let is = |i: usize, word: &str| is_word(tokens.get(i), word);
    let before = |back: usize| at.checked_sub(back).and_then(|i| tokens.get(i));
    if is(at, "TABLE") && begins_query(before(1)) {
        // `TABLE t` means `SELECT * FROM t` (SQL:2016, 7.16).
        return (1, vec![select(), Token::Mul, from()]);
    }
    // The EXCLUDE clause of a window frame consists of fixed keywords.
    if is(at, "EXCLUDE") {
        return match () {
            () if is(at + 1, "CURRENT") && is(at + 2, "ROW") => (3, Vec::new()),
            () if is(at + 1, "NO") && is(at + 2, "OTHERS") => (3, Vec::new()),
            () if is(at + 1, "GROUP") || is(at + 1, "TIES") => (2, Vec::new()),
            () => (0, Vec::new()),
        };
    }
    match dialect {
        // The parser would read ONLY as a table name and the table as its alias. In `ROWS ONLY`,
        // ONLY belongs to FETCH.
        SqlDialect::PostgreSql if is(at, "ONLY") && begins_table(before(1)) => (1, Vec::new()),
        SqlDialect::MySql if is(at, "MOD") && ends_operand(before(1)) => (1, vec![Token::Mod]),
        // For each DIV, the parser copies everything before it.
        SqlDialect::MySql if is(at, "DIV") && ends_operand(before(1)) => (1, vec![Token::Div]),
        SqlDialect::MySql
            if tokens
                .get(at)
                .is_some_and(|t| t.token == Token::ExclamationMark) =>
        {
            (1, vec![word("NOT", Keyword::NOT)])
        }
        SqlDialect::MySql if is_unit(tokens.get(at)) => {
            let extracts = is_word(before(2), "EXTRACT");
            let spans = is_word(before(2), "INTERVAL");
            (
                usize::from(extracts || spans),
                vec![word("DAY", Keyword::DAY)],
            )
        }
        SqlDialect::Sqlite => respelt_sqlite(tokens, at),
        _ => (0, Vec::new()),
    }
}

fn respelt_sqlite(tokens: &[TokenWithSpan], at: usize) -> (usize, Vec<Token>) {
    let is = |i: usize, word: &str| is_word(tokens.get(i), word);
    let opens = |i: usize| tokens.get(i).is_some_and(|t| t.token == Token::LParen);
    let shifts =
        |token: &TokenWithSpan| matches!(token.token, Token::ShiftLeft | Token::ShiftRight);
    match () {
        () if tokens.get(at).is_some_and(shifts) => (1, vec![Token::Ampersand]),
        () if is(at, "ISNULL") && !opens(at + 1) => (
            1,
            vec![word("IS", Keyword::IS), word("NULL", Keyword::NULL)],
        ),
        () if is(at, "AS") && is(at + 1, "NOT") && is(at + 2, "MATERIALIZED") => {
            (3, vec![word("AS", Keyword::AS)])
        }
        () if is(at, "AS") && is(at + 1, "MATERIALIZED") && opens(at + 2) => {
            (2, vec![word("AS", Keyword::AS)])
        }
        // For each of these operators, the parser copies everything before it.
        () if ["GLOB", "MATCH", "REGEXP"].iter().any(|word| is(at, word))
            && ends_operand(at.checked_sub(1).and_then(|i| tokens.get(i))) =>
        {
            (1, vec![word("LIKE", Keyword::LIKE)])
        }
        // In SQLite, `a IS b` compares arbitrary values.
        () if is(at, "IS") && is(at + 1, "NOT") && is_value(tokens.get(at + 2)) => {
            (2, vec![Token::Eq])
        }
        () if is(at, "IS") && !is(at + 1, "NOT") && is_value(tokens.get(at + 1)) => {
            (1, vec![Token::Eq])
        }
        () if is(at, "NOT") && is(at + 1, "INDEXED") => (2, Vec::new()),
        () if is(at, "INDEXED") && is(at + 1, "BY") && is_name(tokens.get(at + 2)) => {
            (3, Vec::new())
        }
        () => (0, Vec::new()),
    }
}

/// Returns whether an operator may follow, which means that a word here is an operator and not a
/// function name.
fn ends_operand(token: Option<&TokenWithSpan>) -> bool {
    match token.map(|token| &token.token) {
        Some(Token::Word(word)) => {
            let is_not = word.value.eq_ignore_ascii_case("NOT");
            word.quote_style.is_some() || word.keyword == Keyword::NoKeyword || is_not
        }
        Some(Token::Number(..) | Token::RParen | Token::RBracket) => true,
        Some(Token::SingleQuotedString(_) | Token::DoubleQuotedString(_)) => true,
        _ => false,
    }
}

/// Returns whether the operand after IS is something the parser does not support there.
fn is_value(token: Option<&TokenWithSpan>) -> bool {
    let words = ["NULL", "TRUE", "FALSE", "DISTINCT"];
    token.is_some() && !words.iter().any(|word| is_word(token, word))
}

/// Returns whether the token is one of MySQL's compound time units.
fn is_unit(token: Option<&TokenWithSpan>) -> bool {
    const UNITS: [&str; 11] = [
        "SECOND_MICROSECOND",
        "MINUTE_MICROSECOND",
        "MINUTE_SECOND",
        "HOUR_MICROSECOND",
        "HOUR_SECOND",
        "HOUR_MINUTE",
        "DAY_MICROSECOND",
        "DAY_SECOND",
        "DAY_MINUTE",
        "DAY_HOUR",
        "YEAR_MONTH",
    ];
    UNITS.iter().any(|unit| is_word(token, unit))
}

/// Returns whether a table name may follow this token.
fn begins_table(before: Option<&TokenWithSpan>) -> bool {
    let ends_fetch = ["ROW", "ROWS"].iter().any(|word| is_word(before, word));
    !ends_fetch
        && !matches!(
            before.map(|t| &t.token),
            Some(Token::Number(..) | Token::Period)
        )
}

/// Returns whether a query may start after this token.
fn begins_query(before: Option<&TokenWithSpan>) -> bool {
    match before.map(|token| &token.token) {
        // `WITH t AS (…) TABLE t`
        None | Some(Token::LParen | Token::RParen) => true,
        Some(Token::Word(word)) => matches!(
            word.keyword,
            Keyword::UNION | Keyword::EXCEPT | Keyword::INTERSECT | Keyword::ALL
        ),
        Some(_) => false,
    }
}

fn is_word(token: Option<&TokenWithSpan>, expected: &str) -> bool {
    matches!(token.map(|t| &t.token), Some(Token::Word(word))
        if word.quote_style.is_none() && word.value.eq_ignore_ascii_case(expected))
}

fn is_name(token: Option<&TokenWithSpan>) -> bool {
    matches!(token.map(|t| &t.token), Some(Token::Word(_)))
}

fn select() -> Token {
    word("SELECT", Keyword::SELECT)
}

fn from() -> Token {
    word("FROM", Keyword::FROM)
}

fn word(value: &str, keyword: Keyword) -> Token {
    Token::Word(Word {
        value: value.to_owned(),
        quote_style: None,
        keyword,
    })
}

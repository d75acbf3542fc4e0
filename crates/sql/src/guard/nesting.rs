//! Limits the nesting of a query before its tree is built.
//!
//! Trees are walked, compared and dropped recursively. A limit on their depth bounds the stack
//! these functions use, and the parser's time.

use quillet_core::ErrorCode;

use super::GuardError;
use super::lexer::{Kind, Token};

/// Maximum number of chained operators over all open levels. Each adds a level to the tree,
/// although `a + b + c` does not look nested.
const LINKS: usize = 2_000;

/// Upper bound for the setting; deeper queries could overflow the stack.
const DEEPEST: usize = 128;

/// Operators that are keywords.
const WORDS: [&str; 24] = [
    "AND",
    "AT",
    "BETWEEN",
    "COLLATE",
    "DIV",
    "ESCAPE",
    "EXCEPT",
    "GLOB",
    "ILIKE",
    "IN",
    "INTERSECT",
    "IS",
    "ISNULL",
    "LIKE",
    "MATCH",
    "MINUS",
    "MOD",
    "NOTNULL",
    "OR",
    "OVERLAPS",
    "REGEXP",
    "RLIKE",
    "UNION",
    "XOR",
];

/// Keywords and symbols that can repeat any number of times before an operand.
const PREFIXES: [&str; 12] = [
    "NOT", "BINARY", "INTERVAL", "PRIOR", "EXISTS", "-", "+", "~", "!", "@", "ALL", "DISTINCT",
];

/// Keywords that start a new chain of operators.
const RESETS: [&str; 14] = [
    "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "JOIN", "ON", "WHEN", "THEN",
    "ELSE", "WITH", "AS",
];

#[derive(Default)]
struct NestingLevel {
    /// Number of operators in the current expression.
    links: usize,
    /// Number of set operations, which chain over the whole level.
    sets: usize,
}

/// Rejects a query that nests deeper than `depth`.
pub(super) fn check(source: &str, tokens: &[Token], depth: usize) -> Result<(), GuardError> {
    // The setting cannot exceed the depth that the stack size was measured for.
    let depth = depth.min(DEEPEST);
    let mut levels = vec![NestingLevel::default()];
    // A running total over all open levels avoids summing them for every token.
    let mut links = 0usize;
    // `NOT NOT NOT …` and `- - - …` nest one level for each word, without any bracket.
    let mut prefixes = 0usize;
    for token in tokens {
        let word = word_of(source, token);
        prefixes = if PREFIXES.contains(&word.as_str()) {
            prefixes + 1
        } else {
            0
        };
        match word.as_str() {
            "(" | "[" | "CASE" => levels.push(NestingLevel::default()),
            // The parser reports an unbalanced closing bracket with a better message.
            ")" | "]" | "END" if levels.len() > 1 => {
                let closed = levels.pop().unwrap_or_default();
                links = links.saturating_sub(closed.links + closed.sets);
            }
            "," => restart(&mut levels, &mut links),
            _ if RESETS.contains(&word.as_str()) => restart(&mut levels, &mut links),
            _ => {
                if let Some(level) = levels.last_mut().filter(|_| is_link(token, &word)) {
                    let is_set = matches!(word.as_str(), "UNION" | "EXCEPT" | "INTERSECT");
                    *(if is_set {
                        &mut level.sets
                    } else {
                        &mut level.links
                    }) += 1;
                    links += 1;
                }
            }
        }
        let nested = levels.len() - 1 + prefixes;
        if nested > depth {
            let message = format!("the query is nested more than {depth} levels deep");
            return Err(refusal(source, token, message));
        }
        if links > LINKS {
            let message = format!("the query chains more than {LINKS} operators");
            return Err(refusal(source, token, message));
        }
    }
    Ok(())
}

fn restart(levels: &mut [NestingLevel], links: &mut usize) {
    if let Some(level) = levels.last_mut() {
        *links = links.saturating_sub(level.links);
        level.links = 0;
    }
}

fn word_of(source: &str, token: &Token) -> String {
    match token.kind {
        Kind::Word | Kind::Mark => token.text(source).to_ascii_uppercase(),
        _ => String::new(),
    }
}

fn is_link(token: &Token, word: &str) -> bool {
    match token.kind {
        Kind::Mark => word != "." && word != ";",
        Kind::Word => WORDS.contains(&word),
        _ => false,
    }
}

fn refusal(source: &str, token: &Token, message: String) -> GuardError {
    GuardError::new(ErrorCode::GuardDepth, message)
        .at(source, &token.span)
        .help("use a list (IN), a WITH clause, or several questions")
}

//! Limits on the nesting of a query, checked before its tree is built.
//!
//! A tree is walked, compared and freed by functions that call themselves; a bound on its depth
//! is what keeps them within the stack, and a parser within its time.

use quillet_core::ErrorCode;

use super::GuardError;
use super::lexer::{Kind, Token};

/// Most operators in a row, over all levels that are open: each of them is a level of the tree,
/// too, though no one would call `a + b + c` nested.
const LINKS: usize = 2_000;

/// No setting allows more than this: what is deeper could overflow the stack.
const DEEPEST: usize = 128;

/// Operators that are words.
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

/// What may stand before an operand any number of times.
const PREFIXES: [&str; 12] = [
    "NOT", "BINARY", "INTERVAL", "PRIOR", "EXISTS", "-", "+", "~", "!", "@", "ALL", "DISTINCT",
];

/// Words after which a chain of operators begins anew.
const RESETS: [&str; 14] = [
    "SELECT", "FROM", "WHERE", "GROUP", "HAVING", "ORDER", "LIMIT", "JOIN", "ON", "WHEN", "THEN",
    "ELSE", "WITH", "AS",
];

#[derive(Default)]
struct NestingLevel {
    /// Operators of the expression at hand.
    links: usize,
    /// Set operations: they chain over the whole level.
    sets: usize,
}

/// Rejects a query that nests deeper than `depth`.
pub(super) fn check(source: &str, tokens: &[Token], depth: usize) -> Result<(), GuardError> {
    // The setting cannot exceed what the stack was measured for.
    let depth = depth.min(DEEPEST);
    let mut levels = vec![NestingLevel::default()];
    // Links over all open levels, so that every token costs the same.
    let mut links = 0usize;
    // `NOT NOT NOT …` and `- - - …` nest one level for each word without any bracket.
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
            // An unbalanced closing bracket is left to the parser, which has a better message for
            // it.
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
            let message = format!("the query nests more than {depth} levels deep");
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

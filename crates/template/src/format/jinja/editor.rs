//! Syntax tokens and completion items for editors.

use quillet_core::{Span, TokenKind};

use super::lexer::{Token, survey};
use super::syntax::JinjaPreset;
use crate::editor::{
    CompletionItem, CompletionList, CompletionSpot, ExternalNames, MOST_FAULTS, TokenScan,
};

/// Tags that open a block, and the tags that end one.
const TAGS: &[&str] = &[
    "if",
    "elif",
    "else",
    "endif",
    "for",
    "endfor",
    "set",
    "endset",
    "macro",
    "endmacro",
    "call",
    "endcall",
    "filter",
    "endfilter",
    "with",
    "endwith",
    "block",
    "endblock",
    "include",
    "import",
    "from",
    "extends",
    "raw",
    "endraw",
];

/// Tags that exist only in the presets of Hugging Face.
const TAGS_OF_CHATS: &[&str] = &["break", "continue", "generation", "endgeneration"];

/// Operators that are words.
const BETWEEN: &[&str] = &["and", "or", "not", "in", "is", "if", "else"];

const VALUES: &[&str] = &["true", "false", "none", "not"];

/// Names of the format's functions, filters and tests.
#[derive(Debug)]
pub(super) struct FormatNames<'a> {
    pub(super) functions: Vec<&'a str>,
    pub(super) filters: Vec<&'a str>,
    pub(super) tests: Vec<&'a str>,
}

/// Returns the tokens of a text. After an error, scanning continues at the next tag.
pub(super) fn scan(text: &str, preset: JinjaPreset) -> TokenScan {
    let found = survey(text, preset, MOST_FAULTS);
    let mut scan = TokenScan::default();
    let mut tag = TagState::default();
    for (index, (token, span)) in found.tokens.iter().enumerate() {
        let next = found.tokens.get(index + 1).map(|(token, _)| token);
        one(text, token, *span, next, &mut tag, &mut scan);
    }
    if !found.is_open {
        scan.open = None;
    }
    let open = scan.open.map(|open| scan.tokens[open]);
    for span in found.comments {
        let signed = matches!(text.as_bytes()[span.start - 1], b'-' | b'+');
        let start = span.start - 2 - usize::from(signed);
        let after = text.get(span.end..).unwrap_or_default();
        let end = span.end + after.find("#}").map_or(0, |close| close + 2);
        scan.add(start, end, TokenKind::Comment);
    }
    for span in found.raws {
        raw(text, span, &mut scan);
    }
    scan.tokens.sort_by_key(|token| token.span.start);
    scan.open = open.and_then(|open| scan.tokens.iter().rposition(|token| *token == open));
    scan
}

/// State of the current tag.
#[derive(Default)]
struct TagState<'t> {
    /// Keyword of a block tag.
    word: &'t str,
    /// Whether the next token is the keyword.
    begins: bool,
    /// Number of open brackets.
    depth: usize,
    last: PreviousToken,
}

/// Kind of the previous token.
#[derive(Clone, Copy, Default, PartialEq)]
enum PreviousToken {
    #[default]
    Other,
    Dot,
    Pipe,
    Is,
    /// A keyword that declares the following name.
    Word,
}

fn one<'t>(
    text: &str,
    token: &Token<'t>,
    span: Span,
    next: Option<&Token<'_>>,
    tag: &mut TagState<'t>,
    scan: &mut TokenScan,
) {
    let (start, end) = (span.start, span.end);
    let mut last = PreviousToken::Other;
    match token {
        Token::Text(_) | Token::End => {}
        Token::PrintBegin | Token::TagBegin => {
            scan.begin(start, end);
            *tag = TagState {
                begins: *token == Token::TagBegin,
                ..TagState::default()
            };
        }
        Token::PrintEnd | Token::TagEnd => {
            // The token does not include the white space that the tag removes.
            let signed = text
                .get(start..)
                .is_some_and(|rest| rest.starts_with(['-', '+']));
            scan.end(start, start + 2 + usize::from(signed));
        }
        Token::Str(_) => scan.add(start, end, TokenKind::String),
        Token::Int(_) | Token::Float(_) => scan.add(start, end, TokenKind::Number),
        Token::Operator(operator) => {
            match *operator {
                "(" | "[" | "{" => tag.depth += 1,
                ")" | "]" | "}" => tag.depth = tag.depth.saturating_sub(1),
                "." => last = PreviousToken::Dot,
                "|" => last = PreviousToken::Pipe,
                _ => {}
            }
            scan.add(start, end, TokenKind::Operator);
        }
        Token::Name(name) => {
            let kind = name_kind(name, next, tag);
            if kind == TokenKind::Keyword {
                last = match *name {
                    "is" => PreviousToken::Is,
                    "not" if tag.last == PreviousToken::Is => PreviousToken::Is,
                    _ if tag.begins => PreviousToken::Word,
                    _ => PreviousToken::Other,
                };
            }
            if tag.begins {
                tag.word = name;
                tag.begins = false;
            }
            scan.add(start, end, kind);
        }
    }
    tag.last = last;
}

fn name_kind(name: &str, next: Option<&Token<'_>>, tag: &TagState<'_>) -> TokenKind {
    let is_next = |operator: &str| matches!(next, Some(Token::Operator(next)) if *next == operator);
    match tag.last {
        _ if tag.begins => return TokenKind::Keyword,
        PreviousToken::Dot if is_next("(") => return TokenKind::Function,
        PreviousToken::Dot => return TokenKind::Property,
        PreviousToken::Pipe => return TokenKind::Function,
        PreviousToken::Is if name != "not" => return TokenKind::Function,
        PreviousToken::Word if matches!(tag.word, "filter" | "macro" | "block") => {
            return TokenKind::Function;
        }
        _ => {}
    }
    let is_keyword = match name {
        "and" | "or" | "not" | "in" | "is" | "if" | "else" => true,
        "true" | "false" | "none" | "True" | "False" | "None" => true,
        "recursive" => tag.word == "for" && tag.depth == 0,
        "import" | "as" => matches!(tag.word, "import" | "from"),
        "ignore" | "missing" => tag.word == "include",
        "with" | "without" | "context" => matches!(tag.word, "import" | "from" | "include"),
        "scoped" | "required" => tag.word == "block",
        _ => false,
    };
    if is_keyword {
        TokenKind::Keyword
    } else if is_next("(") {
        TokenKind::Function
    } else if is_next("=") && tag.depth > 0 {
        TokenKind::Property
    } else {
        TokenKind::Variable
    }
}

/// Adds `{% raw %}` or its end tag, without the white space that it removes.
fn raw(text: &str, span: Span, scan: &mut TokenScan) {
    let tag = text
        .get(span.start..span.end)
        .unwrap_or_default()
        .trim_end();
    let end = span.start + tag.len();
    let inside = tag.trim_start_matches(['{', '%', '-', '+']);
    let opened = span.start + tag.len() - inside.len();
    let word = inside.trim_start();
    let start = end - word.len();
    let length = word
        .find(|c: char| !c.is_alphanumeric())
        .unwrap_or(word.len());
    let close = word.get(length..).unwrap_or_default().trim_start();
    scan.add(span.start, opened, TokenKind::Delimiter);
    scan.add(start, start + length, TokenKind::Keyword);
    scan.add(end - close.len(), end, TokenKind::Delimiter);
}

/// Returns the completion items at a byte offset.
pub(super) fn completions(
    text: &str,
    at: usize,
    names: &ExternalNames<'_>,
    preset: JinjaPreset,
    words: &FormatNames<'_>,
) -> Vec<CompletionItem> {
    let Some(spot) = CompletionSpot::find(text, at, |text| scan(text, preset)) else {
        return Vec::new();
    };
    let mut list = CompletionList::new(spot.span);
    let is_block = spot.opening().starts_with("{%");
    match spot.before() {
        None if is_block => {
            list.keywords("block", TAGS);
            if preset.is_hugging_face() {
                list.keywords("block", TAGS_OF_CHATS);
            }
        }
        Some((TokenKind::Operator, ".")) => {}
        Some((TokenKind::Operator, "|")) => {
            let late: &[String] = match preset {
                JinjaPreset::Script => names.functions,
                _ => &[],
            };
            list.add(TokenKind::Function, "function", late.iter().cloned());
            list.add(TokenKind::Function, "filter", words.filters.iter().copied());
        }
        Some((TokenKind::Keyword, "is")) => {
            list.keywords("", &["not"]);
            list.add(TokenKind::Function, "test", words.tests.iter().copied());
        }
        Some((TokenKind::Keyword, "not"))
            if spot.before_that() == Some((TokenKind::Keyword, "is")) =>
        {
            list.add(TokenKind::Function, "test", words.tests.iter().copied());
        }
        Some((TokenKind::Keyword, "filter")) => {
            list.add(TokenKind::Function, "filter", words.filters.iter().copied());
        }
        // After these keywords, the author chooses a new name, or nothing can follow.
        Some((TokenKind::Keyword, "for" | "set" | "macro" | "block" | "raw" | "endraw")) => {}
        Some((TokenKind::Keyword, word)) if word.starts_with("end") => {}
        Some(_) if spot.is_after_value() => list.keywords("operator", BETWEEN),
        _ => {
            list.variables(names);
            list.functions(names, &words.functions, "built-in function");
            list.keywords("value", VALUES);
        }
    }
    list.done()
}

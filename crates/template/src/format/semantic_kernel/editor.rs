//! Syntax tokens and completion items for editors.

use quillet_core::TokenKind as Colour;

use super::encoding::HostLanguage;
use super::scan::{PartScanner, TemplatePart};
use super::token::{Token, TokenKind, read};
use crate::editor::{CompletionItem, CompletionList, CompletionSpot, ExternalNames, TokenScan};

/// Returns the tokens of a text. An unclosed last block has tokens too.
pub(super) fn scan(text: &str, dialect: HostLanguage) -> TokenScan {
    let mut scan = TokenScan::default();
    let mut pieces = PartScanner::new(text);
    let mut last = 0;
    loop {
        let start = pieces.end();
        let Some(piece) = pieces.next() else {
            break;
        };
        match piece {
            TemplatePart::Text(..) => last = start,
            TemplatePart::Block(content, at) => {
                scan.begin(start, start + 2);
                block(content, at, dialect, &mut scan);
                scan.end(pieces.end() - 2, pieces.end());
                last = pieces.end();
            }
        }
    }
    let tail = text.get(last..).unwrap_or_default();
    if let Some(open) = tail.rfind("{{")
        && !tail.get(open..).unwrap_or_default().contains("}}")
    {
        let start = last + open;
        scan.begin(start, start + 2);
        let content = text.get(start + 2..).unwrap_or_default();
        let inner = content.trim_start();
        let at = text.len() - inner.len();
        if !block(inner.trim_end(), at, dialect, &mut scan) {
            scan.open = None;
        }
    }
    scan
}

/// Adds the tokens of a block. Returns whether the block could continue.
fn block(content: &str, at: usize, dialect: HostLanguage, scan: &mut TokenScan) -> bool {
    let mut tokens = Vec::new();
    let whole = read(content, at, dialect, &mut tokens);
    for token in &tokens {
        add(token, content, at, scan);
    }
    let Err(problem) = whole else {
        return true;
    };
    // A `$` without a name and a name without `=` are not errors, because the author may still be
    // typing.
    let rest = content.get(problem.span.start - at..).unwrap_or_default();
    let is_name = |text: &str| {
        text.bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    };
    let named = rest.split_once('=');
    let value = named.map_or(rest, |(_, value)| value);
    let value_at = at + content.len() - value.len();
    if let Some((name, _)) = named.filter(|(name, _)| is_name(name)) {
        let start = at + content.len() - rest.len();
        scan.add(start, start + name.len(), Colour::Property);
        scan.add(start + name.len(), start + name.len() + 1, Colour::Operator);
    }
    match value.strip_prefix('$') {
        Some(name) if is_name(name) => {
            scan.add(value_at, value_at + value.len(), Colour::Variable);
            true
        }
        _ => is_name(value),
    }
}

/// Adds a token. `at` is the offset of its block in the text.
fn add(token: &Token<'_>, block: &str, at: usize, scan: &mut TokenScan) {
    let (start, end) = (token.span.start, token.span.end);
    match &token.kind {
        TokenKind::Variable(_) => scan.add(start, end, Colour::Variable),
        TokenKind::Value(_) => scan.add(start, end, Colour::String),
        TokenKind::Function(_) => scan.add(start, end, Colour::Function),
        TokenKind::Named(name, value) => {
            let named = start + name.len();
            scan.add(start, named, Colour::Property);
            let between = block.get(named - at..value.span.start - at);
            if let Some(equals) = between.and_then(|between| between.find('=')) {
                scan.add(named + equals, named + equals + 1, Colour::Operator);
            }
            add(value, block, at, scan);
        }
    }
}

/// Returns the completion items at a byte offset.
pub(super) fn completions(
    text: &str,
    at: usize,
    names: &ExternalNames<'_>,
    dialect: HostLanguage,
) -> Vec<CompletionItem> {
    let Some(spot) = CompletionSpot::find(text, at, |text| scan(text, dialect)) else {
        return Vec::new();
    };
    let mut list = CompletionList::new(spot.span);
    let variables = names.variables.iter().map(|name| format!("${name}"));
    match spot.before() {
        None => {
            list.add(Colour::Variable, "variable", variables);
            list.functions(names, &[], "");
        }
        // Nothing can follow a variable or a value that begins the block.
        Some(_) if spot.head().starts_with(['$', '\'', '"']) => {}
        Some(_) => list.add(Colour::Variable, "variable", variables),
    }
    list.done()
}

//! Syntax tokens and completion items for editors.

use quillet_core::TokenKind;

use super::super::javascript::is_space;
use super::lexer::{Lexer, RawTag, TagKind, Token};
use crate::editor::{
    CompletionItem, CompletionList, CompletionSpot, ExternalNames, MOST_FAULTS, TokenScan,
};

/// Returns the tokens of a text. An unclosed tag has tokens for its opening and its name.
pub(super) fn scan(text: &str) -> TokenScan {
    let (found, faults) = Lexer::new(text).survey(MOST_FAULTS);
    let mut scan = TokenScan::default();
    let mut faults = faults.iter().peekable();
    for token in found {
        let Token::Tag(tag) = token else {
            continue;
        };
        while let Some(fault) = faults.next_if(|fault| fault.start < tag.span.start) {
            unclosed(text, fault.start, fault.end, tag.span.start, &mut scan);
        }
        whole(text, &tag, &mut scan);
    }
    while let Some(fault) = faults.next() {
        let end = faults.peek().map_or(text.len(), |next| next.start);
        unclosed(text, fault.start, fault.end, end, &mut scan);
    }
    scan
}

fn whole(text: &str, tag: &RawTag<'_>, scan: &mut TokenScan) {
    let (start, end) = (tag.span.start, tag.span.end);
    match tag.kind {
        TagKind::Comment => return scan.add(start, end, TokenKind::Comment),
        TagKind::Delimiters => return scan.add(start, end, TokenKind::Delimiter),
        _ => {}
    }
    let name = tag.name_span;
    let opening = text.get(start..name.start).unwrap_or_default();
    scan.begin(start, start + opening.trim_end_matches(is_space).len());
    names(tag.name, name.start, tag.kind, scan);
    let closing = text.get(name.end..end).unwrap_or_default();
    scan.end(end - closing.trim_start_matches(is_space).len(), end);
}

/// Adds the tokens of a path. A single `.` is the value itself.
fn names(path: &str, start: usize, kind: TagKind, scan: &mut TokenScan) {
    if kind == TagKind::Partial {
        return scan.add(start, start + path.len(), TokenKind::Function);
    }
    if path == "." {
        return scan.add(start, start + 1, TokenKind::Variable);
    }
    let mut at = start;
    for (index, part) in path.split('.').enumerate() {
        if index > 0 {
            scan.add(at, at + 1, TokenKind::Operator);
            at += 1;
        }
        let kind = match index {
            0 => TokenKind::Variable,
            _ => TokenKind::Property,
        };
        scan.add(at, at + part.len(), kind);
        at += part.len();
    }
}

/// Adds an unclosed tag. Its opening is `start..opened`, and its text ends at `end`.
fn unclosed(text: &str, start: usize, opened: usize, end: usize, scan: &mut TokenScan) {
    let rest = text.get(opened..end).unwrap_or_default();
    let kind = match rest.as_bytes().first() {
        Some(b'!' | b'=') => {
            scan.open = None;
            return scan.add(start, opened, TokenKind::Delimiter);
        }
        Some(b'>') => TagKind::Partial,
        _ => TagKind::Value,
    };
    let sign = usize::from(rest.starts_with(['#', '^', '/', '>', '{', '&']));
    scan.begin(start, opened + sign);
    let after = rest.get(sign..).unwrap_or_default();
    let name = after.trim_start_matches(is_space);
    let at = opened + sign + (after.len() - name.len());
    let word = name.split(is_space).next().unwrap_or_default();
    names(word, at, kind, scan);
    if !name
        .get(word.len()..)
        .unwrap_or_default()
        .trim_matches(is_space)
        .is_empty()
    {
        // Several words are probably text, so completion is impossible.
        scan.open = None;
    }
}

/// Returns the completion items at a byte offset, which are the names of variables.
pub(super) fn completions(text: &str, at: usize, names: &ExternalNames<'_>) -> Vec<CompletionItem> {
    let Some(spot) = CompletionSpot::find(text, at, scan) else {
        return Vec::new();
    };
    let mut list = CompletionList::new(spot.span);
    if spot.before().is_none() && !spot.opening().ends_with('>') {
        list.variables(names);
        list.functions(names, &[], "");
    }
    list.done()
}

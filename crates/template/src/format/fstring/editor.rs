//! Syntax tokens and completion items for editors.

use quillet_core::TokenKind;

use super::parser::{FieldPlace, places};
use crate::editor::{
    CompletionItem, CompletionList, CompletionSpot, ExternalNames, MOST_FAULTS, TokenScan,
};

/// Returns the tokens of a text. An unclosed field has tokens for its brace and its name.
pub(super) fn scan(text: &str) -> TokenScan {
    let mut scan = TokenScan::default();
    for place in places(text, MOST_FAULTS) {
        field(text, &place, &mut scan);
    }
    scan
}

fn field(text: &str, place: &FieldPlace, scan: &mut TokenScan) {
    let (start, end) = (place.name.start, place.name.end);
    scan.begin(start - 1, start);
    let name = text.get(start..end).unwrap_or_default();
    let length = name.find(['.', '[']).unwrap_or(name.len());
    if !place.closed {
        let word = name.trim_end();
        if word.contains(char::is_whitespace) {
            // A brace in literal text does not open a field.
            scan.open = None;
        }
        let word = word.split(char::is_whitespace).next().unwrap_or_default();
        scan.add(start, start + length.min(word.len()), TokenKind::Variable);
        return;
    }
    let kind = if name
        .bytes()
        .next()
        .is_some_and(|byte| byte.is_ascii_digit())
    {
        TokenKind::Number
    } else {
        TokenKind::Variable
    };
    scan.add(start, start + length, kind);
    path(name, start, length, scan);
    let mut done = end;
    if let Some((at, letter)) = place.conversion {
        scan.add(at - 1, at, TokenKind::Operator);
        scan.add(at, at + letter.len_utf8(), TokenKind::Keyword);
        done = at + letter.len_utf8();
    }
    let close = place.end - 1;
    if done < close {
        scan.add(done, done + 1, TokenKind::Operator);
        done += 1;
        for inner in &place.nested {
            scan.add(done, inner.name.start - 1, TokenKind::String);
            field(text, inner, scan);
            done = inner.end;
        }
        scan.add(done, close, TokenKind::String);
    }
    scan.end(close, place.end);
}

/// Adds the tokens of an access: `[key]`, `[0]`, `.attribute`.
fn path(name: &str, start: usize, mut at: usize, scan: &mut TokenScan) {
    while let Some(rest) = name.get(at..).filter(|rest| !rest.is_empty()) {
        let (open, close) = match rest.as_bytes() {
            [b'[', ..] => (1, rest.find(']')),
            [b'.', ..] => (1, None),
            _ => (0, None),
        };
        let inner = rest.get(open..).unwrap_or_default();
        let length = match close {
            Some(close) => close - open,
            None => inner.find(['.', '[']).unwrap_or(inner.len()),
        };
        let key = inner.get(..length).unwrap_or_default();
        let is_number = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
        let kind = if is_number {
            TokenKind::Number
        } else {
            TokenKind::Property
        };
        let from = start + at;
        scan.add(from, from + open, TokenKind::Operator);
        scan.add(from + open, from + open + length, kind);
        at += open + length;
        if close.is_some() {
            scan.add(start + at, start + at + 1, TokenKind::Operator);
            at += 1;
        }
    }
}

/// Returns the completion items at a byte: variable names.
pub(super) fn completions(text: &str, at: usize, names: &ExternalNames<'_>) -> Vec<CompletionItem> {
    let Some(spot) = CompletionSpot::find(text, at, scan) else {
        return Vec::new();
    };
    let mut list = CompletionList::new(spot.span);
    if spot.before().is_none() {
        list.variables(names);
        list.functions(names, &[], "");
    }
    list.done()
}

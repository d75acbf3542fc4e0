//! Formats the lines of one part of a script.

use std::fmt::Write;

use quillet_core::Span;

use crate::reader::{LayoutLine, after_dashes, chain_line, classified, wide_colon};

/// A column of the original text and its new column.
#[derive(Clone, Copy)]
struct ColumnShift {
    from: usize,
    to: usize,
}

/// Formats comments and blank lines: no trailing white space, at most one empty line in a row.
pub(super) fn tidy(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = line.trim_end();
        if !line.is_empty() || !(out == "\n" || out.ends_with("\n\n")) {
            out.push_str(line);
            out.push('\n');
        }
    }
    out
}

/// Formats `---` or `---!`, with its comment.
pub(super) fn separator(text: &str, span: Span, pin: bool) -> String {
    let row = text
        .get(span.start..span.end)
        .unwrap_or_default()
        .trim_end();
    let mark = if pin { "---!" } else { "---" };
    match row.find('#').and_then(|at| row.get(at..)) {
        Some(comment) => format!("{mark} {comment}\n"),
        None => format!("{mark}\n"),
    }
}

/// Formats the lines of a front matter.
pub(super) fn front(text: &str, span: Span) -> String {
    lines(text, span, &[])
}

/// Formats the lines of an instruction.
pub(super) fn instruction(text: &str, span: Span, roles: &[String]) -> String {
    match chain_line(text, span) {
        Some((line, rest)) => {
            let after = Span {
                start: rest,
                end: span.end,
            };
            format!(
                "{line}\n{}",
                tidy(text.get(after.start..after.end).unwrap_or_default())
            )
        }
        None => lines(text, span, roles),
    }
}

fn lines(text: &str, span: Span, roles: &[String]) -> String {
    let rows = classified(text, span);
    let mut columns = vec![ColumnShift { from: 0, to: 0 }];
    // Number of columns by which the block scalar that is being copied is shifted.
    let mut block: Option<ColumnShift> = None;
    let mut out = String::new();
    for row in &rows {
        let blank = row.text.is_empty();
        if row.inside && !(blank && block.is_none()) {
            let column = *block.get_or_insert_with(|| inner(row, &columns));
            verbatim(&mut out, text, row, column);
            continue;
        }
        if blank {
            if row.inside || !out.ends_with("\n\n") {
                out.push('\n');
            }
            continue;
        }
        block = None;
        let to = place(row, &mut columns);
        let _ = write!(out, "{:to$}", "");
        out.push_str(&content(row, roles));
        out.push('\n');
    }
    out
}

/// Returns the column shift for the lines of a block scalar.
fn inner(row: &LayoutLine<'_>, columns: &[ColumnShift]) -> ColumnShift {
    let owner = columns.iter().rev().find(|column| column.from < row.indent);
    ColumnShift {
        from: row.indent,
        to: owner.map_or(2, |owner| owner.to + 2),
    }
}

fn verbatim(out: &mut String, text: &str, row: &LayoutLine<'_>, column: ColumnShift) {
    let line = text.get(row.span.start..row.span.end).unwrap_or_default();
    let line = line.trim_end_matches(['\n', '\r']);
    let blank = line.trim_start_matches(' ').is_empty();
    let cut = column
        .from
        .min(line.len() - line.trim_start_matches(' ').len());
    if !blank {
        let to = column.to;
        let _ = write!(out, "{:to$}", "");
    }
    let rest = line.get(cut..).unwrap_or_default();
    out.push_str(rest);
    out.push('\n');
}

/// Returns the new column of a line: that of its siblings, or two more than its parent's.
fn place(row: &LayoutLine<'_>, columns: &mut Vec<ColumnShift>) -> usize {
    if row.text.starts_with('#') {
        let owner = columns
            .iter()
            .rev()
            .find(|column| column.from <= row.indent);
        return match owner {
            Some(owner) if owner.from < row.indent => owner.to + 2,
            Some(owner) => owner.to,
            None => 0,
        };
    }
    while columns.len() > 1 && columns.last().is_some_and(|last| last.from > row.indent) {
        columns.pop();
    }
    let last = columns
        .last()
        .copied()
        .unwrap_or(ColumnShift { from: 0, to: 0 });
    let to = if last.from < row.indent {
        last.to + 2
    } else {
        last.to
    };
    if last.from < row.indent {
        columns.push(ColumnShift {
            from: row.indent,
            to,
        });
    }
    dashes(row, to, columns);
    to
}

/// Adds the columns after each dash of `- - key: value`.
fn dashes(row: &LayoutLine<'_>, to: usize, columns: &mut Vec<ColumnShift>) {
    let (mut text, mut from, mut to) = (row.text, row.indent, to);
    while let Some(rest) = text.strip_prefix("- ") {
        let rest = rest.trim_start();
        from += text.len() - rest.len();
        to += 2;
        columns.push(ColumnShift { from, to });
        text = rest;
    }
}

/// Returns the text of a line with one space after each dash and after the first key's colon.
fn content(row: &LayoutLine<'_>, roles: &[String]) -> String {
    let rest = after_dashes(row.text);
    let mut text = row.text;
    let mut out = String::new();
    while let Some(after) = text.strip_prefix("- ") {
        text = after.trim_start();
        out.push_str("- ");
    }
    let wide = wide_colon(row, roles).map(|at| at - row.span.start - row.column());
    let (key, value) = match wide {
        Some(at) => (rest.get(..at), rest.get(at + '：'.len_utf8()..)),
        None => match rest.split_once(": ") {
            Some((key, value)) => (Some(key), Some(value)),
            None => (None, None),
        },
    };
    let word = |key: &&str| {
        key.chars()
            .all(|char| char.is_alphanumeric() || "_$".contains(char))
    };
    match (key.filter(|key| wide.is_some() || word(key)), value) {
        (Some(key), Some(value)) if !value.trim_start().starts_with('#') => {
            out.push_str(key.trim_end());
            out.push_str(": ");
            out.push_str(value.trim_start());
        }
        _ => out.push_str(rest),
    }
    let end = out.trim_end().len();
    out.truncate(end);
    out
}

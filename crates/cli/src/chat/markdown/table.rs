//! Tables on a terminal: columns if they fit, or else one line for each value.

use std::ops::Range;

use pulldown_cmark::{Alignment, Event, Tag, TagEnd};

use super::inline;
use super::lines::LineWrapper;
use super::style::TextStyle;

/// Minimum width of a column, unless its values are narrower.
const NARROWEST: usize = 8;
const BETWEEN: &str = " │ ";

type CellEvents<'a, 't> = &'a [(Event<'t>, Range<usize>)];
type RowCells<'a, 't> = Vec<CellEvents<'a, 't>>;

/// Shows a table. The source before `shown` is already shown.
pub(super) fn show(
    lines: &mut LineWrapper,
    events: &[(Event<'_>, Range<usize>)],
    alignments: &[Alignment],
    shown: usize,
) {
    let rows = rows(events);
    let Some((head, rest)) = rows.split_first() else {
        return;
    };
    let layout = |cell: CellEvents<'_, '_>, look: TextStyle, width: usize| {
        let mut lines = LineWrapper::new(width, true);
        inline::show(&mut lines, cell, look, shown, usize::MAX);
        lines.into_lines()
    };
    let look = |row: usize| {
        if row == 0 {
            TextStyle::BOLD
        } else {
            TextStyle::PLAIN
        }
    };
    let mut natural = vec![1; head.len()];
    for (number, row) in rows.iter().enumerate() {
        for (column, cell) in row.iter().enumerate().take(natural.len()) {
            // Without a width limit, a line is as long as the content of the cell.
            let laid_out = layout(cell, look(number), usize::MAX);
            let widest = laid_out.iter().map(|(_, width)| *width).max();
            natural[column] = natural[column].max(widest.unwrap_or(0));
        }
    }
    let between = 3 * natural.len().saturating_sub(1);
    let Some(widths) = fit(&natural, lines.room().saturating_sub(between)) else {
        return one_by_one(lines, head, rest, shown);
    };
    for (number, row) in rows.iter().enumerate() {
        let cells = row.iter().zip(&widths);
        let cells: Vec<_> = cells
            .map(|(cell, width)| layout(cell, look(number), *width))
            .collect();
        let height = cells.iter().map(Vec::len).max().unwrap_or(0).max(1);
        for line in 0..height {
            let cells = cells.iter().map(|cell| cell.get(line));
            lines.made(&one_line(cells, &widths, alignments));
        }
        if number == 0 {
            let dashes: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
            lines.verbatim(&dashes.join("─┼─"), TextStyle::DIM);
        }
    }
}

fn one_line<'c>(
    cells: impl Iterator<Item = Option<&'c (String, usize)>>,
    widths: &[usize],
    alignments: &[Alignment],
) -> String {
    let mut line = String::new();
    for (column, (cell, width)) in cells.zip(widths).enumerate() {
        if column > 0 {
            line.push_str(BETWEEN);
        }
        let (text, taken) = cell.map_or(("", 0), |(text, width)| (text.as_str(), *width));
        let free = width.saturating_sub(taken);
        let before = match alignments.get(column) {
            Some(Alignment::Right) => free,
            Some(Alignment::Center) => free / 2,
            _ => 0,
        };
        line.push_str(&" ".repeat(before));
        line.push_str(text);
        line.push_str(&" ".repeat(free - before));
    }
    // Trailing spaces would wrap when the terminal becomes narrower.
    line.truncate(line.trim_end().len());
    line
}

/// Returns the cells of each row.
fn rows<'a, 't>(events: &'a [(Event<'t>, Range<usize>)]) -> Vec<RowCells<'a, 't>> {
    let mut rows: Vec<RowCells<'a, 't>> = Vec::new();
    let mut from = 0;
    for (at, (event, _)) in events.iter().enumerate() {
        match event {
            Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => from = at + 1,
            Event::End(TagEnd::TableCell) => {
                if let Some(row) = rows.last_mut() {
                    row.push(&events[from..at]);
                }
            }
            _ => {}
        }
    }
    rows
}

/// Reduces the widest columns until all fit. Returns `None` if they would become too narrow.
fn fit(natural: &[usize], room: usize) -> Option<Vec<usize>> {
    let total = |most: usize| {
        natural
            .iter()
            .map(|width| (*width).min(most))
            .sum::<usize>()
    };
    let widest = natural.iter().copied().max().unwrap_or(0);
    if total(widest) <= room {
        return Some(natural.to_vec());
    }
    // Binary search for the largest maximum width at which all columns fit.
    let (mut fits, mut too_wide) = (0, widest);
    while too_wide - fits > 1 {
        let middle = fits + (too_wide - fits) / 2;
        if total(middle) <= room {
            fits = middle
        } else {
            too_wide = middle
        }
    }
    let widths = natural.iter().map(|width| (*width).min(fits)).collect();
    (fits >= NARROWEST).then_some(widths)
}

/// Writes one line for each value, prefixed with the name of its column.
fn one_by_one(
    lines: &mut LineWrapper,
    head: &RowCells<'_, '_>,
    rows: &[RowCells<'_, '_>],
    shown: usize,
) {
    if rows.is_empty() {
        for cell in head {
            inline::show(lines, cell, TextStyle::BOLD, shown, usize::MAX);
            lines.end_line();
        }
    }
    for (number, row) in rows.iter().enumerate() {
        if number > 0 {
            lines.blank("");
        }
        for (name, cell) in head.iter().zip(row) {
            inline::show(lines, name, TextStyle::BOLD, shown, usize::MAX);
            lines.push(':', TextStyle::BOLD);
            lines.push(' ', TextStyle::PLAIN);
            inline::show(lines, cell, TextStyle::PLAIN, shown, usize::MAX);
            lines.end_line();
        }
    }
}

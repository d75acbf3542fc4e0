//! Formats rows as a table, or as one line for each value if the table is too wide.

use quillet_sql::{Cell, RowSet};

use super::cell::{is_number, one_line, text};
use crate::cells::{fold, truncate, width};
use crate::terminal::{TextStyle, styled};

/// Minimum width of a text column. If a column would have to be narrower, rows are shown as lines.
const LEAST_WIDTH: usize = 8;
/// Maximum length of a value when rows are shown as lines.
const MOST_FOLDED: usize = 4_000;
/// Maximum width of a column name when rows are shown as lines.
const MOST_NAME: usize = 30;

/// Options for showing rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct TableStyle {
    /// Width of the terminal in cells; `None` without a limit.
    pub(super) width: Option<usize>,
    pub(super) colour: bool,
    /// Whether to show one line for each value instead of a table.
    pub(super) expanded: bool,
}

/// One column of the table.
struct DisplayColumn {
    name: String,
    is_number: bool,
    values: Vec<String>,
    nulls: Vec<bool>,
}

impl DisplayColumn {
    /// Returns the width in cells without a limit.
    fn width(&self) -> usize {
        let values = self.values.iter().map(|value| width(value));
        values.max().unwrap_or(0).max(width(&self.name))
    }
}

/// Formats the rows. Each line ends with a line break.
pub(super) fn shown(rows: &RowSet, look: TableStyle) -> String {
    let columns = columns(rows);
    if columns.is_empty() {
        return String::new();
    }
    let widths = fitting(&columns, look.width);
    match widths.filter(|_| !look.expanded) {
        Some(widths) => table(&columns, &widths, look.colour),
        None => lines(&columns, look),
    }
}

fn columns(rows: &RowSet) -> Vec<DisplayColumn> {
    let column = |(at, info): (usize, &quillet_sql::ColumnInfo)| {
        let cells = || {
            let cells = rows.rows.iter().map(move |row| row.get(at));
            cells.map(|cell| cell.unwrap_or(&Cell::Null))
        };
        DisplayColumn {
            name: one_line(&info.name),
            is_number: is_number(info.value_type),
            values: cells().map(text).collect(),
            nulls: cells().map(|cell| *cell == Cell::Null).collect(),
        }
    };
    rows.columns.iter().enumerate().map(column).collect()
}

/// Returns the widths of the columns if all of them fit. Text columns shrink evenly, down to
/// [`LEAST_WIDTH`]. Numbers are never truncated, because they would be wrong.
fn fitting(columns: &[DisplayColumn], most: Option<usize>) -> Option<Vec<usize>> {
    let natural: Vec<usize> = columns.iter().map(DisplayColumn::width).collect();
    let Some(most) = most else {
        return Some(natural);
    };
    // Each column has a space on both sides, and there is a line between columns.
    let room = (most + 1).checked_sub(3 * columns.len())?;
    let with = |cap: usize| -> Vec<usize> {
        let each = columns.iter().zip(&natural);
        each.map(|(column, width)| {
            if column.is_number {
                *width
            } else {
                (*width).min(cap)
            }
        })
        .collect()
    };
    let fits = |widths: &[usize]| widths.iter().sum::<usize>() <= room;
    if fits(&natural) {
        return Some(natural);
    }
    // Binary search for the largest maximum width at which all columns fit.
    let (mut low, mut high) = (LEAST_WIDTH, room.max(LEAST_WIDTH) + 1);
    if !fits(&with(low)) {
        return None;
    }
    while low + 1 < high {
        let middle = usize::midpoint(low, high);
        if fits(&with(middle)) {
            low = middle
        } else {
            high = middle
        }
    }
    Some(with(low))
}

fn table(columns: &[DisplayColumn], widths: &[usize], colour: bool) -> String {
    let line = |cells: Vec<String>| format!("{}\n", cells.join("│").trim_end());
    let each = || columns.iter().zip(widths);
    let head = each().map(|(column, width)| {
        let name = padded(&column.name, *width, column.is_number);
        format!(" {} ", styled(&name, TextStyle::Bold, colour))
    });
    let rule = widths.iter().map(|width| "─".repeat(width + 2));
    let mut shown = line(head.collect());
    shown.push_str(&format!("{}\n", rule.collect::<Vec<_>>().join("┼")));
    let count = columns.first().map_or(0, |column| column.values.len());
    for at in 0..count {
        let cells = each().map(|(column, width)| value(column, at, *width, colour));
        shown.push_str(&line(cells.collect()));
    }
    shown
}

fn value(column: &DisplayColumn, at: usize, width: usize, colour: bool) -> String {
    let text = column.values.get(at).map_or("", String::as_str);
    let is_null = column.nulls.get(at).copied().unwrap_or_default();
    let text = padded(text, width, column.is_number);
    format!(" {} ", styled(&text, TextStyle::Dim, colour && is_null))
}

fn padded(text: &str, most: usize, right: bool) -> String {
    let text = truncate(text, most);
    let gap = " ".repeat(most.saturating_sub(width(&text)));
    if right {
        format!("{gap}{text}")
    } else {
        format!("{text}{gap}")
    }
}

/// Formats each row as lines of name and value, with wrapped values.
fn lines(columns: &[DisplayColumn], look: TableStyle) -> String {
    let names = columns.iter().map(|column| width(&column.name));
    let name_width = names.max().unwrap_or(0).min(MOST_NAME);
    let room = look.width.map(|most| most.saturating_sub(name_width + 3));
    let room = room.map_or(usize::MAX, |room| room.max(LEAST_WIDTH));
    let mut shown = String::new();
    let count = columns.first().map_or(0, |column| column.values.len());
    for at in 0..count {
        let head = format!("─ row {} ", at + 1);
        let rule = look.width.unwrap_or(40).saturating_sub(width(&head));
        let head = format!("{head}{}", "─".repeat(rule.min(60)));
        shown.push_str(&format!("{}\n", styled(&head, TextStyle::Dim, look.colour)));
        for column in columns {
            pair(&mut shown, column, at, name_width, room, look.colour);
        }
    }
    shown
}

fn pair(
    shown: &mut String,
    column: &DisplayColumn,
    at: usize,
    name_width: usize,
    room: usize,
    colour: bool,
) {
    let text = column.values.get(at).map_or("", String::as_str);
    let is_null = column.nulls.get(at).copied().unwrap_or_default();
    let mut name = styled(
        &padded(&column.name, name_width, false),
        TextStyle::Bold,
        colour,
    );
    for line in fold(&truncate(text, MOST_FOLDED), room) {
        let line = styled(&line, TextStyle::Dim, colour && is_null);
        shown.push_str(format!("{name} │ {line}").trim_end());
        shown.push('\n');
        name = " ".repeat(name_width);
    }
}

/// Formats the rows as a Markdown table without a width limit.
pub(super) fn markdown(rows: &RowSet) -> String {
    let columns = columns(rows);
    let cell = |text: &str| text.replace('\\', "\\\\").replace('|', "\\|");
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let head = columns.iter().map(|column| cell(&column.name));
    let mut shown = line(head.collect());
    let rule = columns.iter().map(|column| {
        if column.is_number {
            "---:".to_owned()
        } else {
            "---".to_owned()
        }
    });
    shown.push_str(&line(rule.collect()));
    for at in 0..rows.rows.len() {
        let cells = columns.iter().map(|column| column.values.get(at));
        let cells = cells.map(|value| value.map_or_else(String::new, |text| cell(text)));
        shown.push_str(&line(cells.collect()));
    }
    shown
}

#[cfg(test)]
mod tests {
    use quillet_sql::ColumnInfo;
    use quillet_sql::rows::ValueType;

    use super::*;

    fn rows(columns: &[(&str, ValueType)], rows: &[&[Cell]]) -> RowSet {
        let info = |(name, value_type): &(&str, ValueType)| ColumnInfo {
            name: (*name).to_owned(),
            data_type: String::new(),
            value_type: *value_type,
        };
        RowSet {
            columns: columns.iter().map(info).collect(),
            rows: rows.iter().map(|row| row.to_vec()).collect(),
            truncated: None,
        }
    }

    fn plain(width: impl Into<Option<usize>>) -> TableStyle {
        TableStyle {
            width: width.into(),
            colour: false,
            expanded: false,
        }
    }

    fn shop() -> RowSet {
        let text = |text: &str| Cell::Text(text.to_owned());
        rows(
            &[
                ("name", ValueType::Text),
                ("城市", ValueType::Text),
                ("total", ValueType::Decimal),
            ],
            &[
                &[text("Ada Lovelace"), text("北京"), text("12.50")],
                &[text("Li"), Cell::Null, text("1200.00")],
            ],
        )
    }

    #[test]
    fn columns_are_as_wide_as_terminals_show_them() {
        let expected = " name         │ 城市 │   total\n──────────────┼──────┼─────────\n Ada Lovelace │ 北京 │   12.50\n Li           │ NULL │ 1200.00\n";
        assert_eq!(shown(&shop(), plain(None)), expected);
        assert_eq!(shown(&shop(), plain(33)), expected);
    }

    #[test]
    fn text_gives_way_and_numbers_do_not() {
        let expected = " name        │ 城市 │   total\n─────────────┼──────┼─────────\n Ada Lovela… │ 北京 │   12.50\n Li          │ NULL │ 1200.00\n";
        assert_eq!(shown(&shop(), plain(30)), expected);
    }

    #[test]
    fn what_is_too_wide_for_a_table_becomes_lines() {
        let expected = "─ row 1 ────────────\nname  │ Ada Lovelace\n城市  │ 北京\ntotal │ 12.50\n─ row 2 ────────────\nname  │ Li\n城市  │ NULL\ntotal │ 1200.00\n";
        assert_eq!(shown(&shop(), plain(20)), expected);
        let expanded = TableStyle {
            expanded: true,
            ..plain(20)
        };
        assert_eq!(shown(&shop(), expanded), expected);
    }

    #[test]
    fn nothing_is_shown_of_nothing_and_no_line_is_too_long() {
        assert_eq!(shown(&RowSet::default(), plain(80)), "");
        let empty = rows(&[("a", ValueType::Text)], &[]);
        assert_eq!(shown(&empty, plain(80)), " a\n───\n");
        for width in 0..60 {
            let shown = shown(&shop(), plain(width));
            let most = shown.lines().map(super::width).max().unwrap();
            assert!(most <= width.max(20), "{width}: {most}\n{shown}");
        }
    }

    #[test]
    fn markdown_is_not_broken_by_what_is_in_it() {
        let text = |text: &str| Cell::Text(text.to_owned());
        let rows = rows(
            &[("a|b", ValueType::Text), ("n", ValueType::Integer)],
            &[&[text("x|y\nz\\"), Cell::Int(1)]],
        );
        let expected = "| a\\|b | n |\n| --- | ---: |\n| x\\|y␊z\\\\ | 1 |\n";
        assert_eq!(markdown(&rows), expected);
    }

    #[test]
    fn colour_marks_names_and_nulls() {
        let look = TableStyle {
            colour: true,
            ..plain(None)
        };
        let shown = shown(&shop(), look);
        assert!(shown.contains("\u{1b}[1mname"), "{shown:?}");
        assert!(shown.contains("\u{1b}[2mNULL"), "{shown:?}");
    }
}

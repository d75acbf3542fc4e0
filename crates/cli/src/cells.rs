//! Text widths in terminal cells; a Chinese character takes two.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Marks truncated text.
pub(crate) const CUT: char = '…';

/// Returns the width of a text in cells.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// Truncates a text to a width; longer texts end with a mark.
pub(crate) fn truncate(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut taken = String::new();
    // One cell is reserved for the mark at the end.
    let mut left = most.saturating_sub(1);
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if wide > left {
            break;
        }
        left -= wide;
        taken.push(c);
    }
    taken.push(CUT);
    taken
}

/// Wraps a text into lines of a width.
pub(crate) fn fold(text: &str, most: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    let mut left = most;
    for c in text.chars() {
        let wide = c.width().unwrap_or(0);
        if wide > left {
            lines.push(String::new());
            left = most;
        }
        left = left.saturating_sub(wide);
        if let Some(line) = lines.last_mut() {
            line.push(c);
        }
    }
    lines
}

/// Pads a text with spaces to a width.
pub(crate) fn padded(text: &str, least: usize) -> String {
    format!("{text}{}", " ".repeat(least.saturating_sub(width(text))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cut_texts_fit_whatever_is_in_them() {
        let cases = [
            ("short", 5, "short"),
            ("longer", 5, "long…"),
            ("中文数据库", 10, "中文数据库"),
            ("中文数据库", 9, "中文数据…"),
            ("中文数据库", 8, "中文数…"),
            ("a\u{301}bc", 2, "a\u{301}…"),
            ("", 0, ""),
        ];
        for (text, most, expected) in cases {
            assert_eq!(truncate(text, most), expected, "{text:?} {most}");
        }
    }

    #[test]
    fn folded_texts_lose_nothing() {
        for (text, most, lines) in [
            ("abcdef", 4, vec!["abcd", "ef"]),
            ("中文数据库", 5, vec!["中文", "数据", "库"]),
            ("", 4, vec![""]),
        ] {
            assert_eq!(fold(text, most), lines, "{text:?} {most}");
        }
    }
}

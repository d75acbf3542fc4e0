//! Texts in the cells of a terminal, of which a Chinese character takes two.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Stands for what was cut off.
pub(crate) const CUT: char = '…';

/// Cells that a text takes.
pub(crate) fn width(text: &str) -> usize {
    text.width()
}

/// As much of a text as fits, with a sign where something is missing.
pub(crate) fn cut(text: &str, most: usize) -> String {
    if width(text) <= most {
        return text.to_owned();
    }
    let mut taken = String::new();
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

/// A text in lines that fit.
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

/// A text with blanks behind it, so that it takes at least so many cells.
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
            assert_eq!(cut(text, most), expected, "{text:?} {most}");
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

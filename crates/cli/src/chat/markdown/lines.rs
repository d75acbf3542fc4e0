//! Wraps words into lines of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::TextStyle;
use crate::chat::sanitize::{sanitize, visible_char};

/// Minimum width of a line, so that nested lists stay readable.
const NARROWEST: usize = 10;

/// A sequence of texts, each with its style.
pub(super) type StyledText = Vec<(TextStyle, String)>;

/// Wraps words into lines. The output depends only on the text, not on how the text was split into
/// chunks.
#[derive(Debug)]
pub(super) struct LineWrapper {
    /// Width of a line in cells.
    width: usize,
    /// Whether to split words that are longer than a line. The terminal wraps such words itself, so
    /// they can be copied in one piece. In a table cell they would break the layout.
    cuts_words: bool,
    out: String,
    /// Widths of the finished lines in cells.
    ended: Vec<usize>,
    /// Prefixes of the next line and of later lines.
    first: StyledText,
    rest: StyledText,
    /// Width of the current line in cells; `None` if no line is open.
    column: Option<usize>,
    word: StyledText,
    /// Whether a space precedes the word.
    is_apart: bool,
    last: Option<char>,
    /// Current style of the terminal.
    look: TextStyle,
}

impl LineWrapper {
    pub(super) fn new(width: usize, cuts_words: bool) -> Self {
        LineWrapper {
            width: width.max(if cuts_words { 1 } else { NARROWEST }),
            cuts_words,
            out: String::new(),
            ended: Vec::new(),
            first: Vec::new(),
            rest: Vec::new(),
            column: None,
            word: Vec::new(),
            is_apart: false,
            last: None,
            look: TextStyle::PLAIN,
        }
    }

    pub(super) fn set_width(&mut self, width: usize) {
        self.width = width.max(NARROWEST);
    }

    /// Returns the width of a line in cells.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Returns the cells that remain after the line prefix.
    pub(super) fn room(&self) -> usize {
        let before = width_of(&self.rest);
        self.width.saturating_sub(before).max(NARROWEST)
    }

    /// Whether a line is open.
    pub(super) fn is_open(&self) -> bool {
        self.column.is_some()
    }

    /// Returns the output since the last call.
    pub(super) fn take(&mut self) -> String {
        self.ended.clear();
        std::mem::take(&mut self.out)
    }

    /// Returns all lines with their widths in cells.
    pub(super) fn into_lines(mut self) -> Vec<(String, usize)> {
        self.end_line();
        let lines = self.out.split_terminator('\n').map(str::to_owned);
        lines.zip(self.ended).collect()
    }

    /// Ends the line and sets the prefixes of the next line and of later lines.
    pub(super) fn begin(&mut self, first: StyledText, rest: StyledText) {
        self.end_line();
        self.first = first;
        self.rest = rest;
    }

    /// Adds a character of running text.
    pub(super) fn push(&mut self, c: char, look: TextStyle) {
        if is_space(c) {
            self.end_word();
            self.is_apart = true;
            return;
        }
        // Control characters from a model must not reach the terminal; `verbatim` removes them too.
        let Some(c) = visible_char(c) else { return };
        if self.last.is_some_and(|before| may_break(before, c)) {
            self.end_word();
        }
        self.last = Some(c);
        match self.word.last_mut() {
            Some((same, text)) if *same == look => text.push(c),
            _ => self.word.push((look, c.to_string())),
        }
    }

    /// Adds running text.
    pub(super) fn text(&mut self, text: &str, look: TextStyle) {
        for c in text.chars() {
            self.push(c, look);
        }
    }

    /// Ends the line, if one is open.
    pub(super) fn end_line(&mut self) {
        self.end_word();
        if let Some(column) = self.column.take() {
            self.look(TextStyle::PLAIN);
            self.out.push('\n');
            self.ended.push(column);
        }
        self.is_apart = false;
        self.last = None;
    }

    /// Adds an empty line with this prefix.
    pub(super) fn blank(&mut self, before: &str) {
        self.end_line();
        if !before.is_empty() {
            self.write(before, TextStyle::DIM);
        }
        self.look(TextStyle::PLAIN);
        self.out.push('\n');
        self.ended.push(0);
    }

    /// Adds a line without wrapping. The terminal wraps a line that is too long, so it can be
    /// copied in one piece.
    pub(super) fn verbatim(&mut self, text: &str, look: TextStyle) {
        self.end_line();
        self.begin_line();
        self.write(&sanitize(text), look);
        self.end_line();
    }

    /// Adds a line that is already rendered.
    pub(super) fn made(&mut self, text: &str) {
        self.end_line();
        self.begin_line();
        self.look(TextStyle::PLAIN);
        self.out.push_str(text);
        self.end_line();
    }

    /// Adds a line that contains only the prefix.
    pub(super) fn nothing(&mut self) {
        self.begin_line();
        self.end_line();
    }

    fn begin_line(&mut self) {
        // Cloned, because every later line starts with this prefix.
        let rest = self.rest.clone();
        let before = std::mem::replace(&mut self.first, rest);
        self.column = Some(width_of(&before));
        for (look, text) in before {
            self.write(&text, look);
        }
    }

    /// Writes the current word.
    pub(super) fn end_word(&mut self) {
        let word = std::mem::take(&mut self.word);
        if word.is_empty() {
            return;
        }
        let width = width_of(&word);
        let space = usize::from(self.is_apart);
        if self
            .column
            .is_some_and(|column| column + space + width > self.width)
        {
            // `end_line` resets `last`, but the word that is written next needs it.
            let last = self.last;
            self.end_line();
            self.last = last;
        }
        match self.column {
            None => self.begin_line(),
            Some(_) if self.is_apart => {
                // If both words have the same style, the space is styled too, so that underlines of
                // links have no gaps.
                let same = word.first().map_or(TextStyle::PLAIN, |(look, _)| *look);
                let look = if same == self.look {
                    same
                } else {
                    TextStyle::PLAIN
                };
                self.write(" ", look);
                self.column = self.column.map(|column| column + 1);
            }
            Some(_) => {}
        }
        self.is_apart = false;
        if self.cuts_words && width > self.width {
            return self.cut(&word);
        }
        for (look, text) in &word {
            self.write(text, *look);
        }
        let column = self.column.unwrap_or_default() + width;
        // After a wrapped word, the text continues on the last line.
        self.column = Some(if column > self.width {
            (column - 1) % self.width + 1
        } else {
            column
        });
    }

    /// Writes a word that is longer than a line.
    fn cut(&mut self, word: &StyledText) {
        let mut before = None;
        for (look, text) in word {
            for c in text.chars() {
                let width = c.width().unwrap_or(0);
                let column = self.column.unwrap_or_default();
                let joins = before.is_some_and(|before| belongs(before, c));
                if column + width > self.width && column > 0 && !joins {
                    self.look(TextStyle::PLAIN);
                    self.out.push('\n');
                    self.ended.push(column);
                    self.column = Some(0);
                }
                self.write(c.encode_utf8(&mut [0; 4]), *look);
                self.column = self.column.map(|column| column + width);
                before = Some(c);
            }
        }
    }

    fn write(&mut self, text: &str, look: TextStyle) {
        self.look(look);
        self.out.push_str(text);
    }

    fn look(&mut self, look: TextStyle) {
        if self.look == look {
            return;
        }
        // Reset first, because sequences can add attributes but not remove single ones.
        if self.look != TextStyle::PLAIN {
            self.out.push_str("\u{1b}[0m");
        }
        self.out.push_str(&look.sequence());
        self.look = look;
    }
}

pub(super) fn width_of(pieces: &StyledText) -> usize {
    let text: String = pieces.iter().map(|(_, text)| text.as_str()).collect();
    text.width()
}

/// Whether a line may be wrapped at this character, which is then dropped.
pub(super) fn is_space(c: char) -> bool {
    // No-break spaces and the ideographic space are visible characters.
    let is_sign = matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{3000}');
    c.is_whitespace() && !is_sign
}

/// Whether a character takes two cells.
pub(super) fn is_wide(c: char) -> bool {
    c.width() == Some(2)
}

/// Whether a line may be wrapped between two characters of a word. Allowed next to wide characters,
/// but not before closing or after opening punctuation.
fn may_break(before: char, c: char) -> bool {
    let closes = "、。，．：；！？）］｝〕〉》」』】”’…—～ー々ゝゞ%,.;:!?)]}";
    let opens = "（［｛〔〈《「『【“‘([{";
    (is_wide(before) || is_wide(c))
        && !closes.contains(c)
        && !opens.contains(before)
        && !belongs(before, c)
}

/// Whether a character combines with the one before it.
fn belongs(before: char, c: char) -> bool {
    let is_flag = |c| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    c.width().unwrap_or(0) == 0
        || before == '\u{200d}'
        || matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
        || (is_flag(before) && is_flag(c))
}

//! Words in lines of a terminal.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::style::TextStyle;
use crate::chat::sanitize::{sanitize, visible_char};

/// A line is never thought to be narrower, so that deep lists stay readable.
const NARROWEST: usize = 10;

/// Text in one look after the other.
pub(super) type StyledText = Vec<(TextStyle, String)>;

/// Lays words out in lines. What it has written is a function of what it was given: where the text
/// was divided on its way does not matter.
#[derive(Debug)]
pub(super) struct LineWrapper {
    /// Cells of a line.
    width: usize,
    /// Whether words that are longer than a line are cut. A terminal wraps them by itself, and they
    /// can be copied whole; in a cell of a table they would be in the way.
    cuts_words: bool,
    out: String,
    /// Cells of the lines that have ended.
    ended: Vec<usize>,
    /// What stands before the next line, and before those after it.
    first: StyledText,
    rest: StyledText,
    /// Cells that the line has; nothing while it was not begun.
    column: Option<usize>,
    word: StyledText,
    /// Whether a space stands before the word.
    is_apart: bool,
    last: Option<char>,
    /// How the terminal writes now.
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

    /// Cells of a line.
    pub(super) fn width(&self) -> usize {
        self.width
    }

    /// Cells that are left beside what stands before each line.
    pub(super) fn room(&self) -> usize {
        let before = width_of(&self.rest);
        self.width.saturating_sub(before).max(NARROWEST)
    }

    /// Whether a line was begun and did not end.
    pub(super) fn is_open(&self) -> bool {
        self.column.is_some()
    }

    /// What was written since this was called last.
    pub(super) fn take(&mut self) -> String {
        self.ended.clear();
        std::mem::take(&mut self.out)
    }

    /// The lines that were written, each with its cells.
    pub(super) fn into_lines(mut self) -> Vec<(String, usize)> {
        self.end_line();
        let lines = self.out.split_terminator('\n').map(str::to_owned);
        lines.zip(self.ended).collect()
    }

    /// Ends the line, and has this stand before the next one and those after it.
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
        // Here and in `verbatim`, so no control character of a model reaches the terminal.
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

    /// Ends the line, if one was begun.
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

    /// An empty line, with this before it.
    pub(super) fn blank(&mut self, before: &str) {
        self.end_line();
        if !before.is_empty() {
            self.write(before, TextStyle::DIM);
        }
        self.look(TextStyle::PLAIN);
        self.out.push('\n');
        self.ended.push(0);
    }

    /// A line as it is; one that is too long is wrapped by the terminal, and copied whole.
    pub(super) fn verbatim(&mut self, text: &str, look: TextStyle) {
        self.end_line();
        self.begin_line();
        self.write(&sanitize(text), look);
        self.end_line();
    }

    /// A line that was laid out already.
    pub(super) fn made(&mut self, text: &str) {
        self.end_line();
        self.begin_line();
        self.look(TextStyle::PLAIN);
        self.out.push_str(text);
        self.end_line();
    }

    /// What stands before the line alone.
    pub(super) fn nothing(&mut self) {
        self.begin_line();
        self.end_line();
    }

    fn begin_line(&mut self) {
        // Cloned, because each further line starts with the same text.
        let rest = self.rest.clone();
        let before = std::mem::replace(&mut self.first, rest);
        self.column = Some(width_of(&before));
        for (look, text) in before {
            self.write(&text, look);
        }
    }

    /// Writes the word: another one begins behind it.
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
            // `end_line` forgets the last character, but the word that is still held ends with it.
            let last = self.last;
            self.end_line();
            self.last = last;
        }
        match self.column {
            None => self.begin_line(),
            Some(_) if self.is_apart => {
                // A line below a link of several words has no holes.
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
        // Where the terminal wrapped a long word, the line goes on below.
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
        // A reset first: sequences only add attributes and cannot remove single ones.
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

/// Whether lines may be broken here, and the character goes with the break.
pub(super) fn is_space(c: char) -> bool {
    // Spaces that hold words together, and the wide one of East Asia, are signs.
    let is_sign = matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}' | '\u{3000}');
    c.is_whitespace() && !is_sign
}

/// Whether a character takes two cells.
pub(super) fn is_wide(c: char) -> bool {
    c.width() == Some(2)
}

/// Whether a line may be broken between two characters of a word: beside wide ones, but not before
/// what closes and not behind what opens.
fn may_break(before: char, c: char) -> bool {
    let closes = "、。，．：；！？）］｝〕〉》」』】”’…—～ー々ゝゞ%,.;:!?)]}";
    let opens = "（［｛〔〈《「『【“‘([{";
    (is_wide(before) || is_wide(c))
        && !closes.contains(c)
        && !opens.contains(before)
        && !belongs(before, c)
}

/// Whether a character is one sign with the one before it.
fn belongs(before: char, c: char) -> bool {
    let is_flag = |c| matches!(c, '\u{1f1e6}'..='\u{1f1ff}');
    c.width().unwrap_or(0) == 0
        || before == '\u{200d}'
        || matches!(c, '\u{1f3fb}'..='\u{1f3ff}')
        || (is_flag(before) && is_flag(c))
}

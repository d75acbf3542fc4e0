//! Streaming Markdown renderer for terminals.
//!
//! A model's text arrives in chunks, and output on the terminal is never rewritten. A word is
//! therefore shown as soon as no later text can change its meaning (`inline::certain`), code is
//! shown line by line, and a table once it is complete. The output depends only on the text, not on
//! its chunks: the text is parsed again at each space and each line end, regardless of chunk
//! boundaries.
//! space and at each end of a line, wherever a piece may end.

mod blocks;
mod inline;
mod lines;
mod style;
mod table;
#[cfg(test)]
mod tests;

use blocks::{BlockContainer, BlockKind, Blocks, Leaf};
use lines::{LineWrapper, StyledText, is_space, is_wide};
use style::TextStyle;

use super::sanitize;

/// Minimum number of new bytes before a text of this length is parsed again. A share of the length,
/// so that the total work is proportional to it.
fn part(length: usize) -> usize {
    match length {
        ..=32_768 => length / 256,
        _ => length / 32,
    }
}

/// A text that is being shown.
#[derive(Debug)]
pub(crate) struct Markdown {
    lines: LineWrapper,
    /// The text from the last block that may still change.
    source: String,
    /// Bytes received since the last parse.
    since: usize,
    /// Offset up to which everything is shown.
    done: usize,
    /// Offset of the block that was shown last.
    begun: Option<usize>,
    /// Whether that block has ended.
    is_ended: bool,
    /// Offset of the last list item that was started.
    item: Option<usize>,
    /// Whether an empty line precedes the text.
    is_apart: bool,
    /// Nesting depth of quotes around the block that was shown last.
    quotes: usize,
}

impl Markdown {
    /// Creates a renderer for a terminal with this many cells.
    pub(crate) fn new(width: usize) -> Self {
        Markdown {
            lines: LineWrapper::new(width, false),
            source: String::new(),
            since: 0,
            done: 0,
            begun: None,
            is_ended: false,
            item: None,
            is_apart: false,
            quotes: 0,
        }
    }

    /// Sets the width of later lines in cells.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.lines.set_width(width);
    }

    /// Whether the cursor is in an unfinished line.
    pub(crate) fn is_open(&self) -> bool {
        self.lines.is_open()
    }

    /// Adds text and returns the output that is ready. Control characters are replaced by visible
    /// ones.
    pub(crate) fn push(&mut self, text: &str) -> String {
        for c in sanitize(text).chars() {
            self.source.push(c);
            self.since += c.len_utf8();
            let may_show = is_space(c) || is_wide(c);
            if may_show && self.since >= part(self.source.len()) {
                self.since = 0;
                self.read(false);
            }
        }
        self.lines.take()
    }

    /// Ends the text and returns its remaining output. Another text may follow.
    pub(crate) fn end(&mut self) -> String {
        self.read(true);
        self.lines.end_line();
        let rest = self.lines.take();
        *self = Markdown::new(self.lines.width());
        rest
    }

    fn read(&mut self, is_over: bool) {
        let source = std::mem::take(&mut self.source);
        let blocks = blocks::read(&source);
        let cut = if self.show(&blocks, &source, is_over) {
            self.cut(&blocks, &source)
        } else {
            0
        };
        drop(blocks);
        self.source = source;
        self.source.drain(..cut);
    }

    /// Shows the text that can no longer change. Returns whether everything except the last block
    /// is shown.
    fn show(&mut self, blocks: &Blocks<'_>, source: &str, is_over: bool) -> bool {
        let Some(last) = blocks.leaves.last() else {
            return false;
        };
        let is_whole_line = source.ends_with('\n');
        let certain = match last.kind {
            BlockKind::Paragraph => inline::certain(&last.events, source),
            _ => source.len(),
        };
        // In the middle of a line, only a paragraph can be recognised with certainty.
        let is_paragraph = last.kind == BlockKind::Paragraph && certain > last.begins(source);
        if !is_over && !is_whole_line && !is_paragraph {
            return false;
        }
        for (number, leaf) in blocks.leaves.iter().enumerate() {
            let begins = leaf.begins(source);
            let is_last = number + 1 == blocks.leaves.len();
            let ends = leaf.ends(source);
            if self.begun.is_some_and(|begun| ends <= begun) {
                continue;
            }
            // The start of a block can move by one character if the block turns out to be of
            // another kind.
            let is_begun = self.begun.is_some_and(|begun| leaf.range.start <= begun);
            let is_closed = is_over || !is_last || (is_whole_line && is_closed(leaf, source));
            let limit = match &leaf.kind {
                _ if is_closed => usize::MAX,
                BlockKind::Paragraph if certain > begins => certain,
                BlockKind::Code { .. } | BlockKind::Html => source.len(),
                _ => continue,
            };
            if !is_begun {
                let before = number.checked_sub(1).map(|it| &blocks.leaves[it]);
                let is_apart = match before {
                    Some(before) => {
                        let between = source.get(before.ends(source)..begins);
                        between.is_some_and(has_empty_line)
                    }
                    None => self.is_apart,
                };
                self.begin(leaf, is_apart);
                self.begun = Some(begins);
                self.is_ended = false;
                self.head(leaf, source);
            }
            self.text(leaf, limit);
            if !is_closed && limit == source.len() && source.ends_with(is_space) {
                self.lines.end_word();
            }
            if is_closed && !self.is_ended {
                self.is_ended = true;
                self.whole(leaf, source);
            }
        }
        true
    }

    /// Determines how many bytes at the start are completely shown and can be dropped.
    fn cut(&mut self, blocks: &Blocks<'_>, source: &str) -> usize {
        let Some(last) = blocks.leaves.last() else {
            return 0;
        };
        let cut = source[..blocks.last].rfind('\n').map_or(0, |at| at + 1);
        if cut == 0 || last.range.start < cut {
            return 0;
        }
        let mut before = blocks.leaves.iter().rev();
        if let Some(before) = before.find(|leaf| leaf.range.start < cut) {
            let end = before.ends(source).min(cut);
            let is_apart = has_empty_line(&source[end..cut]);
            // Without an empty line after it, a definition may still become part of a paragraph.
            if before.kind == BlockKind::Definition && !is_apart {
                return 0;
            }
            self.is_apart = is_apart;
        }
        self.done = self.done.saturating_sub(cut);
        self.begun = self.begun.and_then(|begun| begun.checked_sub(cut));
        self.item = self.item.and_then(|item| item.checked_sub(cut));
        cut
    }

    /// Starts a block: writes an empty line if the source has one, and sets the line prefixes.
    fn begin(&mut self, leaf: &Leaf<'_>, is_apart: bool) {
        let bar = || (TextStyle::DIM, "│ ".to_owned());
        let quotes = leaf.around.iter();
        let quotes = quotes
            .take_while(|it| matches!(it, BlockContainer::Quote))
            .count();
        self.lines.end_line();
        if is_apart {
            let common = quotes.min(self.quotes);
            self.lines.blank("│ ".repeat(common).trim_end());
        }
        self.quotes = quotes;
        let (mut first, mut rest) = (StyledText::new(), StyledText::new());
        let mut width = 0;
        for around in &leaf.around {
            let (now, later) = match around {
                BlockContainer::Quote => (bar(), bar()),
                BlockContainer::Item { at, marker } => {
                    let cells = marker.chars().count();
                    let space = (TextStyle::PLAIN, " ".repeat(cells));
                    let is_new = self.item.is_none_or(|item| item < *at);
                    self.item = self.item.max(Some(*at));
                    if is_new {
                        ((TextStyle::PLAIN, marker.clone()), space)
                    } else {
                        (space.clone(), space)
                    }
                }
            };
            width += now.1.chars().count();
            if width <= self.lines.width() / 2 {
                first.push(now);
                rest.push(later);
            }
        }
        self.lines.begin(first, rest);
    }

    /// Writes the opening fence of a code block.
    fn head(&mut self, leaf: &Leaf<'_>, source: &str) {
        if leaf.kind == (BlockKind::Code { is_fenced: true }) {
            let fence = source[leaf.begins(source)..].lines().next();
            self.lines
                .verbatim(fence.unwrap_or_default(), TextStyle::DIM);
        }
    }

    /// Writes the text of a block that is not yet shown.
    fn text(&mut self, leaf: &Leaf<'_>, limit: usize) {
        let look = match &leaf.kind {
            BlockKind::Paragraph => TextStyle::PLAIN,
            BlockKind::Heading { level } => TextStyle {
                underlined: *level == 1,
                ..TextStyle::HEADING
            },
            BlockKind::Code { .. } => return self.verbatim(leaf, TextStyle::CODE),
            BlockKind::Html => return self.verbatim(leaf, TextStyle::PLAIN),
            _ => return,
        };
        self.done = inline::show(&mut self.lines, &leaf.events, look, self.done, limit);
    }

    /// Writes the lines of a block without wrapping.
    fn verbatim(&mut self, leaf: &Leaf<'_>, look: TextStyle) {
        use pulldown_cmark::Event;
        let mut text = String::new();
        for (event, range) in &leaf.events {
            let (Event::Text(piece) | Event::Html(piece) | Event::InlineHtml(piece)) = event else {
                continue;
            };
            if range.end <= self.done {
                continue;
            }
            let from = if piece.len() == range.len() {
                self.done.saturating_sub(range.start)
            } else {
                0
            };
            text.push_str(piece.get(from..).unwrap_or(piece));
            self.done = range.end;
        }
        for line in text.split_terminator('\n') {
            self.lines.verbatim(line, look);
        }
    }

    /// Writes the parts that can be shown only after a block has ended.
    fn whole(&mut self, leaf: &Leaf<'_>, source: &str) {
        match &leaf.kind {
            BlockKind::Table(alignments) => {
                table::show(&mut self.lines, &leaf.events, alignments, self.done);
            }
            BlockKind::Rule => {
                let rule = "─".repeat(self.lines.room());
                self.lines.verbatim(&rule, TextStyle::DIM);
            }
            BlockKind::Nothing => self.lines.nothing(),
            BlockKind::Definition => {
                for line in source[leaf.range.clone()].lines() {
                    self.lines.verbatim(line, TextStyle::DIM);
                }
            }
            BlockKind::Code { is_fenced: true } => {
                if let Some(fence) = closing_fence(leaf, source) {
                    self.lines.verbatim(fence, TextStyle::DIM);
                }
            }
            _ => {}
        }
        self.done = self.done.max(leaf.ends(source));
        self.lines.end_line();
    }
}

/// Whether later text can no longer extend a block, after the end of a line.
fn is_closed(leaf: &Leaf<'_>, source: &str) -> bool {
    match &leaf.kind {
        BlockKind::Paragraph | BlockKind::Table(_) | BlockKind::Definition => {
            has_empty_line(&source[leaf.ends(source)..])
        }
        BlockKind::Heading { .. } | BlockKind::Rule => true,
        BlockKind::Code { is_fenced: true } => closing_fence(leaf, source).is_some(),
        BlockKind::Code { .. } | BlockKind::Html | BlockKind::Nothing => false,
    }
}

/// Returns the closing fence of a code block, if the last line is one.
fn closing_fence<'s>(leaf: &Leaf<'_>, source: &'s str) -> Option<&'s str> {
    let (begins, ends) = (leaf.begins(source), leaf.ends(source));
    let line = source[begins..ends].rfind('\n').map(|at| begins + at + 1)?;
    let code = leaf.events.last().map_or(begins, |(_, range)| range.end);
    let fence = source[line..ends].trim_start_matches([' ', '\t', '>']);
    let is_fence = fence.len() >= 3 && fence.trim_matches(['`', '~']).is_empty();
    (code <= line && is_fence).then_some(fence)
}

/// Whether there is an empty line between two blocks. A line that contains only markers of quotes
/// and items counts as empty.
fn has_empty_line(between: &str) -> bool {
    let mut lines = between.split('\n');
    // The text before the first and after the last line break belongs to the adjacent blocks.
    lines.next();
    lines.next_back();
    lines.any(|line| line.trim_start_matches([' ', '\t', '>']).is_empty())
}

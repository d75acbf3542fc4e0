//! Markdown on a terminal, as it comes.
//!
//! A model's text arrives in pieces, and what is on the terminal stays there: nothing is written
//! twice or taken back. So a word is shown as soon as nothing that may follow can change how it is
//! read (`inline::certain`), code line by line, a table as soon as it has ended. What is shown
//! depends on the text alone and not on the pieces that it came in: the text is read again at each
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

/// How much must have come before a text of this many bytes is read again: a part of it, so that
/// the work stays in proportion to its length.
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
    /// The text from the last block that may change on.
    source: String,
    /// Bytes that came since it was last read.
    since: usize,
    /// Up to where everything was shown.
    done: usize,
    /// Where the block begins that was shown last.
    begun: Option<usize>,
    /// Whether that block has ended.
    is_ended: bool,
    /// The item of a list that was begun last.
    item: Option<usize>,
    /// Whether an empty line stands before the text.
    is_apart: bool,
    /// Quotes around the block that was shown last.
    quotes: usize,
}

impl Markdown {
    /// Nothing yet, on a terminal of this many cells.
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

    /// From now on a line has this many cells.
    pub(crate) fn set_width(&mut self, width: usize) {
        self.lines.set_width(width);
    }

    /// Whether the terminal stands in a line that did not end.
    pub(crate) fn is_open(&self) -> bool {
        self.lines.is_open()
    }

    /// More of the text came; gives what can be written. What a terminal would obey is a sign in
    /// it.
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

    /// The text is over; gives the rest of it. Another text may follow.
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

    /// Shows what has become certain; says whether everything but the last block was shown.
    fn show(&mut self, blocks: &Blocks<'_>, source: &str, is_over: bool) -> bool {
        let Some(last) = blocks.leaves.last() else {
            return false;
        };
        let is_whole_line = source.ends_with('\n');
        let certain = match last.kind {
            BlockKind::Paragraph => inline::certain(&last.events, source),
            _ => source.len(),
        };
        // In the middle of a line only a paragraph is certain to be one.
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
            // Where a block begins can move by a sign, when it turns out to be another kind.
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
                    // A definition stands in the item that has nothing else.
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

    /// Takes away what was shown; says how much.
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
            // A definition without an empty line behind it is the beginning of a paragraph.
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

    /// Begins a block: an empty line, if there is one in the source, and what stands before its
    /// lines.
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

    /// What stands at the head of a block.
    fn head(&mut self, leaf: &Leaf<'_>, source: &str) {
        if leaf.kind == (BlockKind::Code { is_fenced: true }) {
            let fence = source[leaf.begins(source)..].lines().next();
            self.lines
                .verbatim(fence.unwrap_or_default(), TextStyle::DIM);
        }
    }

    /// The text of a block, as far as it was not shown.
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

    /// Lines as they are.
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

    /// What can be shown only when a block has ended.
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

/// Whether more of the text cannot become part of a block, after the end of a line.
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

/// The line that closes a block of code: its last one, if it is not part of the code.
fn closing_fence<'s>(leaf: &Leaf<'_>, source: &'s str) -> Option<&'s str> {
    let (begins, ends) = (leaf.begins(source), leaf.ends(source));
    let line = source[begins..ends].rfind('\n').map(|at| begins + at + 1)?;
    let code = leaf.events.last().map_or(begins, |(_, range)| range.end);
    let fence = source[line..ends].trim_start_matches([' ', '\t', '>']);
    let is_fence = fence.len() >= 3 && fence.trim_matches(['`', '~']).is_empty();
    (code <= line && is_fence).then_some(fence)
}

/// Whether there is an empty line in what stands between two blocks: signs of quotes and items
/// make it no less empty.
fn has_empty_line(between: &str) -> bool {
    let mut lines = between.split('\n');
    // What stands before the first and behind the last line end belongs to the blocks.
    lines.next();
    lines.next_back();
    lines.any(|line| line.trim_start_matches([' ', '\t', '>']).is_empty())
}

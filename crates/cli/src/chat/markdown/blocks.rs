//! Splits a Markdown text into leaf blocks (paragraphs, headings, code, tables), each with its
//! enclosing lists and quotes.

use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Maximum nesting depth of lists and quotes that is shown. Deeper levels are shown at this depth.
const MOST_DEEP: usize = 12;

/// White space in Markdown that is not part of the text.
pub(super) const SPACE: [char; 3] = [' ', '\t', '\n'];

/// A container block.
#[derive(Clone, Debug)]
pub(super) enum BlockContainer {
    Quote,
    /// A list item: its offset, and the marker that is shown.
    Item {
        at: usize,
        marker: String,
    },
}

/// Kind of a leaf block.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum BlockKind {
    Paragraph,
    Heading {
        level: u8,
    },
    Code {
        is_fenced: bool,
    },
    Html,
    Table(Vec<Alignment>),
    Rule,
    /// An empty list item.
    Nothing,
    /// A link reference definition, which is not visible.
    Definition,
}

/// A block that contains no other blocks.
#[derive(Debug)]
pub(super) struct Leaf<'t> {
    pub(super) around: Vec<BlockContainer>,
    pub(super) kind: BlockKind,
    /// Byte range in the source.
    pub(super) range: Range<usize>,
    /// Inline events with their byte ranges.
    pub(super) events: Vec<(Event<'t>, Range<usize>)>,
}

impl Leaf<'_> {
    /// Offset of the first character. It does not change as more text arrives.
    pub(super) fn begins(&self, source: &str) -> usize {
        let text = &source[self.range.clone()];
        self.range.start + text.len() - text.trim_start_matches(SPACE).len()
    }

    /// Offset after the last character.
    pub(super) fn ends(&self, source: &str) -> usize {
        self.range.start + source[self.range.clone()].trim_end_matches(SPACE).len()
    }
}

/// A parsed text.
#[derive(Debug, Default)]
pub(super) struct Blocks<'t> {
    pub(super) leaves: Vec<Leaf<'t>>,
    /// Offset of the last top-level block.
    pub(super) last: usize,
}

/// Parses a text.
pub(super) fn read(source: &str) -> Blocks<'_> {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_MATH;
    let events = Parser::new_ext(source, options).into_offset_iter();
    let definitions = events.reference_definitions().iter();
    let definitions: Vec<_> = definitions.map(|(_, found)| found.span.clone()).collect();
    let mut reader = BlockReader::default();
    for (event, range) in events {
        reader.event(event, range);
    }
    reader.end_implied();
    let mut blocks = reader.blocks;
    if definitions.is_empty() {
        return blocks;
    }
    for range in definitions {
        if range.start >= reader.last_end {
            blocks.last = blocks.last.max(range.start);
        }
        blocks.leaves.push(Leaf {
            around: Vec::new(),
            kind: BlockKind::Definition,
            range,
            events: Vec::new(),
        });
    }
    // The parser reports definitions separately from other events, in arbitrary order.
    blocks.leaves.sort_by_key(|leaf| leaf.range.start);
    blocks
}

#[derive(Debug, Default)]
struct BlockReader<'t> {
    blocks: Blocks<'t>,
    last_end: usize,
    /// Number of open blocks.
    depth: usize,
    around: Vec<BlockContainer>,
    /// Number of open quotes and items, including those deeper than `MOST_DEEP`.
    containers: usize,
    /// Next item numbers of the open lists; `None` for bullet lists.
    lists: Vec<Option<u64>>,
    /// Number of leaves before each open item.
    items: Vec<usize>,
    leaf: Option<Leaf<'t>>,
    /// Whether the leaf is the text of a tight list item, which has no paragraph events.
    is_implied: bool,
}

impl<'t> BlockReader<'t> {
    fn event(&mut self, event: Event<'t>, range: Range<usize>) {
        match event {
            Event::Start(tag) => self.start(tag, range),
            Event::End(tag) => self.end(tag, range),
            Event::Rule => {
                self.top(&range);
                self.begin(BlockKind::Rule, range);
                self.finish();
            }
            event => self.inline(event, range),
        }
    }

    fn start(&mut self, tag: Tag<'t>, range: Range<usize>) {
        let kind = match &tag {
            Tag::Paragraph => BlockKind::Paragraph,
            Tag::Heading { level, .. } => BlockKind::Heading {
                level: *level as u8,
            },
            Tag::CodeBlock(kind) => BlockKind::Code {
                is_fenced: matches!(kind, CodeBlockKind::Fenced(_)),
            },
            Tag::HtmlBlock => BlockKind::Html,
            Tag::Table(alignments) => BlockKind::Table(alignments.clone()),
            Tag::BlockQuote(_) => {
                self.top(&range);
                self.depth += 1;
                return self.enter(BlockContainer::Quote);
            }
            Tag::List(number) => {
                self.top(&range);
                self.depth += 1;
                self.end_implied();
                self.lists.push(*number);
                return;
            }
            Tag::Item => {
                self.items.push(self.blocks.leaves.len());
                let marker = match self.lists.last_mut() {
                    Some(Some(number)) => {
                        let marker = format!("{number}. ");
                        // The model chooses the first number, which may be the largest possible
                        // one.
                        *number = number.saturating_add(1);
                        marker
                    }
                    _ => "• ".to_owned(),
                };
                let at = range.start;
                return self.enter(BlockContainer::Item { at, marker });
            }
            _ => return self.inline(Event::Start(tag), range),
        };
        self.top(&range);
        self.depth += 1;
        self.begin(kind, range);
    }

    fn end(&mut self, tag: TagEnd, range: Range<usize>) {
        match tag {
            TagEnd::Paragraph
            | TagEnd::Heading(_)
            | TagEnd::CodeBlock
            | TagEnd::HtmlBlock
            | TagEnd::Table => {
                self.depth -= 1;
                self.finish();
            }
            TagEnd::BlockQuote(_) => {
                self.depth -= 1;
                self.leave();
            }
            TagEnd::List(_) => {
                self.depth -= 1;
                self.lists.pop();
            }
            TagEnd::Item => {
                self.end_implied();
                let before = self.items.pop();
                if before == Some(self.blocks.leaves.len()) {
                    self.begin(BlockKind::Nothing, range);
                    self.finish();
                }
                self.leave();
            }
            tag => self.inline(Event::End(tag), range),
        }
    }

    /// Records the last top-level block.
    fn top(&mut self, range: &Range<usize>) {
        if self.depth == 0 {
            self.blocks.last = range.start;
            self.last_end = range.end;
        }
    }

    fn enter(&mut self, around: BlockContainer) {
        self.end_implied();
        self.containers += 1;
        if self.containers <= MOST_DEEP {
            self.around.push(around);
        }
    }

    fn leave(&mut self) {
        self.end_implied();
        self.containers -= 1;
        // A container that is deeper than `MOST_DEEP` was not added, so nothing is removed for it.
        self.around.truncate(self.containers);
    }

    fn inline(&mut self, event: Event<'t>, range: Range<usize>) {
        if self.leaf.is_none() {
            self.begin(BlockKind::Paragraph, range.clone());
            // The text of a tight list item has no paragraph events.
            self.is_implied = true;
        }
        if let Some(leaf) = &mut self.leaf {
            leaf.range.end = leaf.range.end.max(range.end);
            leaf.events.push((event, range));
        }
    }

    fn begin(&mut self, kind: BlockKind, range: Range<usize>) {
        self.end_implied();
        self.leaf = Some(Leaf {
            around: self.around.clone(),
            kind,
            range,
            events: Vec::new(),
        });
    }

    fn finish(&mut self) {
        self.is_implied = false;
        self.blocks.leaves.extend(self.leaf.take());
    }

    fn end_implied(&mut self) {
        if self.is_implied {
            self.finish();
        }
    }
}

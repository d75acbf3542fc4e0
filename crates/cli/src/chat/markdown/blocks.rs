//! The blocks of a text, one after the other: paragraphs, headings, code, tables, each with the
//! lists and quotes that it stands in.

use std::ops::Range;

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

/// Lists and quotes below each other that are shown by what stands before a line; deeper ones stand
/// below the deepest of these.
const MOST_DEEP: usize = 12;

/// What is space to Markdown, and no part of the text.
pub(super) const SPACE: [char; 3] = [' ', '\t', '\n'];

/// What a block stands in.
#[derive(Clone, Debug)]
pub(super) enum BlockContainer {
    Quote,
    /// An item of a list: where it begins, and what is shown before it.
    Item {
        at: usize,
        marker: String,
    },
}

/// What a block is.
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
    /// An item of a list with nothing in it.
    Nothing,
    /// Where a link of the text leads: it is not part of the text.
    Definition,
}

/// A block without blocks in it.
#[derive(Debug)]
pub(super) struct Leaf<'t> {
    pub(super) around: Vec<BlockContainer>,
    pub(super) kind: BlockKind,
    /// Where it stands in the source, in bytes.
    pub(super) range: Range<usize>,
    /// What is in it, with its places.
    pub(super) events: Vec<(Event<'t>, Range<usize>)>,
}

impl Leaf<'_> {
    /// Where its first character stands: this stays while more of the text comes.
    pub(super) fn begins(&self, source: &str) -> usize {
        let text = &source[self.range.clone()];
        self.range.start + text.len() - text.trim_start_matches(SPACE).len()
    }

    /// Where its last character ends.
    pub(super) fn ends(&self, source: &str) -> usize {
        self.range.start + source[self.range.clone()].trim_end_matches(SPACE).len()
    }
}

/// A text that was read.
#[derive(Debug, Default)]
pub(super) struct Blocks<'t> {
    pub(super) leaves: Vec<Leaf<'t>>,
    /// Where the last block begins that stands in no other.
    pub(super) last: usize,
}

/// Reads a text.
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
    // The parser reports definitions apart from the other events, in no useful order.
    blocks.leaves.sort_by_key(|leaf| leaf.range.start);
    blocks
}

#[derive(Debug, Default)]
struct BlockReader<'t> {
    blocks: Blocks<'t>,
    last_end: usize,
    /// Blocks that are open.
    depth: usize,
    around: Vec<BlockContainer>,
    /// Quotes and items that are open, some of which may be too deep to be shown.
    containers: usize,
    /// The numbers of the lists that are open.
    lists: Vec<Option<u64>>,
    /// How many leaves there were before each open item.
    items: Vec<usize>,
    leaf: Option<Leaf<'t>>,
    /// Whether the leaf is the text of an item that no paragraph is around.
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
                        // The model chooses the first number, which may be the largest one.
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

    /// Notes the last block that stands in no other.
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
        // No effect while the open container is deeper than `MOST_DEEP`, because it was not added.
        self.around.truncate(self.containers);
    }

    fn inline(&mut self, event: Event<'t>, range: Range<usize>) {
        if self.leaf.is_none() {
            self.begin(BlockKind::Paragraph, range.clone());
            // The text of a tight list item has no paragraph around it in the events.
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

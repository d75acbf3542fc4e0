//! Events to a tree.

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Tag, options};
use quillet_core::{Diagnostic, LineColumn, Span, Value};

use crate::mapped_text::MappedText;
use crate::mapping;
use crate::node::{MapEntry, Node, NodeData, Scalar, ScalarFormat};
use crate::options::{Duplicates, Options, Tags};
use crate::{rejected, scalar};

/// More findings than these about one file help nobody, and each costs a search for its place.
const MOST_FINDINGS: usize = 100;

/// A problem in a text, before its line and column are computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct YamlProblem {
    /// Where, in the file's bytes.
    pub span: Span,
    /// What, one sentence without a full stop.
    pub message: String,
    /// Where the same thing stood first; its line ends the sentence.
    pub first: Option<Span>,
    /// How to fix it.
    pub help: Option<String>,
}

impl YamlProblem {
    /// Something wrong at a place.
    #[must_use]
    pub fn new(span: Span, message: impl Into<String>) -> Self {
        YamlProblem {
            span,
            message: message.into(),
            first: None,
            help: None,
        }
    }

    /// Adds where the same thing stood first.
    #[must_use]
    pub fn first(mut self, first: Span) -> Self {
        self.first = Some(first);
        self
    }

    /// Adds how to fix it.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Reads the documents of one file: they share limits, and anchors of one are known in the next.
#[derive(Debug)]
pub struct Reader<'a> {
    source: &'a str,
    file: &'a str,
    options: Options,
    nodes: usize,
    bytes: usize,
    anchors: HashMap<String, AnchorTarget>,
    findings: Vec<Diagnostic>,
}

/// A node that aliases may repeat, and what each repetition costs.
#[derive(Clone, Debug)]
struct AnchorTarget {
    node: Node,
    size: Size,
}

#[derive(Clone, Copy, Debug, Default)]
struct Size {
    nodes: usize,
    bytes: usize,
    depth: usize,
}

/// A collection whose end has not come yet.
struct OpenCollection {
    start: usize,
    tag: Option<Arc<str>>,
    anchor: usize,
    items: Vec<Node>,
    map: bool,
    flow: bool,
}

/// One document on its way.
#[derive(Default)]
struct DocumentBuilder {
    open: Vec<OpenCollection>,
    root: Option<Node>,
    /// Where the tag of the event stands that is being taken.
    tag_at: Option<Span>,
    /// Finished nodes by the number that the parser gave their anchors.
    numbered: HashMap<usize, AnchorTarget>,
    names: HashMap<usize, String>,
}

impl<'a> Reader<'a> {
    /// A reader of a file of this name and text.
    #[must_use]
    pub fn new(source: &'a str, file: &'a str, options: Options) -> Self {
        Reader {
            source,
            file,
            options,
            nodes: 0,
            bytes: 0,
            anchors: HashMap::new(),
            findings: Vec::new(),
        }
    }

    /// Reads one document; `None` where there is nothing but comments. What does
    /// not hinder reading, such as a key that stands twice, is kept for [`Reader::finish`].
    ///
    /// # Errors
    /// The first thing that is not YAML, or over a limit. It is not reported yet:
    /// see [`Reader::report`].
    pub fn read(&mut self, piece: &MappedText<'_>) -> Result<Option<Node>, YamlProblem> {
        if piece.text().len() > self.options.most_bytes {
            return Err(self.over(piece.span(0, 0), "bytes", self.options.most_bytes));
        }
        let settings = options! {
            emit_comments: false,
            emit_anchor_events: true,
            emit_unresolved_aliases: true,
            flow_nesting_limit: self.options.most_depth.min(250) + 1,
            block_nesting_limit: self.options.most_depth.min(250) + 1,
        };
        let mut document = DocumentBuilder::default();
        let mut documents = 0;
        for event in Parser::new_from_str_with_options(piece.text(), settings) {
            let (event, span) = event.map_err(|error| rejected::explain(&error, piece))?;
            let range = span.byte_range().unwrap_or_default();
            let tag = span.tag_span().and_then(|tag| tag.byte_range());
            document.tag_at = tag.map(|tag| piece.span(tag.start, tag.end));
            if matches!(event, Event::DocumentStart(..)) {
                documents += 1;
                if documents > 1 {
                    let at = piece.span(range.start, range.end);
                    return Err(YamlProblem::new(at, "a second document begins here")
                        .help("one text is one document: take `---` or `...` away"));
                }
            }
            self.take(&mut document, piece, event, range)?;
        }
        Ok(document.root)
    }

    fn take(
        &mut self,
        document: &mut DocumentBuilder,
        piece: &MappedText<'_>,
        event: Event<'_>,
        range: std::ops::Range<usize>,
    ) -> Result<(), YamlProblem> {
        let (start, end) = (range.start, range.end);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref();
                let at = document.tag_at;
                let node = self.scalar(piece, &text, style, (tag, at), (start, end))?;
                self.settle(document, node, anchor)
            }
            Event::SequenceStart(style, anchor, tag) => {
                let flow = style == granit_parser::StructureStyle::Flow;
                self.open(
                    document,
                    piece,
                    tag.as_deref(),
                    (start, anchor, flow),
                    false,
                )
            }
            Event::MappingStart(style, anchor, tag) => {
                let flow = style == granit_parser::StructureStyle::Flow;
                self.open(document, piece, tag.as_deref(), (start, anchor, flow), true)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(document, piece, end),
            Event::Anchor(number, name) => {
                // A scalar is finished when its anchor's name comes, a collection is not.
                if let Some(anchored) = document.numbered.get(&number) {
                    self.anchors.insert(name.into_owned(), anchored.clone());
                } else {
                    document.names.insert(number, name.into_owned());
                }
                Ok(())
            }
            Event::Alias(number) => {
                let found = document.numbered.get(&number).cloned();
                let problem = "an anchor cannot hold itself";
                self.alias(document, found, piece.span(start, end), problem)
            }
            Event::UnresolvedAlias(name) => {
                let found = self.anchors.get(name.as_ref()).cloned();
                let problem = format!("no anchor `&{name}` stands before this");
                self.alias(document, found, piece.span(start, end), &problem)
            }
            _ => Ok(()),
        }
    }

    fn open(
        &mut self,
        document: &mut DocumentBuilder,
        piece: &MappedText<'_>,
        tag: Option<&Tag>,
        (start, anchor, flow): (usize, usize, bool),
        map: bool,
    ) -> Result<(), YamlProblem> {
        let at = piece.span(start, start);
        let core = if map { "map" } else { "seq" };
        let tag = self
            .tag(tag, document.tag_at.unwrap_or(at))?
            .filter(|tag| tag.as_ref() != core);
        self.count(at, 1, 0)?;
        document.open.push(OpenCollection {
            start,
            tag,
            anchor,
            items: Vec::new(),
            map,
            flow,
        });
        self.deep(at, document.open.len())
    }

    fn close(
        &mut self,
        document: &mut DocumentBuilder,
        piece: &MappedText<'_>,
        end: usize,
    ) -> Result<(), YamlProblem> {
        let Some(open) = document.open.pop() else {
            return Ok(());
        };
        let mut span = piece.span(open.start, end.max(open.start));
        // The end of a block is known where the next thing begins: too late.
        if !open.flow {
            span.end = open.items.last().map_or(span.start, |last| last.span.end);
        }
        let data = if open.map {
            NodeData::Map(self.entries(open.items))
        } else {
            NodeData::List(open.items)
        };
        let node = Node {
            span: Span {
                start: span.start,
                end: span.end.max(span.start),
            },
            tag: open.tag,
            data,
        };
        self.settle(document, node, open.anchor)
    }

    /// A mapping from its keys and values in turn.
    fn entries(&mut self, items: Vec<Node>) -> Vec<MapEntry> {
        let mut problems = Vec::new();
        let last = self.options.duplicates == Duplicates::Last;
        let entries = mapping::entries(items, last, self.file, &mut problems);
        for problem in problems {
            self.report(problem);
        }
        entries
    }

    /// Puts a finished node where it belongs.
    fn settle(
        &mut self,
        document: &mut DocumentBuilder,
        node: Node,
        anchor: usize,
    ) -> Result<(), YamlProblem> {
        if anchor != 0 {
            let size = Size::of(&node);
            self.count(node.span, size.nodes, size.bytes)?;
            let anchored = AnchorTarget {
                node: node.clone(),
                size,
            };
            if let Some(name) = document.names.get(&anchor) {
                self.anchors.insert(name.clone(), anchored.clone());
            }
            document.numbered.insert(anchor, anchored);
        }
        match document.open.last_mut() {
            Some(open) => open.items.push(node),
            None => document.root = Some(node),
        }
        Ok(())
    }

    fn alias(
        &mut self,
        document: &mut DocumentBuilder,
        found: Option<AnchorTarget>,
        at: Span,
        problem: &str,
    ) -> Result<(), YamlProblem> {
        let Some(AnchorTarget { mut node, size }) = found else {
            return Err(
                YamlProblem::new(at, problem).help("put a text that begins with `*` in quotes")
            );
        };
        self.count(at, size.nodes, size.bytes)?;
        self.deep(at, document.open.len() + size.depth)?;
        node.span = at;
        self.settle(document, node, 0)
    }

    fn scalar(
        &mut self,
        piece: &MappedText<'_>,
        text: &str,
        style: ScalarStyle,
        (tag, tag_at): (Option<&Tag>, Option<Span>),
        (start, end): (usize, usize),
    ) -> Result<Node, YamlProblem> {
        let style = match style {
            ScalarStyle::SingleQuoted => ScalarFormat::SingleQuoted,
            ScalarStyle::DoubleQuoted => ScalarFormat::DoubleQuoted,
            ScalarStyle::Literal => ScalarFormat::Literal,
            ScalarStyle::Folded => ScalarFormat::Folded,
            _ => ScalarFormat::Plain,
        };
        let raw = piece.text().get(start..end).unwrap_or_default();
        let blank = raw.len() - raw.trim_end().len();
        let span = piece.span(start, end - blank);
        self.count(span, 1, text.len())?;
        let tag = self.tag(tag, tag_at.unwrap_or(span))?;
        // The parser says `~` where nothing is written.
        let nothing = raw.is_empty() && style == ScalarFormat::Plain;
        let text: Arc<str> = if nothing { "" } else { text }.into();
        let (tag, value) = self.typed(tag, &text, style, span)?;
        let data = NodeData::Scalar(Scalar { value, text, style });
        Ok(Node { span, tag, data })
    }

    /// The value that a tag asks for; a tag of the core schema is used up.
    fn typed(
        &self,
        tag: Option<Arc<str>>,
        text: &Arc<str>,
        style: ScalarFormat,
        at: Span,
    ) -> Result<(Option<Arc<str>>, Value), YamlProblem> {
        let string = || Value::Str(Arc::clone(text));
        let asked = match tag.as_deref().and_then(|tag| tag.strip_prefix('!')) {
            None if tag.is_some() => return Ok((tag, string())),
            None if style == ScalarFormat::Plain => return Ok((None, scalar::plain(text))),
            None | Some("" | "str") => return Ok((None, string())),
            Some(asked) => asked,
        };
        let value = match asked {
            "null" => scalar::null(text),
            "bool" => scalar::boolean(text),
            "int" => scalar::integer(text),
            "float" => scalar::float(text),
            _ => None,
        };
        let wrong = || YamlProblem::new(at, format!("this is not of the type `!!{asked}`"));
        Ok((None, value.ok_or_else(wrong)?))
    }

    /// A tag: `fn` for `!fn`; of the core schema with a `!` before it, as `!int`.
    fn tag(&self, tag: Option<&Tag>, at: Span) -> Result<Option<Arc<str>>, YamlProblem> {
        let Some(tag) = tag else { return Ok(None) };
        if let Some(core) = tag.core_suffix() {
            let known = ["str", "int", "float", "bool", "null", "map", "seq"];
            if known.contains(&core) {
                return Ok(Some(format!("!{core}").into()));
            }
        }
        let written = tag.original();
        let name = written.strip_prefix('!').unwrap_or(&written);
        if name.is_empty() {
            return Ok(Some("!".into()));
        }
        let own = !name.starts_with(['!', '<']);
        if own && self.options.tags == Tags::Keep {
            return Ok(Some(name.into()));
        }
        Err(
            YamlProblem::new(at, format!("the tag `{written}` is not known here"))
                .help("put a text that begins with `!` in quotes"),
        )
    }

    fn deep(&self, at: Span, depth: usize) -> Result<(), YamlProblem> {
        let most = self.options.most_depth;
        if depth <= most {
            return Ok(());
        }
        Err(YamlProblem::new(
            at,
            format!("nested deeper than {most} levels"),
        ))
    }

    fn count(&mut self, at: Span, nodes: usize, bytes: usize) -> Result<(), YamlProblem> {
        self.nodes += nodes;
        self.bytes += bytes;
        if self.nodes > self.options.most_nodes {
            return Err(self.over(at, "values", self.options.most_nodes));
        }
        if self.bytes > self.options.most_bytes {
            return Err(self.over(at, "bytes", self.options.most_bytes));
        }
        Ok(())
    }

    fn over(&self, at: Span, what: &str, most: usize) -> YamlProblem {
        let message = format!("the YAML holds more than {most} {what}");
        YamlProblem::new(at, message).help("what an alias repeats counts each time")
    }

    /// Whether a limit on the whole file was reached: nothing more can be read.
    #[must_use]
    pub fn exhausted(&self) -> bool {
        self.nodes > self.options.most_nodes || self.bytes > self.options.most_bytes
    }

    /// Keeps something wrong for [`Reader::finish`].
    pub fn report(&mut self, problem: YamlProblem) {
        let known = self
            .findings
            .last()
            .is_some_and(|last| last.span == Some(problem.span) && last.message == problem.message);
        if known || self.findings.len() >= MOST_FINDINGS {
            return;
        }
        let mut message = problem.message;
        if let Some(first) = problem.first {
            let line = LineColumn::of(self.file, first.start).line;
            message.push_str(&format!(": first on line {line}"));
        }
        let found = Diagnostic::error(self.options.code, self.source, message);
        let found = found.at(self.file, problem.span);
        self.findings.push(match problem.help {
            Some(help) => found.help(help),
            None => found,
        });
    }

    /// Everything wrong, in the order in which it was found; at most 100.
    #[must_use]
    pub fn finish(self) -> Vec<Diagnostic> {
        self.findings
    }
}

impl Size {
    fn of(node: &Node) -> Self {
        let inside = match &node.data {
            NodeData::Scalar(scalar) => {
                return Size {
                    nodes: 1,
                    bytes: scalar.text.len(),
                    depth: 0,
                };
            }
            NodeData::List(items) => items.iter().map(Size::of).fold(Size::default(), Size::and),
            NodeData::Map(entries) => {
                let pair = |entry: &MapEntry| Size::of(&entry.key).and(Size::of(&entry.value));
                entries.iter().map(pair).fold(Size::default(), Size::and)
            }
        };
        Size {
            nodes: inside.nodes + 1,
            depth: inside.depth + 1,
            ..inside
        }
    }

    fn and(self, other: Size) -> Size {
        Size {
            nodes: self.nodes + other.nodes,
            bytes: self.bytes + other.bytes,
            depth: self.depth.max(other.depth),
        }
    }
}

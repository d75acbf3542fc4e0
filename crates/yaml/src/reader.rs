//! Builds the tree from parser events.

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, Tag, options};
use quillet_core::{Diagnostic, LineColumn, Span, Value};

use crate::mapped_text::MappedText;
use crate::mapping;
use crate::node::{MapEntry, Node, NodeData, Scalar, ScalarFormat};
use crate::options::{Duplicates, Options, Tags};
use crate::problem::YamlProblem;
use crate::{rejected, scalar};

/// Maximum number of diagnostics per file: more are not useful, and each costs a scan for its
/// location.
const MOST_FINDINGS: usize = 100;

/// Parses the documents of one file. All documents share limits and anchors.
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

/// A node that aliases may repeat, and the cost of each repetition.
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

/// An open collection.
struct OpenCollection {
    start: usize,
    tag: Option<Arc<str>>,
    anchor: usize,
    items: Vec<Node>,
    map: bool,
    flow: bool,
}

/// A document under construction.
#[derive(Default)]
struct DocumentBuilder {
    open: Vec<OpenCollection>,
    root: Option<Node>,
    /// Location of the tag of the current event.
    tag_at: Option<Span>,
    /// Finished nodes by the anchor numbers of the parser.
    numbered: HashMap<usize, AnchorTarget>,
    names: HashMap<usize, String>,
}

impl<'a> Reader<'a> {
    /// Creates a reader for a file that has this name and text.
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

    /// Parses one document. Returns `None` if there are only comments. Problems that do not prevent
    /// parsing, such as duplicate keys, are collected for [`Reader::finish`].
    ///
    /// # Errors
    /// Returns the first syntax error or exceeded limit. The caller must report the error with
    /// [`Reader::report`].
    pub fn read(&mut self, piece: &MappedText<'_>) -> Result<Option<Node>, YamlProblem> {
        // The size is checked before parsing, because parsing takes time in proportion to the size.
        if piece.text().len() > self.options.most_bytes {
            return Err(self.over(piece.span(0, 0), "bytes", self.options.most_bytes));
        }
        let settings = options! {
            emit_comments: false,
            emit_anchor_events: true,
            emit_unresolved_aliases: true,
            // The parser recurses once for each level, so this also bounds its stack. The limit is
            // one higher than the reader's, so that the reader's own error is reported.
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
            // Documents are counted at their start, because the text may begin with `---`.
            if matches!(event, Event::DocumentStart(..)) {
                documents += 1;
                if documents > 1 {
                    let at = piece.span(range.start, range.end);
                    return Err(YamlProblem::new(at, "unexpected second document")
                        .help("only one document is allowed: remove `---` or `...`"));
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
        let map = matches!(event, Event::MappingStart(..));
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                let tag = tag.as_deref();
                let at = document.tag_at;
                let node = self.scalar(piece, &text, style, tag, at, &range)?;
                self.settle(document, node, anchor)
            }
            Event::SequenceStart(style, anchor, tag) | Event::MappingStart(style, anchor, tag) => {
                let open = OpenCollection {
                    start,
                    tag: None,
                    anchor,
                    items: Vec::new(),
                    map,
                    flow: style == granit_parser::StructureStyle::Flow,
                };
                self.open(document, piece, tag.as_deref(), open)
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(document, piece, end),
            Event::Anchor(number, name) => {
                // The anchor's name arrives after a scalar is finished, but before a collection is.
                if let Some(anchored) = document.numbered.get(&number) {
                    self.anchors.insert(name.into_owned(), anchored.clone());
                } else {
                    document.names.insert(number, name.into_owned());
                }
                Ok(())
            }
            Event::Alias(number) => {
                let found = document.numbered.get(&number).cloned();
                let problem = "an anchor cannot contain itself";
                self.alias(document, found, piece.span(start, end), problem)
            }
            Event::UnresolvedAlias(name) => {
                let found = self.anchors.get(name.as_ref()).cloned();
                let problem = format!("undefined anchor `&{name}`");
                self.alias(document, found, piece.span(start, end), &problem)
            }
            // Stream and document events carry no data.
            _ => Ok(()),
        }
    }

    fn open(
        &mut self,
        document: &mut DocumentBuilder,
        piece: &MappedText<'_>,
        tag: Option<&Tag>,
        open: OpenCollection,
    ) -> Result<(), YamlProblem> {
        let at = piece.span(open.start, open.start);
        let core = if open.map { "map" } else { "seq" };
        let tag = self
            .tag(tag, document.tag_at.unwrap_or(at))?
            .filter(|tag| tag.as_ref() != core);
        self.count(at, 1, 0)?;
        document.open.push(OpenCollection { tag, ..open });
        // The depth is checked after the push, so that it includes this collection.
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
        // The parser reports the end of a block only at the start of the next token, which is too
        // late for its span.
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

    /// Builds a mapping from alternating keys and values.
    fn entries(&mut self, items: Vec<Node>) -> Vec<MapEntry> {
        let mut problems = Vec::new();
        // A repeated key may be an error or win; both need the entries in order.
        let last = self.options.duplicates == Duplicates::Last;
        let entries = mapping::entries(items, last, self.file, &mut problems);
        for problem in problems {
            self.report(problem);
        }
        entries
    }

    /// Adds a finished node to its parent.
    fn settle(
        &mut self,
        document: &mut DocumentBuilder,
        node: Node,
        anchor: usize,
    ) -> Result<(), YamlProblem> {
        if anchor != 0 {
            // An anchor is stored as a copy, so its nodes count a second time.
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
            return Err(YamlProblem::new(at, problem).help("quote a string that begins with `*`"));
        };
        // The nodes are counted before the copy is added, because nested aliases grow
        // exponentially.
        self.count(at, size.nodes, size.bytes)?;
        self.deep(at, document.open.len() + size.depth)?;
        // Errors in the repeated node point to the alias, because that is the user's mistake.
        node.span = at;
        // 0 means no anchor: a repeated node cannot be referenced again.
        self.settle(document, node, 0)
    }

    fn scalar(
        &mut self,
        piece: &MappedText<'_>,
        text: &str,
        style: ScalarStyle,
        tag: Option<&Tag>,
        tag_at: Option<Span>,
        range: &std::ops::Range<usize>,
    ) -> Result<Node, YamlProblem> {
        let style = match style {
            ScalarStyle::SingleQuoted => ScalarFormat::SingleQuoted,
            ScalarStyle::DoubleQuoted => ScalarFormat::DoubleQuoted,
            ScalarStyle::Literal => ScalarFormat::Literal,
            ScalarStyle::Folded => ScalarFormat::Folded,
            _ => ScalarFormat::Plain,
        };
        let raw = piece.text().get(range.clone()).unwrap_or_default();
        // The parser's span of a plain scalar can include the blanks after it.
        let blank = raw.len() - raw.trim_end().len();
        let span = piece.span(range.start, range.end - blank);
        self.count(span, 1, text.len())?;
        let tag = self.tag(tag, tag_at.unwrap_or(span))?;
        // The parser reports `~` for an omitted value.
        let nothing = raw.is_empty() && style == ScalarFormat::Plain;
        let text: Arc<str> = if nothing { "" } else { text }.into();
        let (tag, value) = self.typed(tag, &text, style, span)?;
        let data = NodeData::Scalar(Scalar { value, text, style });
        Ok(Node { span, tag, data })
    }

    /// Returns the value that a tag requests; a tag of the core schema is consumed.
    fn typed(
        &self,
        tag: Option<Arc<str>>,
        text: &Arc<str>,
        style: ScalarFormat,
        at: Span,
    ) -> Result<(Option<Arc<str>>, Value), YamlProblem> {
        let string = || Value::Str(Arc::clone(text));
        let asked = match tag.as_deref().and_then(|tag| tag.strip_prefix('!')) {
            // A custom tag makes the scalar a string, even if it looks like a number.
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
        let wrong = || YamlProblem::new(at, format!("invalid value for the type `!!{asked}`"));
        Ok((None, value.ok_or_else(wrong)?))
    }

    /// Normalizes a tag: `fn` for `!fn`; a core schema tag keeps a `!`, as in `!int`.
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
        // A lone `!` is YAML's tag for a plain string.
        if name.is_empty() {
            return Ok(Some("!".into()));
        }
        // `!!python/…` and `!<…>` name types of a programming language or full URIs.
        let own = !name.starts_with(['!', '<']);
        if own && self.options.tags == Tags::Keep {
            return Ok(Some(name.into()));
        }
        Err(YamlProblem::new(at, format!("unknown tag `{written}`"))
            .help("quote a string that begins with `!`"))
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
        let message = format!("the YAML contains more than {most} {what}");
        YamlProblem::new(at, message).help("each use of an alias is counted")
    }

    /// Returns whether a limit on the file was reached, so that the caller must stop parsing.
    #[must_use]
    pub fn exhausted(&self) -> bool {
        self.nodes > self.options.most_nodes || self.bytes > self.options.most_bytes
    }

    /// Collects a problem for [`Reader::finish`].
    pub fn report(&mut self, problem: YamlProblem) {
        // The parser may report the same error again for the following token.
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

    /// Returns all diagnostics in the order in which they were found, but at most 100.
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

//! Renders a Mustache template with variables.

use std::borrow::Cow;

use quillet_core::value::MAX_DEPTH;
use quillet_core::{LineColumn, Map, Span, Value, nearest};
use smallvec::{SmallVec, smallvec};

use super::super::javascript::{self, Escape, PropertyValue};
use super::ast::{LinePosition, Node, Partial, Section, Tag, TagPath};
use super::compilation::{Compilation, MustacheTemplate};
use crate::{CallState, ErrorKind, LimitKind, Missing, Pass, RenderError, StopReason};

/// Maximum depth of sections and partials. Each level needs a few hundred bytes of the 2 MiB stack,
/// and about a kilobyte in a debug build.
const MAX_LEVELS: usize = 400;

pub(super) struct Evaluator<'t, 'p, 'v> {
    compiled: &'t MustacheTemplate,
    pass: &'p mut Pass<'v>,
    /// Values of the enclosing sections, with the innermost one last.
    frames: SmallVec<[ContextFrame<'v>; 4]>,
    levels: usize,
    partials: usize,
}

/// A value in which names are looked up.
#[derive(Clone, Debug)]
enum ContextFrame<'v> {
    Root(&'v Map),
    Held(&'v Value),
    /// The result of a call.
    Made(Value),
}

/// Target of a name.
enum NameLookup<'v> {
    Value(Cow<'v, Value>),
    /// The result of a call that starts after this pass.
    Pending,
    /// A name without a variable or function.
    Nothing,
}

/// The current source, and the indentation of its lines.
#[derive(Clone, Copy)]
struct PartialFrame<'t> {
    source: &'t Compilation,
    indent: &'t str,
    /// Whether the first line is indented too.
    first_line: bool,
}

impl<'t, 'p, 'v> Evaluator<'t, 'p, 'v> {
    pub(super) fn new(compiled: &'t MustacheTemplate, pass: &'p mut Pass<'v>) -> Self {
        let root = ContextFrame::Root(pass.variables());
        Evaluator {
            compiled,
            pass,
            frames: smallvec![root],
            levels: 0,
            partials: 0,
        }
    }

    pub(super) fn run(&mut self, source: &'t Compilation) -> Result<(), StopReason> {
        let place = PartialFrame {
            source,
            indent: "",
            first_line: false,
        };
        self.nodes(&place, 0, source.program.nodes.len())
    }

    /// Renders a range of nodes.
    fn nodes(
        &mut self,
        place: &PartialFrame<'_>,
        from: usize,
        end: usize,
    ) -> Result<(), StopReason> {
        if self.levels >= MAX_LEVELS {
            return Err(self.pass.limit(LimitKind::Nesting));
        }
        self.levels += 1;
        let done = self.all_nodes(place, from, end);
        self.levels -= 1;
        done
    }

    fn all_nodes(
        &mut self,
        place: &PartialFrame<'_>,
        from: usize,
        end: usize,
    ) -> Result<(), StopReason> {
        let entered = self.pass.entered();
        let mut at = from;
        while at < end {
            let Some(node) = place.source.program.nodes.get(at) else {
                break;
            };
            self.pass.step()?;
            at += 1;
            let holes = self.pass.holes();
            let printed = match node {
                Node::Text(range, start) => {
                    let text = place.source.program.literals.get(range.clone());
                    self.text(place, text.unwrap_or_default(), *start)
                }
                Node::Value(tag) => {
                    let start = self.pass.begin_value();
                    let name = || Some(tag.path.text().to_owned());
                    let printed = self.value(tag);
                    printed.and_then(|()| self.pass.end_value(start, name))
                }
                Node::Section(section) => {
                    let body = at;
                    at = section.end;
                    self.section(place, section, body)
                }
                Node::Partial(partial) => self.partial(place, partial),
            };
            match printed {
                Ok(()) => {}
                // A tag has no effect on the following tags, so rendering continues.
                Err(StopReason::Suspended) => {
                    self.pass.leave(entered);
                    self.pass.skip_since(holes);
                }
                Err(stop) => return Err(located(stop, place.source, node)),
            }
        }
        Ok(())
    }

    fn text(
        &mut self,
        place: &PartialFrame<'_>,
        text: &str,
        start: LinePosition,
    ) -> Result<(), StopReason> {
        if place.indent.is_empty() {
            return self.pass.literal(text);
        }
        let begins =
            start == LinePosition::Line || start == LinePosition::Source && place.first_line;
        // Empty lines are not indented.
        if begins && !text.starts_with('\n') {
            self.pass.literal(place.indent)?;
        }
        let mut rest = text;
        while let Some(end) = memchr::memchr(b'\n', rest.as_bytes()) {
            let (line, after) = rest.split_at(end + 1);
            self.pass.literal(line)?;
            rest = after;
            if !rest.is_empty() && !rest.starts_with('\n') {
                self.pass.literal(place.indent)?;
            }
        }
        self.pass.literal(rest)
    }

    fn value(&mut self, tag: &Tag) -> Result<(), StopReason> {
        match self.find(&tag.path, tag.span)? {
            NameLookup::Value(value) => {
                if value.depth() > MAX_DEPTH {
                    return Err(self.pass.limit(LimitKind::ValueDepth));
                }
                let escape = self.compiled.escape_html.then_some(html as Escape);
                let escape = escape.filter(|_| !tag.raw);
                javascript::write(self.pass, &value, escape)
            }
            NameLookup::Pending => Ok(()),
            NameLookup::Nothing => match self.compiled.missing {
                Missing::Strict => Err(self.not_set(&tag.path)),
                Missing::Default | Missing::Zero | Missing::Empty => Ok(()),
            },
        }
    }

    fn section(
        &mut self,
        place: &PartialFrame<'_>,
        section: &Section,
        body: usize,
    ) -> Result<(), StopReason> {
        let value = match self.find(&section.tag.path, section.tag.span)? {
            NameLookup::Value(value) => value,
            NameLookup::Pending => return Err(StopReason::Suspended),
            NameLookup::Nothing => Cow::Owned(Value::Null),
        };
        let value = if value.is_fallback() {
            Cow::Owned(value.represented_value().clone())
        } else {
            value
        };
        let is_empty = matches!(&*value, Value::List(list) if list.is_empty());
        let holds = javascript::is_true(&value) && !is_empty;
        if section.inverted {
            return if holds {
                Ok(())
            } else {
                self.nodes(place, body, section.end)
            };
        }
        let entered = self.pass.entered();
        self.pass.enter(section.tag.span.start);
        self.pass.enter(0);
        let mut turn = 0;
        let mut one = |frame: Option<ContextFrame<'v>>| -> Result<(), StopReason> {
            self.pass.step()?;
            self.pass.turn(turn);
            turn += 1;
            let depth = self.frames.len();
            if let Some(frame) = frame {
                self.frames.push(frame);
            }
            self.nodes(place, body, section.end)?;
            self.frames.truncate(depth);
            Ok(())
        };
        let done = match value {
            _ if !holds => Ok(()),
            Cow::Borrowed(Value::List(list)) => list
                .iter()
                .try_for_each(|item| one(Some(ContextFrame::Held(item)))),
            Cow::Owned(Value::List(list)) => list
                .iter()
                .try_for_each(|item| one(Some(ContextFrame::Made(item.clone())))),
            Cow::Borrowed(Value::Bool(_)) | Cow::Owned(Value::Bool(_)) => one(None),
            Cow::Borrowed(value) => one(Some(ContextFrame::Held(value))),
            Cow::Owned(value) => one(Some(ContextFrame::Made(value))),
        };
        self.pass.leave(entered);
        done
    }

    fn partial(&mut self, place: &PartialFrame<'_>, partial: &Partial) -> Result<(), StopReason> {
        let Some(source) = partial
            .source
            .and_then(|index| self.compiled.sources.get(index))
        else {
            return match self.compiled.missing {
                Missing::Strict => Err(self.no_partial(partial.tag.path.text())),
                Missing::Default | Missing::Zero | Missing::Empty => Ok(()),
            };
        };
        if self.partials >= self.pass.limits().nesting {
            return Err(self.pass.limit(LimitKind::Nesting));
        }
        self.partials += 1;
        let indent = match &partial.indent {
            Some(own) => Cow::Owned([place.indent, own].concat()),
            None => Cow::Borrowed(""),
        };
        self.pass.charge(indent.len())?;
        let inner = PartialFrame {
            source,
            indent: &indent,
            first_line: partial.first_line,
        };
        let entered = self.pass.entered();
        self.pass.enter(partial.tag.span.start);
        let done = self.nodes(&inner, 0, source.program.nodes.len());
        self.pass.leave(entered);
        self.partials -= 1;
        done
    }

    /// Looks up a name in the sections, from the innermost to the outermost, and then among the
    /// functions. `span` is the location of the name.
    fn find(&mut self, path: &TagPath, span: Span) -> Result<NameLookup<'v>, StopReason> {
        self.pass.steps(self.frames.len())?;
        let found = match path {
            TagPath::Here => self.frames.last().map(ContextFrame::value),
            _ => {
                let mut frames = self.frames.iter().rev();
                frames.find_map(|frame| frame.own(path.first()))
            }
        };
        match found {
            Some(value) => Ok(descend(value, path.rest())),
            None => self.call(path, span),
        }
    }

    /// Calls the function with this name, or with the first part of a dotted name.
    fn call(&mut self, path: &TagPath, span: Span) -> Result<NameLookup<'v>, StopReason> {
        let (name, rest) = if self.pass.has_function(path.text()) {
            (path.text(), &[][..])
        } else {
            (path.first(), path.rest())
        };
        if !self.pass.has_function(name) {
            return Ok(NameLookup::Nothing);
        }
        match self.pass.call_bound_at(&[span.start], name)? {
            CallState::Ready(value) => Ok(descend(Cow::Owned(value), rest)),
            // A field of a placeholder prints nothing either.
            CallState::Pending => Ok(NameLookup::Pending),
        }
    }

    fn not_set(&self, path: &TagPath) -> StopReason {
        let name = path.text();
        let reason = format!("variable {name} is not set");
        let mut error = RenderError::new(ErrorKind::MissingVariable, reason);
        let known = self.frames.iter().flat_map(ContextFrame::names);
        let known = known.chain(self.pass.function_names());
        error.help = nearest(path.first(), known)
            .filter(|near| *near != path.first())
            .map(|near| format!("did you mean {near}?"));
        error.into()
    }

    fn no_partial(&self, name: &str) -> StopReason {
        let reason = format!("partial {name:?} does not exist");
        let mut error = RenderError::new(ErrorKind::Execution, reason);
        let known = self.compiled.sources.iter().map(|source| &*source.name);
        error.help = nearest(name, known).map(|near| format!("did you mean {near}?"));
        error.into()
    }
}

impl<'v> ContextFrame<'v> {
    /// Returns the value of this frame.
    fn value(&self) -> Cow<'v, Value> {
        match self {
            ContextFrame::Root(map) => Cow::Owned(Value::Map((*map).clone())),
            ContextFrame::Held(value) => Cow::Borrowed(value),
            ContextFrame::Made(value) => Cow::Owned(value.clone()),
        }
    }

    /// Returns an entry of an object or an item of a list. Texts have neither.
    fn own(&self, name: &str) -> Option<Cow<'v, Value>> {
        match self {
            ContextFrame::Root(map) => map.get(name).map(Cow::Borrowed),
            ContextFrame::Held(Value::Map(map)) => map.get(name).map(Cow::Borrowed),
            ContextFrame::Held(value @ Value::List(_)) => property(&Cow::Borrowed(*value), name),
            ContextFrame::Made(value @ (Value::Map(_) | Value::List(_))) => {
                property(&Cow::Owned(value.clone()), name)
            }
            ContextFrame::Held(_) | ContextFrame::Made(_) => None,
        }
    }

    fn names(&self) -> impl Iterator<Item = &str> {
        let map = match self {
            ContextFrame::Root(map) => Some(*map),
            ContextFrame::Held(value) => value.as_map(),
            ContextFrame::Made(value) => value.as_map(),
        };
        let keys = map.map(|map| map.table().keys().map(AsRef::as_ref));
        keys.into_iter().flatten()
    }
}

/// Follows a path of properties.
fn descend<'v>(mut value: Cow<'v, Value>, path: &[Box<str>]) -> NameLookup<'v> {
    for name in path {
        match property(&value, name) {
            Some(next) => value = next,
            None => return NameLookup::Nothing,
        }
    }
    NameLookup::Value(value)
}

fn property<'v>(value: &Cow<'v, Value>, name: &str) -> Option<Cow<'v, Value>> {
    match value {
        Cow::Borrowed(value) => Some(match javascript::property(value, name)? {
            PropertyValue::Held(value) => Cow::Borrowed(value),
            PropertyValue::Made(value) => Cow::Owned(value),
        }),
        Cow::Owned(value) => Some(Cow::Owned(match javascript::property(value, name)? {
            PropertyValue::Held(value) => value.clone(),
            PropertyValue::Made(value) => value,
        })),
    }
}

/// Adds the location, unless the error already has one.
#[cold]
fn located(stop: StopReason, source: &Compilation, node: &Node) -> StopReason {
    let StopReason::Failed(mut error) = stop else {
        return stop;
    };
    if error.position.is_none() {
        let span = match node {
            Node::Text(..) => Span::default(),
            Node::Value(tag) => tag.span,
            Node::Section(section) => section.tag.span,
            Node::Partial(partial) => partial.tag.span,
        };
        let at = LineColumn::of(&source.text, span.start);
        let name = &source.name;
        error.message = format!("{name}:{}:{}: {}", at.line, at.column, error.reason);
        error.source_name.clone_from(name);
        error.span = Some(span);
        error.position = Some(at);
    }
    StopReason::Failed(error)
}

/// Returns the HTML replacement of a character, as in mustache.js.
fn html(byte: u8) -> Option<&'static str> {
    Some(match byte {
        b'&' => "&amp;",
        b'<' => "&lt;",
        b'>' => "&gt;",
        b'"' => "&quot;",
        b'\'' => "&#39;",
        b'/' => "&#x2F;",
        b'`' => "&#x60;",
        b'=' => "&#x3D;",
        _ => return None,
    })
}

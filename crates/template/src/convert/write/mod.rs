//! Trees as text: first into pieces, texts and tags, then the pieces side by
//! side, since what a text needs so that it is printed as it is depends on the
//! tags beside it.

mod f_string;
mod go;
mod handlebars;
mod jinja;
mod liquid;
mod mustache;
mod names;
mod semantic_kernel;

use std::sync::Arc;

use quillet_core::Span;

use super::findings::Findings;
use super::language::Language;
use super::loops;
use super::shape::{Scope, Shape};
use super::tree::{Call, Knows, Node, NodeKind, Path};
use names::Taken;

/// A part of what is written.
#[derive(Clone, Debug, PartialEq)]
enum Piece {
    /// To be printed as it is.
    Text(String),
    /// A tag that prints.
    Print(String),
    /// A tag that prints nothing itself: of a block, a comment.
    Block(String),
}

/// A condition: the variable and what is asked of it.
#[derive(Clone, Copy, Debug)]
struct Condition<'t> {
    path: &'t Path,
    /// The text that it must be, if not just true.
    equals: Option<&'t str>,
    negated: bool,
}

/// A loop that is being written.
#[derive(Clone, Debug)]
struct Loop<'t> {
    list: &'t Path,
    /// A name for the item that nothing else has.
    name: Arc<str>,
    /// Another one for the index, where something asks for that.
    index: Option<Arc<str>>,
    /// Whether a loop inside it asks for its item.
    used_inside: bool,
}

impl Loop<'_> {
    /// All names that it gives.
    fn names(&self) -> impl Iterator<Item = &str> {
        [&*self.name].into_iter().chain(self.index.as_deref())
    }
}

/// What is around the tag that is being written.
struct Around<'t> {
    loops: Vec<Loop<'t>>,
    scope: Scope<'t>,
    /// How many conditions are open since the innermost loop.
    conditions: Vec<&'t Path>,
}

/// Why what a loop knows cannot be written.
fn unknown_of_loop(language: &str, knows: Knows) -> Refused {
    match knows {
        Knows::Index => format!("{language} has no index of an item"),
        Knows::Number => format!("{language} counts the items of a loop from 0, not from 1"),
        Knows::First => format!("{language} does not say here whether an item is the first"),
        Knows::Last => format!("{language} does not say whether an item is the last"),
    }
}

/// Why something cannot be written.
type Refused = String;

/// How one format writes tags.
trait Syntax {
    fn print(&self, path: &Path, around: &Around<'_>) -> Result<String, Refused>;
    fn call(&self, call: &Call, around: &Around<'_>) -> Result<String, Refused>;
    /// A language that has no conditions, no loops and no comments leaves this
    /// and what follows as it is.
    fn begin_if(&self, _: Condition<'_>, _: &Around<'_>) -> Result<String, Refused> {
        Err("the format has no conditions".into())
    }
    /// `None` where a condition inside the other part stands in a block of its own.
    fn else_if(&self, _: Condition<'_>, _: &Around<'_>) -> Option<Result<String, Refused>> {
        None
    }
    /// Between the parts of a condition or of a loop, whose path is given.
    fn otherwise(&self, _: Condition<'_>, _: &Around<'_>) -> Result<String, Refused> {
        Ok(String::new())
    }
    fn end_if(&self, _: Condition<'_>, _: &Around<'_>) -> Result<String, Refused> {
        Ok(String::new())
    }
    /// The loop is the innermost of those around.
    fn begin_for(&self, _: &Around<'_>) -> Result<String, Refused> {
        Err("the format has no loops".into())
    }
    fn end_for(&self, _: Condition<'_>, _: &Around<'_>) -> Result<String, Refused> {
        Ok(String::new())
    }
    /// `None` if the text cannot stand in a comment, or there are none.
    fn comment(&self, _: &str) -> Option<String> {
        None
    }
    fn role(&self, role: &str) -> Result<String, Refused>;
    /// What to mind about a path: where it is exact for some values only.
    fn mind(&self, _path: &Path, _around: &Around<'_>, _condition: bool) -> Option<String> {
        None
    }
    /// Puts the pieces together.
    fn join(&self, pieces: &[Piece]) -> Result<String, Refused>;
}

/// Writes a tree.
pub(super) fn write(
    language: Language,
    nodes: &[Node],
    shapes: &Shape,
    findings: &mut Findings<'_>,
) -> String {
    let syntax: &dyn Syntax = match language {
        Language::Go => &go::Go,
        Language::Jinja => &jinja::Jinja { trims: true },
        Language::JinjaPlain => &jinja::Jinja { trims: false },
        Language::SemanticKernel => &semantic_kernel::SemanticKernel,
        Language::Handlebars => &handlebars::Handlebars { roles: false },
        Language::Dotprompt => &handlebars::Handlebars { roles: true },
        Language::Mustache => &mustache::Mustache,
        Language::FString => &f_string::FString,
        Language::Liquid => &liquid::Liquid,
    };
    let lists = loops::lists(nodes);
    let mut writer = Writer {
        language,
        syntax,
        findings,
        taken: Taken::by(nodes),
        pieces: Vec::new(),
        around: Around {
            loops: Vec::new(),
            scope: Scope::with_lists(shapes, &lists),
            conditions: Vec::new(),
        },
    };
    writer.nodes(nodes);
    let pieces = joined_texts(writer.pieces);
    syntax.join(&pieces).unwrap_or_else(|why| {
        findings.refuse(Span::default(), why);
        String::new()
    })
}

struct Writer<'t, 'f, 's> {
    language: Language,
    syntax: &'f dyn Syntax,
    findings: &'f mut Findings<'s>,
    taken: Taken<'t>,
    pieces: Vec<Piece>,
    around: Around<'t>,
}

impl<'t> Writer<'t, '_, '_> {
    fn nodes(&mut self, nodes: &'t [Node]) {
        for node in nodes {
            self.node(node);
        }
    }

    fn node(&mut self, node: &'t Node) {
        let span = node.span;
        match &node.kind {
            NodeKind::Text(text) => self.pieces.push(Piece::Text(text.clone())),
            NodeKind::Print(path) => {
                let tag = self.syntax.print(path, &self.around);
                self.mind(path, span, false);
                self.push(tag, span, Piece::Print);
            }
            NodeKind::Call(call) => {
                let tag = self.syntax.call(call, &self.around);
                self.push(tag, span, Piece::Print);
            }
            NodeKind::If { .. } => self.condition(node),
            NodeKind::For { .. } => self.each(node),
            NodeKind::Comment(text) => self.comment(text, span),
            NodeKind::Role(role) => {
                let tag = self.syntax.role(role);
                self.push(tag, span, Piece::Print);
            }
        }
    }

    fn comment(&mut self, text: &str, span: Span) {
        match self.syntax.comment(text) {
            Some(tag) => self.pieces.push(Piece::Block(tag)),
            None => {
                let name = self.language.name();
                let message = format!("{name} cannot hold this comment: it is left out");
                self.findings.leave_out(span, message);
            }
        }
    }

    fn mind(&mut self, path: &Path, span: Span, condition: bool) {
        if let Some(message) = self.syntax.mind(path, &self.around, condition) {
            let help = "declare the kinds, or look at the result";
            self.findings.note(span, message, help);
        }
    }

    fn push(&mut self, tag: Result<String, Refused>, span: Span, piece: fn(String) -> Piece) {
        match tag {
            Ok(tag) => self.pieces.push(piece(tag)),
            Err(why) => self.findings.refuse(span, why),
        }
    }

    /// A condition, and those that follow in its other part alone.
    fn condition(&mut self, node: &'t Node) {
        let Some((first, then, mut otherwise)) = parts(node) else {
            return;
        };
        let span = node.span;
        let begin = self.syntax.begin_if(first, &self.around);
        self.mind(first.path, span, true);
        self.push(begin, span, Piece::Block);
        self.part(first, then);
        // Blocks that the format ends one by one.
        let mut open = first;
        while let [inner] = otherwise
            && let Some((condition, then, rest)) = parts(inner)
            && let Some(tag) = self.syntax.else_if(condition, &self.around)
        {
            self.mind(condition.path, inner.span, true);
            self.push(tag, inner.span, Piece::Block);
            self.part(condition, then);
            otherwise = rest;
            open = condition;
        }
        if !otherwise.is_empty() {
            let tag = self.syntax.otherwise(open, &self.around);
            self.push(tag, span, Piece::Block);
            open.negated = !open.negated;
            self.part(open, otherwise);
        }
        let end = self.syntax.end_if(first, &self.around);
        self.push(end, span, Piece::Block);
    }

    fn part(&mut self, condition: Condition<'t>, nodes: &'t [Node]) {
        self.around.conditions.push(condition.path);
        self.nodes(nodes);
        self.around.conditions.pop();
    }

    fn each(&mut self, node: &'t Node) {
        let NodeKind::For {
            list,
            name,
            body,
            otherwise,
        } = &node.kind
        else {
            return;
        };
        let span = node.span;
        self.mind(list, span, false);
        let conditions = std::mem::take(&mut self.around.conditions);
        let depth = self.around.loops.len();
        let mut names: Vec<&str> = self.around.loops.iter().flat_map(Loop::names).collect();
        let name = self.taken.free(name.as_deref(), &names);
        names.push(&name);
        let index = names::asks_index(body, depth).then(|| self.taken.free(Some("i"), &names));
        self.around.loops.push(Loop {
            list,
            name,
            index,
            used_inside: names::used_inside(body, depth),
        });
        let begin = self.syntax.begin_for(&self.around);
        self.push(begin, span, Piece::Block);
        self.around.scope.enter(list);
        self.nodes(body);
        self.around.scope.leave();
        self.around.loops.pop();
        let path = Condition {
            path: list,
            equals: None,
            negated: false,
        };
        self.around.conditions = conditions;
        if !otherwise.is_empty() {
            let tag = self.syntax.otherwise(path, &self.around);
            self.push(tag, span, Piece::Block);
            self.nodes(otherwise);
        }
        let end = if otherwise.is_empty() {
            self.syntax.end_for(path, &self.around)
        } else {
            self.syntax.end_for(
                Condition {
                    negated: true,
                    ..path
                },
                &self.around,
            )
        };
        self.push(end, span, Piece::Block);
    }
}

/// A condition with its parts, the other way round if the first is empty.
fn parts(node: &Node) -> Option<(Condition<'_>, &[Node], &[Node])> {
    let NodeKind::If {
        condition,
        then,
        otherwise,
    } = &node.kind
    else {
        return None;
    };
    let negated = then.is_empty() && !otherwise.is_empty();
    let condition = Condition {
        path: &condition.path,
        equals: condition.equals.as_deref(),
        negated,
    };
    Some(if negated {
        (condition, otherwise, then)
    } else {
        (condition, then, otherwise)
    })
}

fn joined_texts(pieces: Vec<Piece>) -> Vec<Piece> {
    let mut joined: Vec<Piece> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (_, Piece::Text(text)) if text.is_empty() => {}
            (Some(Piece::Text(before)), Piece::Text(text)) => before.push_str(&text),
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

/// The pieces beside a piece.
fn beside(pieces: &[Piece], at: usize) -> (Option<&Piece>, Option<&Piece>) {
    let before = at.checked_sub(1).and_then(|before| pieces.get(before));
    (before, pieces.get(at + 1))
}

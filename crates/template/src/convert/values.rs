//! Where two formats print or judge values in different ways.
//!
//! Texts and whole numbers print the same everywhere. What is declared to be
//! of a kind that does not is written in another way (a boolean becomes a
//! condition) or refused; what is not declared is converted, with a note.

use quillet_core::Span;

use super::findings::Findings;
use super::language::{Language, Printing};
use super::loops;
use super::shape::{Scope, Shape};
use super::tree::{Condition, Knows, Node, NodeKind, Nodes, Path, Start};

/// A note names no more than these.
const MOST_NAMES: usize = 20;

/// What is undeclared and printed: names, and where the first one stands.
#[derive(Default)]
struct Undeclared {
    names: Vec<String>,
    first: Option<Span>,
}

struct Comparing<'c, 's> {
    from: Language,
    to: Language,
    scope: Scope<'c>,
    findings: &'c mut Findings<'s>,
    undeclared: Undeclared,
}

/// Makes a tree that was read in one format mean the same in another.
pub(super) fn adapt(
    nodes: Nodes,
    [from, to]: [Language; 2],
    shapes: &Shape,
    assume_text: bool,
    findings: &mut Findings<'_>,
) -> Nodes {
    let lists = loops::lists(&nodes);
    let mut comparing = Comparing {
        from,
        to,
        scope: Scope::with_lists(shapes, &lists),
        findings,
        undeclared: Undeclared::default(),
    };
    let nodes = comparing.nodes(nodes);
    if !assume_text {
        comparing.tell();
    }
    nodes
}

impl Comparing<'_, '_> {
    fn nodes(&mut self, nodes: Nodes) -> Nodes {
        nodes.into_iter().map(|node| self.node(node)).collect()
    }

    fn node(&mut self, node: Node) -> Node {
        let span = node.span;
        let kind = match node.kind {
            NodeKind::Print(path) => self.print(path, span),
            NodeKind::Call(call) => {
                self.undeclared(format!("{}()", call.name), span);
                NodeKind::Call(call)
            }
            NodeKind::If {
                condition,
                then,
                otherwise,
            } => {
                self.condition(&condition, span);
                NodeKind::If {
                    condition,
                    then: self.nodes(then),
                    otherwise: self.nodes(otherwise),
                }
            }
            NodeKind::For {
                list,
                name,
                body,
                otherwise,
            } => {
                self.list(&list, span);
                self.scope.enter(&list);
                let body = self.nodes(body);
                self.scope.leave();
                NodeKind::For {
                    list,
                    name,
                    body,
                    otherwise: self.nodes(otherwise),
                }
            }
            kind => kind,
        };
        Node::new(kind, span)
    }

    fn print(&mut self, path: Path, span: Span) -> NodeKind {
        let (from, to) = (self.from.printing(), self.to.printing());
        if from == to {
            return NodeKind::Print(path);
        }
        match self.scope.shape(&path) {
            Shape::Boolean if from.booleans() != to.booleans() => {
                return spelled(path, from, span);
            }
            Shape::Text | Shape::Integer | Shape::Boolean => {}
            Shape::Unknown => self.undeclared(shown(&path), span),
            Shape::Number => self.number(&path, span),
            shape @ (Shape::List(_) | Shape::Object(_)) => self.container(&path, shape, span),
        }
        NodeKind::Print(path)
    }

    fn number(&mut self, path: &Path, span: Span) {
        let message = format!(
            "{} is a number: one such as 1.0 or 1e21 prints in other ways in {} and in {}",
            shown(path),
            self.from.name(),
            self.to.name()
        );
        let help = "declare it as an integer or a text";
        self.findings.note(span, message, help);
    }

    fn container(&mut self, path: &Path, shape: &Shape, span: Span) {
        let kind = match shape {
            Shape::List(_) => "a list",
            _ => "an object",
        };
        let message = format!(
            "{} is {kind}, which {} prints in another way than {}",
            shown(path),
            self.to.name(),
            self.from.name()
        );
        let help = "print its items or fields one by one";
        self.findings.refuse_with(span, message, help);
    }

    fn condition(&mut self, condition: &Condition, span: Span) {
        match &condition.equals {
            Some(_) => self.equality(&condition.path, span),
            None => self.truth(&condition.path, span),
        }
    }

    /// Formats agree on what equals a text for texts only: go, for example,
    /// compares nothing else with one.
    fn equality(&mut self, path: &Path, span: Span) {
        let shape = self.scope.shape(path);
        let same = self.from.printing() == self.to.printing();
        if same || *shape == Shape::Text {
            return;
        }
        if *shape != Shape::Unknown {
            let message = format!("{} is compared with a text, and is none", shown(path));
            let help = "formats agree on texts only";
            return self.findings.refuse_with(span, message, help);
        }
        let name = shown(path);
        self.undeclared(name, span);
    }

    fn truth(&mut self, path: &Path, span: Span) {
        let (from, to) = (self.from, self.to);
        if let Shape::Object(_) = self.scope.shape(path)
            && from.empty_object_is_true() != to.empty_object_is_true()
        {
            let message = format!(
                "{} is an object: without fields it is true in one of {} and {} and false in the other",
                shown(path),
                from.name(),
                to.name()
            );
            self.findings
                .refuse_with(span, message, "ask for one of its fields");
        }
    }

    fn list(&mut self, path: &Path, span: Span) {
        let shape = self.scope.shape(path);
        if !matches!(shape, Shape::List(_) | Shape::Unknown) && self.from != self.to {
            let message = format!(
                "the loop runs over {}, which is declared to be no list",
                shown(path)
            );
            let help = "formats agree on loops over lists only";
            self.findings.refuse_with(span, message, help);
        }
    }

    fn undeclared(&mut self, name: String, span: Span) {
        if self.from.printing() == self.to.printing() {
            return;
        }
        self.undeclared.first.get_or_insert(span);
        let names = &mut self.undeclared.names;
        if names.len() < MOST_NAMES && !names.contains(&name) {
            names.push(name);
        }
    }

    /// One note for all that is not declared.
    fn tell(self) {
        let Some(span) = self.undeclared.first else {
            return;
        };
        let [from, to] = [self.from, self.to];
        let message = format!(
            "exact where these are texts or whole numbers: {} ({})",
            self.undeclared.names.join(", "),
            difference(from, to)
        );
        let help = "declare their kinds, or pass --assume-text";
        self.findings.note(span, message, help);
    }
}

/// An example of a value that prints in two ways.
fn difference(from: Language, to: Language) -> String {
    let [one, other] = [from, to].map(|language| language.printing().booleans()[0]);
    if one == other {
        return format!(
            "lists print in other ways in {} and in {}",
            from.name(),
            to.name()
        );
    }
    format!(
        "true prints {one} in {} and {other} in {}",
        from.name(),
        to.name()
    )
}

/// A boolean as the words that the other format prints.
fn spelled(path: Path, printing: Printing, span: Span) -> NodeKind {
    let [yes, no] = printing.booleans();
    let text = |text: &str| vec![Node::new(NodeKind::Text(text.to_owned()), span)];
    NodeKind::If {
        condition: Condition::truth(path),
        then: text(yes),
        otherwise: text(no),
    }
}

/// A path for people.
pub(super) fn shown(path: &Path) -> String {
    match (path.start, path.keys.as_slice()) {
        (Start::Root, []) => "the variables as a whole".to_owned(),
        (Start::Root, keys) => keys.join("."),
        (Start::Item(_), []) => "the item".to_owned(),
        (Start::Item(_), keys) => format!("item.{}", keys.join(".")),
        (Start::Loop(_, Knows::Index), _) => "the index of the item".to_owned(),
        (Start::Loop(_, Knows::Number), _) => "the number of the item".to_owned(),
        (Start::Loop(_, Knows::First), _) => "whether the item is the first".to_owned(),
        (Start::Loop(_, Knows::Last), _) => "whether the item is the last".to_owned(),
    }
}

//! Where two formats print or judge values in different ways.
//!
//! Texts and whole numbers print the same everywhere. What is declared to be
//! of a kind that does not is written in another way (a boolean becomes a
//! condition) or refused; what is not declared is converted, with a note.

use quillet_core::Span;

use super::findings::ConvertFindings;
use super::language::{Language, Printing};
use super::loops;
use super::shape::{TypeScope, VariableType};
use super::tree::{
    LoopPosition, NodeKind, Nodes, PathStart, TreeCondition, TreeNode, VariablePath,
};

/// A note names no more than these.
const MOST_NAMES: usize = 20;

/// What is undeclared and printed: names, and where the first one stands.
#[derive(Default)]
struct UndeclaredNames {
    names: Vec<String>,
    first: Option<Span>,
}

struct Comparing<'c, 's> {
    from: Language,
    to: Language,
    scope: TypeScope<'c>,
    findings: &'c mut ConvertFindings<'s>,
    undeclared: UndeclaredNames,
}

/// Makes a tree that was read in one format mean the same in another.
pub(super) fn adapt(
    nodes: Nodes,
    [from, to]: [Language; 2],
    shapes: &VariableType,
    assume_text: bool,
    findings: &mut ConvertFindings<'_>,
) -> Nodes {
    let lists = loops::lists(&nodes);
    let mut comparing = Comparing {
        from,
        to,
        scope: TypeScope::with_lists(shapes, &lists),
        findings,
        undeclared: UndeclaredNames::default(),
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

    fn node(&mut self, node: TreeNode) -> TreeNode {
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
        TreeNode::new(kind, span)
    }

    fn print(&mut self, path: VariablePath, span: Span) -> NodeKind {
        let (from, to) = (self.from.printing(), self.to.printing());
        if from == to {
            return NodeKind::Print(path);
        }
        match self.scope.shape(&path) {
            VariableType::Boolean if from.booleans() != to.booleans() => {
                return boolean_words(path, from, span);
            }
            VariableType::Text | VariableType::Integer | VariableType::Boolean => {}
            VariableType::Unknown => self.undeclared(shown(&path), span),
            VariableType::Number => self.number(&path, span),
            shape @ (VariableType::List(_) | VariableType::Object(_)) => {
                self.container(&path, shape, span)
            }
        }
        NodeKind::Print(path)
    }

    fn number(&mut self, path: &VariablePath, span: Span) {
        let message = format!(
            "{} is a number: one such as 1.0 or 1e21 prints in other ways in {} and in {}",
            shown(path),
            self.from.name(),
            self.to.name()
        );
        let help = "declare it as an integer or a text";
        self.findings.note(span, message, help);
    }

    fn container(&mut self, path: &VariablePath, shape: &VariableType, span: Span) {
        let kind = match shape {
            VariableType::List(_) => "a list",
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

    fn condition(&mut self, condition: &TreeCondition, span: Span) {
        match &condition.equals {
            Some(_) => self.equality(&condition.path, span),
            None => self.truth(&condition.path, span),
        }
    }

    /// Formats agree on what equals a text for texts only: go, for example,
    /// compares nothing else with one.
    fn equality(&mut self, path: &VariablePath, span: Span) {
        let shape = self.scope.shape(path);
        let same = self.from.printing() == self.to.printing();
        if same || *shape == VariableType::Text {
            return;
        }
        if *shape != VariableType::Unknown {
            let message = format!("{} is compared with a text, and is none", shown(path));
            let help = "formats agree on texts only";
            return self.findings.refuse_with(span, message, help);
        }
        let name = shown(path);
        self.undeclared(name, span);
    }

    fn truth(&mut self, path: &VariablePath, span: Span) {
        let (from, to) = (self.from, self.to);
        if let VariableType::Object(_) = self.scope.shape(path)
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

    fn list(&mut self, path: &VariablePath, span: Span) {
        let shape = self.scope.shape(path);
        if !matches!(shape, VariableType::List(_) | VariableType::Unknown) && self.from != self.to {
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
fn boolean_words(path: VariablePath, printing: Printing, span: Span) -> NodeKind {
    let [yes, no] = printing.booleans();
    let text = |text: &str| vec![TreeNode::new(NodeKind::Text(text.to_owned()), span)];
    NodeKind::If {
        condition: TreeCondition::truth(path),
        then: text(yes),
        otherwise: text(no),
    }
}

/// A path for people.
pub(super) fn shown(path: &VariablePath) -> String {
    match (path.start, path.keys.as_slice()) {
        (PathStart::Root, []) => "the variables as a whole".to_owned(),
        (PathStart::Root, keys) => keys.join("."),
        (PathStart::Item(_), []) => "the item".to_owned(),
        (PathStart::Item(_), keys) => format!("item.{}", keys.join(".")),
        (PathStart::Loop(_, LoopPosition::Index), _) => "the index of the item".to_owned(),
        (PathStart::Loop(_, LoopPosition::Number), _) => "the number of the item".to_owned(),
        (PathStart::Loop(_, LoopPosition::First), _) => "whether the item is the first".to_owned(),
        (PathStart::Loop(_, LoopPosition::Last), _) => "whether the item is the last".to_owned(),
    }
}

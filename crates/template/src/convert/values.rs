//! Handling of values that two formats print or evaluate differently.
//!
//! Texts and whole numbers print the same in all formats. A value of another declared kind is
//! rewritten (a boolean becomes a condition) or rejected. An undeclared value is converted with a
//! warning.

use quillet_core::Span;

use super::findings::ConvertFindings;
use super::language::{Language, PrintRules};
use super::loops;
use super::shape::{TypeScope, VariableType};
use super::tree::{
    LoopPosition, NodeKind, Nodes, PathStart, TreeCondition, TreeNode, VariablePath,
};

/// Maximum number of names in a warning.
const MOST_NAMES: usize = 20;

/// Names of undeclared values that are printed, and the location of the first one.
#[derive(Default)]
struct UndeclaredNames {
    names: Vec<String>,
    first: Option<Span>,
}

struct ValueComparison<'c, 's> {
    from: Language,
    to: Language,
    scope: TypeScope<'c>,
    findings: &'c mut ConvertFindings<'s>,
    undeclared: UndeclaredNames,
}

/// Rewrites a tree read in one format so that it means the same in another.
pub(super) fn adapt(
    nodes: Nodes,
    [from, to]: [Language; 2],
    shapes: &VariableType,
    assume_text: bool,
    findings: &mut ConvertFindings<'_>,
) -> Nodes {
    let lists = loops::lists(&nodes);
    let mut comparing = ValueComparison {
        from,
        to,
        scope: TypeScope::with_lists(shapes, &lists),
        findings,
        undeclared: UndeclaredNames::default(),
    };
    let nodes = comparing.nodes(nodes);
    if !assume_text {
        comparing.report_undeclared();
    }
    nodes
}

impl ValueComparison<'_, '_> {
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
            "{} is a number: numbers such as 1.0 or 1e21 print differently in {} and {}",
            shown(path),
            self.from.name(),
            self.to.name()
        );
        let help = "declare it as an integer or as text";
        self.findings.note(span, message, help);
    }

    fn container(&mut self, path: &VariablePath, shape: &VariableType, span: Span) {
        let kind = match shape {
            VariableType::List(_) => "a list",
            _ => "an object",
        };
        let message = format!(
            "{} is {kind}, which {} prints differently from {}",
            shown(path),
            self.to.name(),
            self.from.name()
        );
        let help = "print its items or fields one by one";
        self.findings.reject_with_help(span, message, help);
    }

    fn condition(&mut self, condition: &TreeCondition, span: Span) {
        match &condition.equals {
            Some(_) => self.equality(&condition.path, span),
            None => self.truth(&condition.path, span),
        }
    }

    /// Checks that a compared value is a text. Formats agree only on comparisons of two texts. Go,
    /// for example, cannot compare another value with a text.
    fn equality(&mut self, path: &VariablePath, span: Span) {
        let shape = self.scope.shape(path);
        let same = self.from.printing() == self.to.printing();
        if same || *shape == VariableType::Text {
            return;
        }
        if *shape != VariableType::Unknown {
            let message = format!("{} is compared with text, but is not text", shown(path));
            let help = "formats compare only text in the same way";
            return self.findings.reject_with_help(span, message, help);
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
                "{} is an object: without fields it is true in only one of {} and {}",
                shown(path),
                from.name(),
                to.name()
            );
            self.findings
                .reject_with_help(span, message, "test one of its fields");
        }
    }

    fn list(&mut self, path: &VariablePath, span: Span) {
        let shape = self.scope.shape(path);
        if !matches!(shape, VariableType::List(_) | VariableType::Unknown) && self.from != self.to {
            let message = format!(
                "the loop iterates over {}, which is not declared as a list",
                shown(path)
            );
            let help = "formats handle only loops over lists in the same way";
            self.findings.reject_with_help(span, message, help);
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

    /// Adds a warning that lists all undeclared values.
    fn report_undeclared(self) {
        let Some(span) = self.undeclared.first else {
            return;
        };
        let [from, to] = [self.from, self.to];
        let message = format!(
            "exact only if these are text or whole numbers: {} ({})",
            self.undeclared.names.join(", "),
            difference(from, to)
        );
        let help = "declare their kinds, or pass --assume-text";
        self.findings.note(span, message, help);
    }
}

/// Returns an example of a value that prints differently in two formats.
fn difference(from: Language, to: Language) -> String {
    let [one, other] = [from, to].map(|language| language.printing().booleans()[0]);
    if one == other {
        return format!(
            "lists print differently in {} and {}",
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

/// Replaces a boolean by a condition that prints the words of the source format.
fn boolean_words(path: VariablePath, printing: PrintRules, span: Span) -> NodeKind {
    let [yes, no] = printing.booleans();
    let text = |text: &str| vec![TreeNode::new(NodeKind::Text(text.to_owned()), span)];
    NodeKind::If {
        condition: TreeCondition::truth(path),
        then: text(yes),
        otherwise: text(no),
    }
}

/// Returns the displayed form of a path.
pub(super) fn shown(path: &VariablePath) -> String {
    match (path.start, path.keys.as_slice()) {
        (PathStart::Root, []) => "the set of all variables".to_owned(),
        (PathStart::Root, keys) => keys.join("."),
        (PathStart::Item(_), []) => "the item".to_owned(),
        (PathStart::Item(_), keys) => format!("item.{}", keys.join(".")),
        (PathStart::Loop(_, LoopPosition::Index), _) => "the index of the item".to_owned(),
        (PathStart::Loop(_, LoopPosition::Number), _) => "the number of the item".to_owned(),
        (PathStart::Loop(_, LoopPosition::First), _) => "whether the item is the first".to_owned(),
        (PathStart::Loop(_, LoopPosition::Last), _) => "whether the item is the last".to_owned(),
    }
}

//! Format strings as a neutral tree.

use quillet_core::{Diagnostic, Span};

use super::ast::{Field, Index, Node as Piece};
use super::{Rules, parser};
use crate::convert::{Findings, Node, NodeKind, Nodes, Path};
use crate::{MessageSyntax, Source};

/// Reads a source. What other formats do not have is refused.
pub(crate) fn read(
    source: &Source<'_>,
    findings: &mut Findings<'_>,
) -> Result<Nodes, Vec<Diagnostic>> {
    let program = parser::parse(source, Rules::Python, MessageSyntax::Plain)?;
    let mut nodes = Nodes::new();
    for piece in &program.nodes {
        match piece {
            Piece::Text(range) => {
                let text = program.literals.get(range.clone()).unwrap_or_default();
                nodes.push(Node::new(NodeKind::Text(text.to_owned()), Span::default()));
            }
            Piece::Field(field) => nodes.extend(print(field, findings)),
            Piece::Refused(problem) => {
                let found = problem.clone().diagnostic(source);
                findings.refuse(found.span.unwrap_or_default(), found.message);
            }
        }
    }
    Ok(nodes)
}

fn print(field: &Field, findings: &mut Findings<'_>) -> Option<Node> {
    if !field.is_plain() {
        let message = "a conversion or a layout has no exact counterpart in other formats";
        findings.refuse(field.whole, message);
        return None;
    }
    let mut path = Path::root(&[&field.name]);
    for index in &field.path {
        match index {
            Index::Key(key) => path.keys.push(key.to_string()),
            Index::Number(_) => {
                let message = "an index has no exact counterpart in other formats";
                findings.refuse(field.span, message);
                return None;
            }
        }
    }
    Some(Node::new(NodeKind::Print(path), field.span))
}

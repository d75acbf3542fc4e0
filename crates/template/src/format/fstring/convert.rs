//! Reads format strings into the neutral tree.

use quillet_core::{Diagnostic, Span};

use super::ast::{Field, Index, Node as Piece};
use super::{Rules, parser};
use crate::convert::{ConvertFindings, NodeKind, Nodes, TreeNode, VariablePath};
use crate::{MessageSyntax, TemplateSource};

/// Reads a source, and rejects features that other formats lack.
pub(crate) fn read(
    source: &TemplateSource<'_>,
    findings: &mut ConvertFindings<'_>,
) -> Result<Nodes, Vec<Diagnostic>> {
    let program = parser::parse(source, Rules::Python, MessageSyntax::Plain)?;
    let mut nodes = Nodes::new();
    for piece in &program.nodes {
        match piece {
            Piece::Text(range) => {
                let text = program.literals.get(range.clone()).unwrap_or_default();
                nodes.push(TreeNode::new(
                    NodeKind::Text(text.to_owned()),
                    Span::default(),
                ));
            }
            Piece::Field(field) => nodes.extend(print(field, findings)),
            Piece::Refused(problem) => {
                let found = problem.clone().diagnostic(source);
                findings.reject(found.span.unwrap_or_default(), found.message);
            }
        }
    }
    Ok(nodes)
}

fn print(field: &Field, findings: &mut ConvertFindings<'_>) -> Option<TreeNode> {
    if !field.is_plain() {
        let message =
            "a conversion or a format specifier has no exact counterpart in other formats";
        findings.reject(field.whole, message);
        return None;
    }
    let mut path = VariablePath::root(&[&field.name]);
    for index in &field.path {
        match index {
            Index::Key(key) => path.keys.push(key.to_string()),
            Index::Number(_) => {
                let message = "an index has no exact counterpart in other formats";
                findings.reject(field.span, message);
                return None;
            }
        }
    }
    Some(TreeNode::new(NodeKind::Print(path), field.span))
}

//! Reads Semantic Kernel templates into the neutral tree.

use quillet_core::{Diagnostic, Span, Value};

use super::ast::{Call, Node as Piece, Operand, Program};
use super::encoding::{Encoding, HostLanguage};
use super::parser::Parser;
use super::scan::{self, PartScanner};
use crate::TemplateSource;
use crate::convert::VariablePath;
use crate::convert::{Argument, ConvertFindings, NodeKind, Nodes, TreeCall, TreeNode};
use crate::structure::Elements;

/// Encoding that leaves texts unchanged: nothing is encoded or marked.
const PLAIN: Encoding = Encoding {
    dialect: HostLanguage::DotNet,
    allow_prompt: true,
    allow_factory: true,
};

/// Reads a source, and rejects features that other formats lack.
pub(crate) fn read(
    source: &TemplateSource<'_>,
    findings: &mut ConvertFindings<'_>,
) -> Result<Nodes, Vec<Diagnostic>> {
    let mut parser = Parser {
        encoding: Some(PLAIN),
        trusted: &[],
        trusted_results: false,
        elements: Elements::default(),
        problems: Vec::new(),
        program: Program::default(),
    };
    parser.source(source.text);
    if !parser.problems.is_empty() {
        let found = parser.problems.into_iter();
        return Err(found.map(|one| one.diagnostic(source)).collect());
    }
    report_elements(source.text, findings);
    let program = parser.program;
    let node = |piece| node(&program, piece, findings);
    Ok(program.nodes.iter().map(node).collect())
}

/// Reports message tags, which are structure in this format and text in others.
fn report_elements(text: &str, findings: &mut ConvertFindings<'_>) {
    for piece in PartScanner::new(text) {
        let scan::TemplatePart::Text(text, at) = piece else {
            continue;
        };
        let mut tags = text.match_indices('<');
        if let Some((offset, _)) = tags.find(|(at, _)| Elements::would_mark(&text[*at..])) {
            let start = at + offset;
            let span = Span {
                start,
                end: start + 1,
            };
            let message = "message tags are structure in semantic-kernel, but plain text after the conversion";
            let help = "convert the prompt file, or set messageSyntax to elements in the prompts that use the template";
            return findings.note(span, message, help);
        }
    }
}

fn node(program: &Program, piece: &Piece, findings: &mut ConvertFindings<'_>) -> TreeNode {
    match piece {
        Piece::Text(range) => {
            let text = program.text.get(range.clone()).unwrap_or_default();
            TreeNode::new(NodeKind::Text(text.to_owned()), Span::default())
        }
        Piece::Variable(variable) => {
            let path = VariablePath::root(&[&variable.name]);
            TreeNode::new(NodeKind::Print(path), variable.span)
        }
        Piece::Call(call) => TreeNode::new(NodeKind::Call(called(call, findings)), call.span),
    }
}

fn called(call: &Call, findings: &mut ConvertFindings<'_>) -> TreeCall {
    if call.arguments() == 0 {
        let message = format!(
            "{} is called without arguments: semantic-kernel passes it the template's own variables by name",
            call.name
        );
        findings.note(call.span, message, "name the arguments that it takes");
    }
    let named = call.named.iter();
    TreeCall {
        // Functions of plugins are registered with an underscore in the name.
        name: call.name.replace('.', "_"),
        positional: call.positional.iter().map(argument).collect(),
        named: named
            .map(|(name, value)| (name.to_string(), argument(value)))
            .collect(),
    }
}

fn argument(operand: &Operand) -> Argument {
    match operand {
        Operand::Variable(variable) => Argument::Path(VariablePath::root(&[&variable.name])),
        Operand::Value(Value::Str(text)) => Argument::Text(text.to_string()),
        // All constants are strings.
        Operand::Value(_) => Argument::Text(String::new()),
    }
}

//! Semantic Kernel templates as a neutral tree.

use quillet_core::{Diagnostic, Span, Value};

use super::ast::{Call, Node as Piece, Operand, Program};
use super::encoding::{Dialect, Encoding};
use super::parser::Parser;
use super::scan::{self, Pieces};
use crate::Source;
use crate::convert::{self, Argument, Findings, Node, NodeKind, Nodes, Path};
use crate::structure::Elements;

/// Nothing is encoded and nothing marked: texts stay as they are written.
const PLAIN: Encoding = Encoding {
    dialect: Dialect::DotNet,
    allow_prompt: true,
    allow_factory: true,
};

/// Reads a source. What other formats do not have is refused.
pub(crate) fn read(
    source: &Source<'_>,
    findings: &mut Findings<'_>,
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
    tell_elements(source.text, findings);
    let program = parser.program;
    let node = |piece| node(&program, piece, findings);
    Ok(program.nodes.iter().map(node).collect())
}

/// Tags of messages are structure here and text elsewhere.
fn tell_elements(text: &str, findings: &mut Findings<'_>) {
    for piece in Pieces::new(text) {
        let scan::Piece::Text(text, at) = piece else {
            continue;
        };
        let mut tags = text.match_indices('<');
        if let Some((offset, _)) = tags.find(|(at, _)| Elements::would_mark(&text[*at..])) {
            let start = at + offset;
            let span = Span {
                start,
                end: start + 1,
            };
            let message = "tags of messages are structure in semantic-kernel and stay text here";
            let help = "convert the prompt's file, or set messageSyntax: elements where it is used";
            return findings.note(span, message, help);
        }
    }
}

fn node(program: &Program, piece: &Piece, findings: &mut Findings<'_>) -> Node {
    match piece {
        Piece::Text(range) => {
            let text = program.text.get(range.clone()).unwrap_or_default();
            Node::new(NodeKind::Text(text.to_owned()), Span::default())
        }
        Piece::Variable(variable) => {
            let path = Path::root(&[&variable.name]);
            Node::new(NodeKind::Print(path), variable.span)
        }
        Piece::Call(call) => Node::new(NodeKind::Call(called(call, findings)), call.span),
    }
}

fn called(call: &Call, findings: &mut Findings<'_>) -> convert::Call {
    if call.arguments() == 0 {
        let message = format!(
            "{} is called without arguments: semantic-kernel gives it the template's own variables by name",
            call.name
        );
        findings.note(call.span, message, "name the arguments that it takes");
    }
    let named = call.named.iter();
    convert::Call {
        // Functions of plugins are registered with an underscore here.
        name: call.name.replace('.', "_"),
        positional: call.positional.iter().map(argument).collect(),
        named: named
            .map(|(name, value)| (name.to_string(), argument(value)))
            .collect(),
    }
}

fn argument(operand: &Operand) -> Argument {
    match operand {
        Operand::Variable(variable) => Argument::Path(Path::root(&[&variable.name])),
        Operand::Value(Value::Str(text)) => Argument::Text(text.to_string()),
        // Values are texts.
        Operand::Value(_) => Argument::Text(String::new()),
    }
}

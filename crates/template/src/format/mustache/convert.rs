//! Reads Mustache templates into the neutral tree.
//!
//! The meanings of sections and names depend on the values, so the reader uses the declared kinds.
//! Undeclared uses are rejected or reported with a warning.

use quillet_core::{Diagnostic, Span};

use super::ast::{Node as Piece, Program, Section, TagPath as Written};
use super::parser;
use crate::convert::VariableType;
use crate::convert::{ConvertFindings, NodeKind, Nodes, TreeCondition, TreeNode, VariablePath};
use crate::{CompileOptions, TemplateSource};

/// Reads a source, and rejects features that other formats lack.
pub(crate) fn read(
    source: &TemplateSource<'_>,
    options: &CompileOptions,
    shapes: &VariableType,
    findings: &mut ConvertFindings<'_>,
) -> Result<Nodes, Vec<Diagnostic>> {
    let program = parser::parse(source, options, &|_| None, true)?;
    let mut reader = Reader {
        program: &program,
        findings,
        root: shapes,
        frames: Vec::new(),
        loops: 0,
    };
    Ok(reader.range(0, program.nodes.len()))
}

/// A context of name lookup.
struct TypeFrame<'p> {
    path: VariablePath,
    shape: &'p VariableType,
}

struct Reader<'p, 'r, 's> {
    program: &'p Program,
    findings: &'r mut ConvertFindings<'s>,
    root: &'p VariableType,
    /// Contexts, innermost last.
    frames: Vec<TypeFrame<'p>>,
    /// Number of enclosing loops.
    loops: usize,
}

impl Reader<'_, '_, '_> {
    fn range(&mut self, from: usize, to: usize) -> Nodes {
        let mut nodes = Nodes::new();
        let mut at = from;
        while let Some(piece) = self.program.nodes.get(at).filter(|_| at < to) {
            at += 1;
            match piece {
                Piece::Text(range, _) => {
                    let text = self.program.literals.get(range.clone()).unwrap_or_default();
                    nodes.push(TreeNode::new(
                        NodeKind::Text(text.to_owned()),
                        Span::default(),
                    ));
                }
                Piece::Value(tag) => {
                    let found = self.find(&tag.path, tag.span);
                    let node = |(path, _)| TreeNode::new(NodeKind::Print(path), tag.span);
                    nodes.extend(found.map(node));
                }
                Piece::Section(section) => {
                    let kind = self.section(section, at);
                    nodes.extend(kind.map(|kind| TreeNode::new(kind, section.tag.span)));
                    at = section.end;
                }
                Piece::Partial(partial) => {
                    let message = "a partial has no exact counterpart in other formats";
                    self.findings.reject(partial.tag.span, message);
                }
            }
        }
        nodes
    }

    fn section(&mut self, section: &Section, body: usize) -> Option<NodeKind> {
        let (path, shape) = self.find(&section.tag.path, section.tag.span)?;
        if section.inverted {
            return Some(NodeKind::If {
                condition: TreeCondition::truth(path),
                then: Nodes::new(),
                otherwise: self.range(body, section.end),
            });
        }
        match shape {
            VariableType::List(_) => Some(self.each(path, section, body)),
            VariableType::Boolean => Some(self.condition(path, false, section, body)),
            VariableType::Unknown if self.names_item(body, section.end) => {
                Some(self.each(path, section, body))
            }
            VariableType::Unknown => {
                let name = section.tag.path.text();
                let message = format!(
                    "{name} is a condition or a loop depending on its value, which is not declared"
                );
                let help = format!("declare it: --kind {name}=list, or --kind {name}=boolean");
                self.findings
                    .reject_with_help(section.tag.span, message, help);
                self.condition(path, false, section, body);
                None
            }
            // The section enters the value.
            _ => Some(self.condition(path, true, section, body)),
        }
    }

    /// Whether a section prints `{{.}}` itself, which only a loop does.
    fn names_item(&self, from: usize, to: usize) -> bool {
        let nodes = self.program.nodes.get(from..to).unwrap_or_default();
        let mut inside = 0;
        nodes.iter().enumerate().any(|(offset, node)| match node {
            Piece::Section(section) => {
                inside = inside.max(section.end);
                false
            }
            Piece::Value(tag) => from + offset >= inside && matches!(tag.path, Written::Here),
            _ => false,
        })
    }

    fn each(&mut self, list: VariablePath, section: &Section, body: usize) -> NodeKind {
        let shape = self.declared(&list).items();
        self.frames.push(TypeFrame {
            path: VariablePath::item(self.loops, &[]),
            shape,
        });
        self.loops += 1;
        let body = self.range(body, section.end);
        self.loops -= 1;
        self.frames.pop();
        NodeKind::For {
            list,
            name: None,
            body,
            otherwise: Nodes::new(),
        }
    }

    fn condition(
        &mut self,
        condition: VariablePath,
        inside: bool,
        section: &Section,
        body: usize,
    ) -> NodeKind {
        if inside {
            let shape = self.declared(&condition);
            self.frames.push(TypeFrame {
                path: condition.clone(),
                shape,
            });
        }
        let then = self.range(body, section.end);
        if inside {
            self.frames.pop();
        }
        NodeKind::If {
            condition: TreeCondition::truth(condition),
            then,
            otherwise: Nodes::new(),
        }
    }
}

impl<'p> Reader<'p, '_, '_> {
    /// Resolves a name. Returns its path and kind.
    fn find(&mut self, written: &Written, span: Span) -> Option<(VariablePath, &'p VariableType)> {
        let path = match written {
            Written::Here => self.frames.last().map(|frame| frame.path.clone()),
            name => {
                let rest = name.rest().iter().map(|part| part.to_string());
                Some(self.base(name.first(), span).join(rest))
            }
        };
        let Some(path) = path else {
            let message = "the set of all variables has no exact counterpart in other formats";
            self.findings.reject(span, message);
            return None;
        };
        let shape = self.declared(&path);
        Some((path, shape))
    }

    /// Finds the innermost context with a name.
    fn base(&mut self, first: &str, span: Span) -> VariablePath {
        let key = || [first.to_owned()];
        for frame in self.frames.iter().rev() {
            if frame.shape.has(first) {
                return frame.path.join(key());
            }
            if *frame.shape == VariableType::Unknown {
                let message = format!(
                    "exact only if every item has {first}: mustache looks up a missing field outside the item"
                );
                let help = "declare the kinds: --kind items[].title=text";
                self.findings.note(span, message, help);
                return frame.path.join(key());
            }
        }
        VariablePath::root(&[first])
    }

    /// Returns the declared kind of a path.
    fn declared(&self, path: &VariablePath) -> &'p VariableType {
        use crate::convert::PathStart;
        let (start, skipped) = match path.start {
            // In Mustache, names cannot refer to loop variables.
            PathStart::Root | PathStart::Loop(..) => (self.root, 0),
            PathStart::Item(_) => {
                let same = |frame: &&TypeFrame<'p>| {
                    frame.path.start == path.start && path.keys.starts_with(&frame.path.keys)
                };
                match self.frames.iter().rev().find(same) {
                    Some(frame) => (frame.shape, frame.path.keys.len()),
                    None => (&VariableType::Unknown, 0),
                }
            }
        };
        let keys = path.keys.iter().skip(skipped);
        keys.fold(start, |shape, key| shape.field(key))
    }
}

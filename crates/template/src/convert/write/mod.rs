//! Writes trees: first as segments (texts and tags), which are then joined. Texts are escaped
//! during joining, because escaping depends on the neighboring tags.

mod f_string;
mod go;
mod handlebars;
mod jinja;
mod liquid;
mod mustache;
mod names;
mod semantic_kernel;
mod syntax;

use quillet_core::Span;

use super::findings::ConvertFindings;
use super::language::Language;
use super::loops;
use super::shape::{TypeScope, VariableType};
use super::tree::{NodeKind, TreeNode, VariablePath};
use names::UsedNames;
use syntax::{ConditionExpr, LoopContext, OutputPart, Syntax, WriteContext, WriteError};

/// Writes a tree.
pub(super) fn write(
    language: Language,
    nodes: &[TreeNode],
    shapes: &VariableType,
    findings: &mut ConvertFindings<'_>,
) -> String {
    let syntax: &dyn Syntax = match language {
        Language::Go => &go::GoSyntax,
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
    let mut writer = TemplateWriter {
        language,
        syntax,
        findings,
        taken: UsedNames::collect(nodes),
        pieces: Vec::new(),
        around: WriteContext {
            loops: Vec::new(),
            scope: TypeScope::with_lists(shapes, &lists),
            conditions: Vec::new(),
        },
    };
    writer.nodes(nodes);
    let pieces = joined_texts(writer.pieces);
    syntax.join(&pieces).unwrap_or_else(|why| {
        findings.reject(Span::default(), why);
        String::new()
    })
}

struct TemplateWriter<'t, 'f, 's> {
    language: Language,
    syntax: &'f dyn Syntax,
    findings: &'f mut ConvertFindings<'s>,
    taken: UsedNames<'t>,
    pieces: Vec<OutputPart>,
    around: WriteContext<'t>,
}

impl<'t> TemplateWriter<'t, '_, '_> {
    fn nodes(&mut self, nodes: &'t [TreeNode]) {
        for node in nodes {
            self.node(node);
        }
    }

    fn node(&mut self, node: &'t TreeNode) {
        let span = node.span;
        match &node.kind {
            NodeKind::Text(text) => self.pieces.push(OutputPart::Text(text.clone())),
            NodeKind::Print(path) => {
                let tag = self.syntax.print(path, &self.around);
                self.mind(path, span, false);
                self.push(tag, span, OutputPart::Print);
            }
            NodeKind::Call(call) => {
                let tag = self.syntax.call(call, &self.around);
                self.push(tag, span, OutputPart::Print);
            }
            NodeKind::If { .. } => self.condition(node),
            NodeKind::For { .. } => self.each(node),
            NodeKind::Comment(text) => self.comment(text, span),
            NodeKind::Role(role) => {
                let tag = self.syntax.role(role);
                self.push(tag, span, OutputPart::Print);
            }
        }
    }

    fn comment(&mut self, text: &str, span: Span) {
        match self.syntax.comment(text) {
            Some(tag) => self.pieces.push(OutputPart::Block(tag)),
            None => {
                let name = self.language.name();
                let message = format!("{name} cannot represent this comment: it is omitted");
                self.findings.leave_out(span, message);
            }
        }
    }

    fn mind(&mut self, path: &VariablePath, span: Span, condition: bool) {
        if let Some(message) = self.syntax.caution(path, &self.around, condition) {
            let help = "declare the kinds, or check the result";
            self.findings.note(span, message, help);
        }
    }

    fn push(
        &mut self,
        tag: Result<String, WriteError>,
        span: Span,
        piece: fn(String) -> OutputPart,
    ) {
        match tag {
            Ok(tag) => self.pieces.push(piece(tag)),
            Err(why) => self.findings.reject(span, why),
        }
    }

    /// Writes a condition, and the conditions that are alone in its else branch.
    fn condition(&mut self, node: &'t TreeNode) {
        let Some((first, then, mut otherwise)) = parts(node) else {
            return;
        };
        let span = node.span;
        let begin = self.syntax.begin_if(first, &self.around);
        self.mind(first.path, span, true);
        self.push(begin, span, OutputPart::Block);
        self.part(first, then);
        // In formats without `else if`, each nested block needs its own end.
        let mut open = first;
        while let [inner] = otherwise
            && let Some((condition, then, rest)) = parts(inner)
            && let Some(tag) = self.syntax.else_if(condition, &self.around)
        {
            self.mind(condition.path, inner.span, true);
            self.push(tag, inner.span, OutputPart::Block);
            self.part(condition, then);
            otherwise = rest;
            open = condition;
        }
        if !otherwise.is_empty() {
            let tag = self.syntax.otherwise(open, &self.around);
            self.push(tag, span, OutputPart::Block);
            open.negated = !open.negated;
            self.part(open, otherwise);
        }
        let end = self.syntax.end_if(first, &self.around);
        self.push(end, span, OutputPart::Block);
    }

    fn part(&mut self, condition: ConditionExpr<'t>, nodes: &'t [TreeNode]) {
        self.around.conditions.push(condition.path);
        self.nodes(nodes);
        self.around.conditions.pop();
    }

    fn each(&mut self, node: &'t TreeNode) {
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
        let mut names: Vec<&str> = self
            .around
            .loops
            .iter()
            .flat_map(LoopContext::names)
            .collect();
        let name = self.taken.free(name.as_deref(), &names);
        names.push(&name);
        let index = names::asks_index(body, depth).then(|| self.taken.free(Some("i"), &names));
        self.around.loops.push(LoopContext {
            list,
            name,
            index,
            used_inside: names::used_inside(body, depth),
        });
        let begin = self.syntax.begin_for(&self.around);
        self.push(begin, span, OutputPart::Block);
        self.around.scope.enter(list);
        self.nodes(body);
        self.around.scope.leave();
        self.around.loops.pop();
        let path = ConditionExpr {
            path: list,
            equals: None,
            negated: false,
        };
        self.around.conditions = conditions;
        if !otherwise.is_empty() {
            let tag = self.syntax.otherwise(path, &self.around);
            self.push(tag, span, OutputPart::Block);
            self.nodes(otherwise);
        }
        let end = if otherwise.is_empty() {
            self.syntax.end_for(path, &self.around)
        } else {
            self.syntax.end_for(
                ConditionExpr {
                    negated: true,
                    ..path
                },
                &self.around,
            )
        };
        self.push(end, span, OutputPart::Block);
    }
}

/// Returns a condition with its branches. If the first branch is empty, the branches are swapped.
fn parts(node: &TreeNode) -> Option<(ConditionExpr<'_>, &[TreeNode], &[TreeNode])> {
    let NodeKind::If {
        condition,
        then,
        otherwise,
    } = &node.kind
    else {
        return None;
    };
    let negated = then.is_empty() && !otherwise.is_empty();
    let condition = ConditionExpr {
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

fn joined_texts(pieces: Vec<OutputPart>) -> Vec<OutputPart> {
    let mut joined: Vec<OutputPart> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match (joined.last_mut(), piece) {
            (_, OutputPart::Text(text)) if text.is_empty() => {}
            (Some(OutputPart::Text(before)), OutputPart::Text(text)) => before.push_str(&text),
            (_, piece) => joined.push(piece),
        }
    }
    joined
}

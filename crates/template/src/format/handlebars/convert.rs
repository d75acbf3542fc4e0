//! Reads Handlebars templates into the neutral tree.

use quillet_core::{Diagnostic, Span, Value};

use super::HandlebarsFormat;
use super::ast::{
    Block, BlockBody, BranchArm, CallExpr, CallKind, Expr, Node as Piece, Path as Written, Root,
};
use super::helper::Callee;
use crate::convert::{Argument, ConvertFindings, DEEPEST, LoopPosition, NodeKind, Nodes};
use crate::convert::{PathStart, TreeCall, TreeCondition, TreeNode, VariablePath};
use crate::{CompileOptions, TemplateSource};

/// Reads a source, and rejects features that other formats lack.
pub(crate) fn read(
    format: &HandlebarsFormat,
    source: &TemplateSource<'_>,
    options: &CompileOptions,
    findings: &mut ConvertFindings<'_>,
) -> Result<Nodes, Vec<Diagnostic>> {
    let compilation = format.parse(source, &[*source], options)?;
    let mut reader = Reader {
        findings,
        contexts: vec![VariablePath::root(&[])],
        params: Vec::new(),
        loops: 0,
        depth: 0,
    };
    Ok(reader.body(&compilation.body))
}

struct Reader<'r, 's> {
    findings: &'r mut ConvertFindings<'s>,
    /// Contexts for name lookup, innermost last.
    contexts: Vec<VariablePath>,
    /// First block parameter of each block with parameters, as a path.
    params: Vec<VariablePath>,
    /// Number of enclosing loops.
    loops: usize,
    /// Depth of the current body.
    depth: usize,
}

impl Reader<'_, '_> {
    fn body(&mut self, body: &BlockBody) -> Nodes {
        let mut nodes = Nodes::new();
        for piece in &body.nodes {
            match piece {
                Piece::Text(text) => {
                    let span = Span {
                        start: text.start,
                        end: text.end,
                    };
                    let text = self.findings.slice(span).to_owned();
                    nodes.push(TreeNode::new(NodeKind::Text(text), span));
                }
                Piece::Print(print) => {
                    let kind = self.print(&print.call);
                    nodes.extend(kind.map(|kind| TreeNode::new(kind, print.call.span)));
                }
                Piece::Block(block) => nodes.extend(self.block(block)),
                Piece::Partial(partial) => self.refuse(partial.span, "a partial").unwrap_or(()),
                Piece::Inline(inline) => {
                    self.refuse::<()>(span_of(&inline.name), "an inline partial");
                }
                // Without message syntax there is no marked text.
                Piece::Marked(_) | Piece::Comment(_) => {}
            }
        }
        nodes
    }

    fn body_of(&mut self, body: Option<&BlockBody>) -> Nodes {
        body.map(|body| self.body(body)).unwrap_or_default()
    }

    fn print(&mut self, call: &CallExpr) -> Option<NodeKind> {
        match &call.kind {
            CallKind::Variable | CallKind::Ambiguous => self.path(&call.path).map(NodeKind::Print),
            CallKind::Function => self.call(call).map(NodeKind::Call),
            CallKind::Helper(_) if name(call) == Some("role") => self.role(call),
            CallKind::Helper(_) => self.refuse_helper(call),
        }
    }

    /// Reads `{{role "system"}}`.
    fn role(&mut self, call: &CallExpr) -> Option<NodeKind> {
        match call.positional.as_slice() {
            [Expr::Literal(Value::Str(role))] => Some(NodeKind::Role(role.to_string())),
            _ => self.refuse(call.span, "a role that is not a constant"),
        }
    }

    fn call(&mut self, call: &CallExpr) -> Option<TreeCall> {
        let Some(name) = name(call) else {
            return self.refuse(call.path.span, "a call of a path");
        };
        let positional = call.positional.iter().map(|one| self.argument(one));
        let positional = positional.collect::<Option<Vec<_>>>();
        let named = call.named.iter().map(|(name, value)| {
            let value = self.argument(value)?;
            Some((name.to_string(), value))
        });
        let named = named.collect::<Option<Vec<_>>>();
        Some(TreeCall {
            name: name.replace(['.', '-'], "_"),
            positional: positional?,
            named: named?,
        })
    }

    fn argument(&mut self, expr: &Expr) -> Option<Argument> {
        Some(match expr {
            Expr::Literal(Value::Str(text)) => Argument::Text(text.to_string()),
            Expr::Literal(Value::Int(number)) => Argument::Int(*number),
            Expr::Literal(Value::Bool(value)) => Argument::Bool(*value),
            Expr::Path(path) => Argument::Path(self.path(path)?),
            other => return self.refuse(span_of(other), "this argument"),
        })
    }

    fn block(&mut self, block: &Block) -> Option<TreeNode> {
        let (first, rest) = block.arms.split_first()?;
        self.arm(first, rest, block)
    }

    fn arm(&mut self, arm: &BranchArm, rest: &[BranchArm], block: &Block) -> Option<TreeNode> {
        let call = &arm.call;
        let CallKind::Helper(callee) = &call.kind else {
            let message = "a section without a helper is a condition or a loop depending on its value, which has no counterpart";
            let help = "write {{#if …}} or {{#each …}}";
            self.findings.reject_with_help(call.span, message, help);
            return None;
        };
        if !call.named.is_empty() {
            return self.refuse(call.span, "an option of a block");
        }
        if self.depth >= DEEPEST {
            return self.refuse(call.span, "a chain of conditions of this length");
        }
        self.depth += 1;
        let kind = match callee {
            Callee::If => self.condition(arm, rest, block, false),
            Callee::Unless => self.condition(arm, rest, block, true),
            Callee::With => self.with(arm, rest, block),
            Callee::Each => self.each(arm, rest, block),
            Callee::Native(_) if name(call) == Some("ifEquals") => {
                self.equality(arm, rest, block, false)
            }
            Callee::Native(_) if name(call) == Some("unlessEquals") => {
                self.equality(arm, rest, block, true)
            }
            Callee::Lookup | Callee::Log | Callee::Native(_) => self.refuse_helper(call),
        };
        self.depth -= 1;
        Some(TreeNode::new(kind?, call.span))
    }

    /// Reads the else branch, which consists of the following branches or of the final one.
    fn otherwise(&mut self, rest: &[BranchArm], block: &Block) -> Nodes {
        match rest.split_first() {
            Some((next, rest)) => self.arm(next, rest, block).into_iter().collect(),
            None => self.body_of(block.otherwise.as_ref()),
        }
    }

    fn condition(
        &mut self,
        arm: &BranchArm,
        rest: &[BranchArm],
        block: &Block,
        negated: bool,
    ) -> Option<NodeKind> {
        let condition = self.subject(&arm.call).map(TreeCondition::truth);
        self.parts(condition, arm, rest, block, negated)
    }

    /// Reads `{{#ifEquals x "a"}}`. Either argument can be the text.
    fn equality(
        &mut self,
        arm: &BranchArm,
        rest: &[BranchArm],
        block: &Block,
        negated: bool,
    ) -> Option<NodeKind> {
        let condition = match arm.call.positional.as_slice() {
            [Expr::Path(path), Expr::Literal(Value::Str(text))]
            | [Expr::Literal(Value::Str(text)), Expr::Path(path)] => {
                let path = self.path(path);
                path.map(|path| TreeCondition::equals(path, text.to_string()))
            }
            _ => self.refuse(arm.call.span, "a comparison with a value other than text"),
        };
        self.parts(condition, arm, rest, block, negated)
    }

    fn parts(
        &mut self,
        condition: Option<TreeCondition>,
        arm: &BranchArm,
        rest: &[BranchArm],
        block: &Block,
        negated: bool,
    ) -> Option<NodeKind> {
        let then = self.body_of(arm.body.as_ref());
        let otherwise = self.otherwise(rest, block);
        let (then, otherwise) = if negated {
            (otherwise, then)
        } else {
            (then, otherwise)
        };
        Some(NodeKind::If {
            condition: condition?,
            then,
            otherwise,
        })
    }

    fn with(&mut self, arm: &BranchArm, rest: &[BranchArm], block: &Block) -> Option<NodeKind> {
        let mut condition = self.subject(&arm.call);
        if let Some(PathStart::Loop(..)) = condition.as_ref().map(|path| path.start) {
            condition = self.refuse(arm.call.span, "a field of a loop variable");
        }
        let inside = condition.clone().unwrap_or_else(|| VariablePath::root(&[]));
        let then = self.inside(arm, inside);
        let otherwise = self.otherwise(rest, block);
        Some(NodeKind::If {
            condition: TreeCondition::truth(condition?),
            then,
            otherwise,
        })
    }

    fn each(&mut self, arm: &BranchArm, rest: &[BranchArm], block: &Block) -> Option<NodeKind> {
        let list = self.subject(&arm.call);
        let item = VariablePath::item(self.loops, &[]);
        self.loops += 1;
        let body = self.inside(arm, item);
        self.loops -= 1;
        let otherwise = self.otherwise(rest, block);
        Some(NodeKind::For {
            list: list?,
            name: None,
            body,
            otherwise,
        })
    }

    /// Reads the body of a branch in another context.
    fn inside(&mut self, arm: &BranchArm, context: VariablePath) -> Nodes {
        let names = arm.body.as_ref().is_some_and(|body| body.params > 0);
        self.contexts.push(context.clone());
        self.params.extend(names.then_some(context));
        let nodes = self.body_of(arm.body.as_ref());
        if names {
            self.params.pop();
        }
        self.contexts.pop();
        nodes
    }

    /// Returns the only argument of a block.
    fn subject(&mut self, call: &CallExpr) -> Option<VariablePath> {
        match call.positional.as_slice() {
            [Expr::Path(path)] => self.path(path),
            _ => self.refuse(call.span, "a block without exactly one variable"),
        }
    }

    fn path(&mut self, path: &Written) -> Option<VariablePath> {
        if let Some(part) = path.parts.iter().find(|part| is_index(part)) {
            return self.refuse(path.span, &format!("{part} of a list"));
        }
        let keys = || path.parts.iter().map(|part| part.to_string());
        let found = match path.root {
            Root::Context(outside) => {
                let at = self.contexts.len().checked_sub(outside + 1);
                at.and_then(|at| self.contexts.get(at))
                    .map(|context| context.join(keys()))
            }
            Root::Data(0) if path.parts.first().is_some_and(|part| &**part == "@root") => {
                Some(VariablePath::root(&[]).join(keys().skip(1)))
            }
            Root::Data(outside) => self.known(outside, &path.parts),
            Root::Param(outside, 0) => {
                let at = self.params.len().checked_sub(outside + 1);
                at.and_then(|at| self.params.get(at))
                    .map(|item| item.join(keys()))
            }
            Root::Param(..) => None,
        };
        match found {
            Some(found) if found == VariablePath::root(&[]) => {
                self.refuse(path.span, "the set of all variables")
            }
            Some(found) => Some(found),
            None => {
                let text = self.findings.slice(path.span).to_owned();
                self.refuse(path.span, &text)
            }
        }
    }

    /// Reads a loop variable such as `@index`, at this number of loops outward.
    fn known(&self, outside: usize, parts: &[Box<str>]) -> Option<VariablePath> {
        let [name] = parts else {
            return None;
        };
        let knows = match &**name {
            "@index" => LoopPosition::Index,
            "@first" => LoopPosition::First,
            "@last" => LoopPosition::Last,
            _ => return None,
        };
        let depth = self.loops.checked_sub(outside + 1)?;
        Some(VariablePath::in_loop(depth, knows))
    }

    fn refuse_helper<T>(&mut self, call: &CallExpr) -> Option<T> {
        let what = format!("the helper {}", name(call).unwrap_or_default());
        self.refuse(call.span, &what)
    }

    fn refuse<T>(&mut self, span: Span, what: &str) -> Option<T> {
        self.findings.no_counterpart(span, what)
    }
}

/// Whether a name has a special meaning for lists: digits are an index, and `length` is a property.
fn is_index(part: &str) -> bool {
    part == "length" || part.bytes().all(|b| b.is_ascii_digit())
}

/// Returns the called name.
fn name(call: &CallExpr) -> Option<&str> {
    match (call.path.root, call.path.parts.as_slice()) {
        (Root::Context(0), [name]) => Some(name),
        _ => None,
    }
}

fn span_of(expr: &Expr) -> Span {
    match expr {
        Expr::Path(path) => path.span,
        Expr::Call(call) => call.span,
        Expr::Literal(_) | Expr::Undefined => Span::default(),
    }
}

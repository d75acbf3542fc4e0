//! Reads Liquid templates into the neutral tree.
//!
//! In Liquid an empty text, zero and an empty list are true, and in the other formats they are
//! false. A condition on a single variable is therefore exact only for a boolean. For a list it is
//! exact if it tests for emptiness.

use std::sync::Arc;

use quillet_core::{Diagnostic, Span};

use super::ast::{
    Body, Comparison, ConditionChain as Asked, Expr, ExprKind, FilterCall, FilteredExpr, For, If,
    Key, Name, Node as Tag, NodeKind as TagKind, Offset, Operator, Term,
};
use super::parser;
use crate::convert::{Argument, ConvertFindings, DEEPEST, LoopPosition, NodeKind, Nodes, TreeCall};
use crate::convert::{TreeCondition, TreeNode, TypeScope, VariablePath, VariableType};
use crate::{CompileOptions, TemplateSource};

/// Reads a source, and rejects features that other formats lack.
pub(crate) fn read(
    source: &TemplateSource<'_>,
    options: &CompileOptions,
    shapes: &VariableType,
    findings: &mut ConvertFindings<'_>,
) -> Result<Nodes, Vec<Diagnostic>> {
    let parsed = parser::parse(source, options);
    let (program, literals) = parsed.map_err(|problem| vec![problem.diagnostic(source)])?;
    let literals = literals.into_text();
    let mut reader = Reader {
        literals: &literals,
        findings,
        scope: TypeScope::new(shapes),
        items: Vec::new(),
        depth: 0,
    };
    Ok(reader.body(&program.body))
}

struct Reader<'r, 's> {
    /// All literal text.
    literals: &'r str,
    findings: &'r mut ConvertFindings<'s>,
    scope: TypeScope<'r>,
    /// Names of the items of the enclosing loops.
    items: Vec<Arc<str>>,
    /// Depth of the current body.
    depth: usize,
}

impl Reader<'_, '_> {
    fn body(&mut self, body: &Body) -> Nodes {
        let mut nodes = Nodes::new();
        for tag in body {
            let kind = self.tag(tag);
            nodes.extend(kind.map(|kind| TreeNode::new(kind, tag.span)));
        }
        nodes
    }

    fn tag(&mut self, tag: &Tag) -> Option<NodeKind> {
        let what = match &tag.kind {
            TagKind::Text(range) | TagKind::Raw(range) => {
                let text = self.literals.get(range.clone()).unwrap_or_default();
                return Some(NodeKind::Text(text.to_owned()));
            }
            TagKind::Nothing => {
                self.findings.leave_out(tag.span, "this comment is omitted");
                return None;
            }
            TagKind::Print(piped) => return self.print(piped, tag.span),
            TagKind::If(node) => return self.branches(node, 0, tag.span),
            TagKind::For(node) => return self.each(node, tag.span),
            TagKind::Assign(..) => "assign",
            TagKind::Capture(..) => "capture",
            TagKind::Case(_) => "case",
            TagKind::TableRow(_) => "tablerow",
            TagKind::Cycle(_) => "cycle",
            TagKind::Increment(_) => "increment",
            TagKind::Decrement(_) => "decrement",
            TagKind::IfChanged(_) => "ifchanged",
            TagKind::Include(_) => "include",
            TagKind::Render(_) => "render",
            TagKind::Break => "break",
            TagKind::Continue => "continue",
        };
        self.refuse(tag.span, &format!("the tag {what}"))
    }

    fn print(&mut self, piped: &FilteredExpr, span: Span) -> Option<NodeKind> {
        let Some(expr) = &piped.value else {
            return Some(NodeKind::Text(String::new()));
        };
        match piped.filters.as_slice() {
            [] => {}
            [call] if call.own.is_none() => return self.call(expr, call).map(NodeKind::Call),
            [call, ..] => {
                let message = format!("the filter {}", call.name);
                return self.refuse(call.span, &message);
            }
        }
        Some(match &expr.kind {
            ExprKind::Text(text) => NodeKind::Text(text.to_string()),
            ExprKind::Int(number) => NodeKind::Text(number.to_string()),
            ExprKind::Lookup(_) => NodeKind::Print(self.path(expr)?),
            _ => return self.refuse(span, "this constant"),
        })
    }

    fn call(&mut self, input: &Expr, call: &FilterCall) -> Option<TreeCall> {
        let input = match input.kind {
            ExprKind::Nil => None,
            _ => Some(self.argument(input)?),
        };
        let rest = call.positional.iter().map(|one| self.argument(one));
        let rest = rest.collect::<Option<Vec<_>>>()?;
        let named = call.named.iter().map(|(name, value)| {
            let value = self.argument(value)?;
            Some((name.to_string(), value))
        });
        Some(TreeCall {
            name: call.name.to_string(),
            named: named.collect::<Option<Vec<_>>>()?,
            positional: input.into_iter().chain(rest).collect(),
        })
    }

    fn argument(&mut self, expr: &Expr) -> Option<Argument> {
        Some(match &expr.kind {
            ExprKind::Text(text) => Argument::Text(text.to_string()),
            ExprKind::Int(number) => Argument::Int(*number),
            ExprKind::Bool(value) => Argument::Bool(*value),
            _ => Argument::Path(self.path(expr)?),
        })
    }

    fn branches(&mut self, node: &If, at: usize, span: Span) -> Option<NodeKind> {
        let (condition, body) = node.branches.get(at)?;
        let Some(condition) = condition else {
            return self.refuse(span, "a second else");
        };
        if self.depth >= DEEPEST {
            return self.refuse(span, "a chain of conditions of this length");
        }
        self.depth += 1;
        let found = self.truth(condition, span);
        let then = self.body(body);
        let otherwise = match node.branches.get(at + 1..).unwrap_or_default() {
            [] => Nodes::new(),
            [(None, body)] => self.body(body),
            _ => {
                let inner = self.branches(node, at + 1, span);
                inner
                    .map(|kind| TreeNode::new(kind, span))
                    .into_iter()
                    .collect()
            }
        };
        self.depth -= 1;
        let (condition, negated) = found?;
        let (then, otherwise) = if negated != (node.unless && at == 0) {
            (otherwise, then)
        } else {
            (then, otherwise)
        };
        Some(NodeKind::If {
            condition,
            then,
            otherwise,
        })
    }

    /// Reads a condition. Returns whether it is negated.
    fn truth(&mut self, condition: &Asked, span: Span) -> Option<(TreeCondition, bool)> {
        let [(comparison, None)] = condition.parts.as_slice() else {
            return self.refuse(span, "and and or");
        };
        let Comparison { left, right } = comparison;
        match (left, right) {
            (Term::Expr(expr), None) => Some((self.truth_of(expr)?, false)),
            (Term::Expr(one), Some((operator @ (Operator::Equal | Operator::NotEqual), other))) => {
                let negated = *operator == Operator::NotEqual;
                let (condition, empty) = match other {
                    Term::Expr(other) if matches!(other.kind, ExprKind::Int(0)) => {
                        (self.zero(one)?, true)
                    }
                    Term::Expr(other) => (self.equality(one, other)?, false),
                    Term::Empty => (self.emptiness(one)?, true),
                    Term::Blank => return self.refuse(one.span, "blank"),
                };
                Some((condition, negated != empty))
            }
            _ => self.refuse(span, "a comparison"),
        }
    }

    /// Reads a condition on a single variable. Formats agree only on `true` and `false`.
    fn truth_of(&mut self, expr: &Expr) -> Option<TreeCondition> {
        let path = self.path(expr)?;
        match self.scope.shape(&path) {
            VariableType::Boolean => {}
            VariableType::Unknown => {
                let shown = self.findings.slice(expr.span).to_owned();
                let message = format!(
                    "exact only if {shown} is true, false or missing: only liquid treats an empty string, 0 and an empty list as true"
                );
                let help = format!("declare it: --kind {shown}=boolean, or test {shown} != empty");
                self.findings.note(expr.span, message, help);
            }
            // In all formats an object with fields is true. Formats disagree on an empty object.
            VariableType::Object(fields) if !fields.is_empty() => {}
            _ => {
                let shown = self.findings.slice(expr.span).to_owned();
                let message = format!(
                    "{shown} is not a boolean: only liquid treats an empty string, 0 and an empty list as true"
                );
                let help = format!("test {shown} != empty to check for an empty value");
                self.findings.reject_with_help(expr.span, message, help);
                return None;
            }
        }
        Some(TreeCondition::truth(path))
    }

    /// Reads `x == empty` for a text or a list. In the other formats this is the condition `not x`.
    fn emptiness(&mut self, expr: &Expr) -> Option<TreeCondition> {
        let path = self.path(expr)?;
        match self.scope.shape(&path) {
            VariableType::Text | VariableType::List(_) => {}
            VariableType::Unknown => {
                let shown = self.findings.slice(expr.span).to_owned();
                let message = format!("exact only if {shown} is text or a list");
                let help = format!("declare it: --kind {shown}=text, or --kind {shown}=list");
                self.findings.note(expr.span, message, help);
            }
            _ => {
                return self.refuse(
                    expr.span,
                    "empty for a value that is neither text nor a list",
                );
            }
        }
        Some(TreeCondition::truth(path))
    }

    /// Reads `x == 0` for a number. In the other formats this is the condition `not x`.
    fn zero(&mut self, expr: &Expr) -> Option<TreeCondition> {
        let path = self.path(expr)?;
        match self.scope.shape(&path) {
            VariableType::Integer | VariableType::Number => Some(TreeCondition::truth(path)),
            _ => self.refuse(expr.span, "a comparison with a value other than text"),
        }
    }

    /// Reads a comparison of a variable with a text. Either operand can be the text.
    fn equality(&mut self, left: &Expr, right: &Expr) -> Option<TreeCondition> {
        let (subject, text) = match (&left.kind, &right.kind) {
            (_, ExprKind::Text(text)) => (left, text),
            (ExprKind::Text(text), _) => (right, text),
            _ => return self.refuse(left.span, "a comparison with a value other than text"),
        };
        Some(TreeCondition::equals(self.path(subject)?, text.to_string()))
    }

    fn each(&mut self, node: &For, span: Span) -> Option<NodeKind> {
        let plain = !node.reversed && node.limit.is_none() && matches!(node.offset, Offset::Start);
        if !plain {
            self.refuse::<()>(span, "reversed, limit or offset of a loop");
        }
        let list = self.path(&node.items);
        self.items.push(Arc::clone(&node.variable));
        let unknown = VariablePath::root(&["\0"]);
        self.scope.enter(list.as_ref().unwrap_or(&unknown));
        let body = self.body(&node.body);
        self.scope.leave();
        self.items.pop();
        let otherwise = node.otherwise.as_ref().map(|body| self.body(body));
        Some(NodeKind::For {
            list: list?,
            name: Some(Arc::clone(&node.variable)),
            body,
            otherwise: otherwise.unwrap_or_default(),
        })
    }

    fn path(&mut self, expr: &Expr) -> Option<VariablePath> {
        let ExprKind::Lookup(lookup) = &expr.kind else {
            return self.refuse(expr.span, "this value");
        };
        let Name::Known(name) = &lookup.name else {
            return self.refuse(expr.span, "a variable with a computed name");
        };
        let own = self.items.iter().rposition(|item| item == name);
        if own.is_none() && &**name == "forloop" && !self.items.is_empty() {
            return self.of_loop(&lookup.keys, expr.span);
        }
        let mut path = match own {
            Some(depth) => VariablePath::item(depth, &[]),
            None => VariablePath::root(&[name]),
        };
        for key in &lookup.keys {
            path = match key {
                Key::Name(key) if matches!(&**key, "size" | "first" | "last") => {
                    return self.refuse(expr.span, &format!(".{key}"));
                }
                Key::Name(key) => path.join([key.to_string()]),
                Key::Computed(Expr {
                    kind: ExprKind::Text(key),
                    ..
                }) => path.join([key.to_string()]),
                Key::Computed(_) => return self.refuse(expr.span, "an index"),
            };
        }
        Some(path)
    }

    /// Reads a loop variable of the innermost loop or of an outer one.
    fn of_loop(&mut self, keys: &[Key], span: Span) -> Option<VariablePath> {
        let mut depth = self.items.len() - 1;
        let mut keys = keys.iter();
        loop {
            match keys.next() {
                Some(Key::Name(name)) if &**name == "parentloop" && depth > 0 => depth -= 1,
                Some(Key::Name(name)) if keys.len() == 0 => {
                    let knows = self.known(name, span)?;
                    return Some(VariablePath::in_loop(depth, knows));
                }
                _ => return self.refuse(span, "forloop as a whole"),
            }
        }
    }

    fn known(&mut self, name: &str, span: Span) -> Option<LoopPosition> {
        match name {
            "index0" => Some(LoopPosition::Index),
            "index" => Some(LoopPosition::Number),
            "first" => Some(LoopPosition::First),
            "last" => Some(LoopPosition::Last),
            other => self.refuse(span, &format!("forloop.{other}")),
        }
    }

    fn refuse<T>(&mut self, span: Span, what: &str) -> Option<T> {
        self.findings.no_counterpart(span, what)
    }
}

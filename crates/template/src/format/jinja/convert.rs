//! Reads Jinja templates into the neutral tree.

use std::sync::Arc;

use quillet_core::{Diagnostic, Span, Value};

use super::ast::{
    ArgumentExprs, AssignTarget, CompareOperator, Expr, ExprKind, For, Statement, StatementKind,
};
use super::syntax::JinjaPreset;
use super::{functions, lexer, methods, parser};
use crate::convert::{Argument, ConvertFindings, DEEPEST, Language, LoopPosition, NodeKind, Nodes};
use crate::convert::{TreeCall, TreeCondition, TreeNode, VariablePath};
use crate::{CompileOptions, TemplateSource};

/// Reads a source, and rejects features that other formats lack.
pub(crate) fn read(
    source: &TemplateSource<'_>,
    language: Language,
    options: &CompileOptions,
    findings: &mut ConvertFindings<'_>,
) -> Result<Nodes, Vec<Diagnostic>> {
    let preset = match language {
        Language::Jinja => JinjaPreset::HuggingFace,
        _ => JinjaPreset::Plain,
    };
    let parsed = parser::parse(source.text, preset, options);
    let (program, literals) = parsed.map_err(|problem| vec![problem.diagnostic(source)])?;
    let mut comments = lexer::comments(source.text, preset);
    comments.reverse();
    let mut reader = Reader {
        preset,
        literals: &literals.into_text(),
        findings,
        items: Vec::new(),
        comments,
        depth: 0,
    };
    let mut nodes = reader.statements(&program.body);
    reader.comments_before(usize::MAX, &mut nodes);
    Ok(nodes)
}

struct Reader<'r, 's> {
    preset: JinjaPreset,
    /// All literal text.
    literals: &'r str,
    findings: &'r mut ConvertFindings<'s>,
    /// Names of the items of the enclosing loops.
    items: Vec<Arc<str>>,
    /// Remaining comments in reverse order.
    comments: Vec<Span>,
    /// Depth of the current body.
    depth: usize,
}

impl Reader<'_, '_> {
    fn statements(&mut self, statements: &[Statement]) -> Nodes {
        let mut nodes = Nodes::new();
        for statement in statements {
            self.comments_before(statement.span.start, &mut nodes);
            let span = statement.span;
            if let Some(kind) = self.statement(statement) {
                nodes.push(TreeNode::new(kind, span));
            }
        }
        nodes
    }

    fn comments_before(&mut self, start: usize, nodes: &mut Nodes) {
        while let Some(span) = self.comments.pop_if(|span| span.start <= start) {
            let text = self.findings.slice(span).trim().to_owned();
            nodes.push(TreeNode::new(NodeKind::Comment(text), span));
        }
    }

    fn statement(&mut self, statement: &Statement) -> Option<NodeKind> {
        let what = match &statement.kind {
            StatementKind::Text(range) => {
                let text = self.literals.get(range.clone()).unwrap_or_default();
                return Some(NodeKind::Text(text.to_owned()));
            }
            StatementKind::Print(expr) => return self.print(expr),
            StatementKind::If {
                branches,
                otherwise,
            } => return self.branches(branches, otherwise),
            StatementKind::For(each) => return self.each(each, statement.span),
            StatementKind::Do(..) => "do",
            StatementKind::Set(..) | StatementKind::SetBlock(..) => "set",
            StatementKind::With(..) => "with",
            StatementKind::FilterBlock(..) => "filter",
            StatementKind::Macro(..) => "macro",
            StatementKind::CallBlock(..) => "call",
            StatementKind::Block(..) => "block",
            StatementKind::Extends(..) => "extends",
            StatementKind::Include { .. } => "include",
            StatementKind::Import { .. } => "import",
            StatementKind::FromImport { .. } => "from",
            StatementKind::Group(..) => "generation or autoescape",
            StatementKind::Break => "break",
            StatementKind::Continue => "continue",
        };
        self.refuse(statement.span, &format!("the tag {what}"))
    }

    fn print(&mut self, expr: &Expr) -> Option<NodeKind> {
        Some(match &expr.kind {
            ExprKind::Constant(Value::Str(text)) => NodeKind::Text(text.to_string()),
            ExprKind::Constant(Value::Int(number)) => NodeKind::Text(number.to_string()),
            ExprKind::Call(function, arguments) => NodeKind::Call(self.call(function, arguments)?),
            _ => NodeKind::Print(self.path(expr)?),
        })
    }

    fn branches(
        &mut self,
        branches: &[(Expr, Vec<Statement>)],
        otherwise: &[Statement],
    ) -> Option<NodeKind> {
        let [(condition, body), rest @ ..] = branches else {
            return None;
        };
        if self.depth >= DEEPEST {
            return self.refuse(condition.span, "a chain of conditions of this length");
        }
        self.depth += 1;
        let found = self.truth(condition, false);
        let then = self.statements(body);
        let otherwise = match rest {
            [] => self.statements(otherwise),
            rest => {
                let inner = self.branches(rest, otherwise);
                let node = |kind| TreeNode::new(kind, condition.span);
                inner.map(node).into_iter().collect()
            }
        };
        self.depth -= 1;
        let (condition, negated) = found?;
        let (then, otherwise) = if negated {
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
    fn truth(&mut self, expr: &Expr, negated: bool) -> Option<(TreeCondition, bool)> {
        match &expr.kind {
            ExprKind::Not(inner) => self.truth(inner, !negated),
            ExprKind::Compare(left, rest) => match rest.as_slice() {
                [(CompareOperator::Equal, right)] => Some((self.equality(left, right)?, negated)),
                [(CompareOperator::NotEqual, right)] => {
                    Some((self.equality(left, right)?, !negated))
                }
                _ => self.refuse(expr.span, "a comparison"),
            },
            _ => Some((TreeCondition::truth(self.path(expr)?), negated)),
        }
    }

    /// Reads a comparison of a variable with a text. Either operand can be the text.
    fn equality(&mut self, left: &Expr, right: &Expr) -> Option<TreeCondition> {
        let (subject, text) = match (&left.kind, &right.kind) {
            (_, ExprKind::Constant(Value::Str(text))) => (left, text),
            (ExprKind::Constant(Value::Str(text)), _) => (right, text),
            _ => return self.refuse(left.span, "a comparison with a value other than text"),
        };
        Some(TreeCondition::equals(self.path(subject)?, text.to_string()))
    }

    fn each(&mut self, each: &For, span: Span) -> Option<NodeKind> {
        if each.recursive {
            self.refuse::<()>(span, "a recursive loop");
        }
        if let Some(condition) = &each.condition {
            self.refuse::<()>(condition.span, "the condition of a loop");
        }
        let list = self.path(&each.iterable);
        let name = match &each.target {
            AssignTarget::Name(name) => Arc::clone(name),
            _ => {
                self.refuse::<()>(span, "a loop with several names");
                Arc::from("")
            }
        };
        self.items.push(Arc::clone(&name));
        let body = self.statements(&each.body);
        self.items.pop();
        let otherwise = self.statements(&each.otherwise);
        Some(NodeKind::For {
            list: list?,
            name: Some(name),
            body,
            otherwise,
        })
    }

    fn path(&mut self, expr: &Expr) -> Option<VariablePath> {
        match &expr.kind {
            ExprKind::Name(name) => self.name(name, expr.span),
            ExprKind::Attribute(base, name) if methods::of_dict(name) => {
                self.path(base);
                self.refuse(expr.span, &format!("the method {name}"))
            }
            ExprKind::Attribute(base, name) if self.is_loop(base) => self
                .known(name, expr.span)
                .map(|knows| VariablePath::in_loop(self.items.len() - 1, knows)),
            ExprKind::Attribute(base, name) => Some(self.path(base)?.join([name.to_string()])),
            ExprKind::Item(base, key) => match &key.kind {
                ExprKind::Constant(Value::Str(key)) => {
                    Some(self.path(base)?.join([key.to_string()]))
                }
                _ => self.refuse(expr.span, "an index"),
            },
            kind => {
                let what = named(kind);
                self.refuse(expr.span, &what)
            }
        }
    }

    fn name(&mut self, name: &Arc<str>, span: Span) -> Option<VariablePath> {
        if let Some(depth) = self.items.iter().rposition(|item| item == name) {
            return Some(VariablePath::item(depth, &[]));
        }
        if &**name == "loop" && !self.items.is_empty() {
            return self.refuse(span, "loop as a whole");
        }
        Some(VariablePath::root(&[name]))
    }

    /// Whether a name refers to the loop variable, and not to an item with that name.
    fn is_loop(&self, expr: &Expr) -> bool {
        matches!(&expr.kind, ExprKind::Name(name) if &**name == "loop")
            && !self.items.is_empty()
            && !self.items.iter().any(|item| &**item == "loop")
    }

    fn known(&mut self, name: &str, span: Span) -> Option<LoopPosition> {
        match name {
            "index0" => Some(LoopPosition::Index),
            "index" => Some(LoopPosition::Number),
            "first" => Some(LoopPosition::First),
            "last" => Some(LoopPosition::Last),
            other => self.refuse(span, &format!("loop.{other}")),
        }
    }

    fn call(&mut self, function: &Expr, arguments: &ArgumentExprs) -> Option<TreeCall> {
        let ExprKind::Name(name) = &function.kind else {
            return self.refuse(function.span, "a method");
        };
        if functions::find(name, self.preset).is_some() {
            return self.refuse(function.span, &format!("the function {name} of jinja"));
        }
        if arguments.spread.is_some() || arguments.spread_named.is_some() {
            return self.refuse(function.span, "an unpacked argument");
        }
        let positional = arguments.positional.iter().map(|one| self.argument(one));
        let positional = positional.collect::<Option<Vec<_>>>();
        let named = arguments.named.iter().map(|(name, value)| {
            let value = self.argument(value)?;
            Some((name.to_string(), value))
        });
        let named = named.collect::<Option<Vec<_>>>();
        Some(TreeCall {
            name: name.to_string(),
            positional: positional?,
            named: named?,
        })
    }

    fn argument(&mut self, expr: &Expr) -> Option<Argument> {
        Some(match &expr.kind {
            ExprKind::Constant(Value::Str(text)) => Argument::Text(text.to_string()),
            ExprKind::Constant(Value::Int(number)) => Argument::Int(*number),
            ExprKind::Constant(Value::Bool(value)) => Argument::Bool(*value),
            _ => Argument::Path(self.path(expr)?),
        })
    }

    fn refuse<T>(&mut self, span: Span, what: &str) -> Option<T> {
        self.findings.no_counterpart(span, what)
    }
}

/// Describes an expression for messages.
fn named(kind: &ExprKind) -> String {
    match kind {
        ExprKind::Filter(_, call) => format!("the filter {}", call.filter.name),
        ExprKind::Test { test, .. } => format!("the test {}", test.name),
        ExprKind::Constant(_) => "this constant".to_owned(),
        ExprKind::Slice(..) => "a slice".to_owned(),
        ExprKind::Call(..) => "a call here".to_owned(),
        ExprKind::Not(_) => "not here".to_owned(),
        ExprKind::Negative(_) | ExprKind::Positive(_) | ExprKind::Math(..) => {
            "arithmetic".to_owned()
        }
        ExprKind::Compare(..) => "a comparison".to_owned(),
        ExprKind::Concat(_) => "the operator ~".to_owned(),
        ExprKind::And(_) => "and".to_owned(),
        ExprKind::Or(_) => "or".to_owned(),
        ExprKind::Choice { .. } => "a choice with if and else".to_owned(),
        ExprKind::List(_) | ExprKind::Tuple(_) | ExprKind::Dict(_) => "a list or a dict".to_owned(),
        ExprKind::Name(_) | ExprKind::Attribute(..) | ExprKind::Item(..) => "this".to_owned(),
    }
}

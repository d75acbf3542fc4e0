//! Skips statements that depend on a pending call. A scan of the syntax tree finds the possible
//! effects of the statements.

use std::sync::Arc;

use super::JinjaTemplate;
use super::ast::{
    ArgumentExprs, AssignTarget, Expr, ExprKind, FilterCall, For, Statement, StatementKind,
};
use super::eval::{Evaluator, Flow};
use super::value::Value;
use crate::StopReason;

/// Functions with effects on the following text: they count their calls, or end the render on
/// purpose.
const LASTING: [&str; 3] = ["raise_exception", "joiner", "cycler"];

/// Methods with effects on the following text.
const LASTING_METHODS: [&str; 3] = ["next", "reset", "changed"];

/// Effects of statements on the following text.
#[derive(Default)]
struct SideEffects<'t> {
    /// Names that the statements set in the enclosing scope.
    names: Vec<&'t Arc<str>>,
    /// Fields of namespaces that the statements set.
    fields: Vec<(&'t Arc<str>, &'t Arc<str>)>,
    /// Names that the statements call.
    called: Vec<&'t Arc<str>>,
    /// Whether the statements evaluate other code, such as a macro, a block or a source.
    elsewhere: bool,
    /// Whether the effects cannot be tracked.
    lasting: bool,
    /// Whether the statements can leave the enclosing loop.
    leaves: bool,
}

/// Position of a statement in the skipped code.
#[derive(Clone, Copy, Default)]
struct SkipContext {
    /// Whether names are set in an inner scope and are not visible outside it.
    scope: bool,
    a_loop: bool,
}

impl Evaluator<'_, '_> {
    /// Skips a statement. `holes` is the number of placeholders at its start.
    #[cold]
    pub(super) fn skip(&mut self, statement: &Statement, holes: usize) -> Result<Flow, StopReason> {
        // The pass was stopped here, so the statement cannot be skipped.
        if self.pass.is_stopped() {
            return Err(StopReason::Suspended);
        }
        self.pass.skip_since(holes);
        let mut effects = SideEffects::default();
        effects.statement(statement, SkipContext::default());
        self.invalidate(&effects)?;
        Ok(if effects.leaves {
            Flow::Lost
        } else {
            Flow::Next
        })
    }

    /// Skips the rest of a loop for which the number of iterations is unknown.
    #[cold]
    pub(super) fn invalidate_loop(&mut self, node: &For) -> Result<(), StopReason> {
        let mut effects = SideEffects::default();
        let inside = SkipContext {
            scope: true,
            a_loop: true,
        };
        effects.body(&node.body, inside);
        self.invalidate(&effects)
    }

    /// Replaces everything that could have been set by placeholders.
    fn invalidate(&mut self, effects: &SideEffects<'_>) -> Result<(), StopReason> {
        let nodes = effects.names.len() + effects.fields.len() + effects.called.len();
        // The scan of the syntax tree counts as steps.
        self.pass.steps(nodes)?;
        let mut elsewhere = effects.elsewhere;
        for name in &effects.called {
            match self.names.own(name) {
                // The name is a late-bound function, or a function of the format.
                None => {}
                // A joiner counts its calls, and a placeholder may stand for any value.
                Some(Value::Joiner(_) | Value::Hole) => return Err(self.pass.stop()),
                // The name is a macro or another value of the template, whose body may have
                // effects.
                Some(_) => elsewhere = true,
            }
        }
        if effects.lasting || elsewhere && self.compiled.has_effects() {
            return Err(self.pass.stop());
        }
        for (name, field) in &effects.fields {
            let namespace = match self.names.own(name) {
                Some(Value::Namespace(number)) => self.namespaces.get_mut(*number),
                _ => None,
            };
            match namespace {
                // All holders share a namespace, so they all see the placeholder.
                Some(namespace) => drop(namespace.insert(Arc::clone(field), Value::Hole)),
                // The name may refer to a namespace in another scope.
                None => return Err(self.pass.stop()),
            }
        }
        for name in &effects.names {
            self.names.assign(name, Value::Hole);
        }
        Ok(())
    }
}

impl JinjaTemplate {
    /// Whether effects in a macro call, a block or an include can reach the following text.
    fn has_effects(&self) -> bool {
        *self.effects.get_or_init(|| {
            self.sources.iter().any(|source| {
                let mut effects = SideEffects::default();
                let inside = SkipContext {
                    scope: true,
                    a_loop: true,
                };
                // Names set at the top level have an effect if another source includes this source.
                effects.body(&source.program.body, inside);
                // In a single source, the scan already finds these fields where they are set.
                if self.sources.len() == 1 {
                    effects.fields.clear();
                }
                effects.declared(&source.program.body);
                effects.lasting || !effects.fields.is_empty()
            })
        })
    }
}

impl<'t> SideEffects<'t> {
    fn body(&mut self, body: &'t [Statement], inside: SkipContext) {
        for statement in body {
            self.statement(statement, inside);
        }
    }

    /// Scans the bodies of macros and blocks at any depth.
    fn declared(&mut self, body: &'t [Statement]) {
        let inside = SkipContext {
            scope: true,
            a_loop: true,
        };
        for statement in body {
            match &statement.kind {
                StatementKind::Macro(node) | StatementKind::CallBlock(_, node) => {
                    self.body(&node.body, inside);
                    self.declared(&node.body);
                }
                StatementKind::Block(block) => {
                    self.body(&block.body, inside);
                    self.declared(&block.body);
                }
                StatementKind::If {
                    branches,
                    otherwise,
                } => {
                    for (_, body) in branches {
                        self.declared(body);
                    }
                    self.declared(otherwise);
                }
                StatementKind::For(node) => {
                    self.declared(&node.body);
                    self.declared(&node.otherwise);
                    // `loop(…)` evaluates the body again.
                    if node.recursive {
                        self.body(&node.body, inside);
                    }
                }
                StatementKind::SetBlock(_, _, body)
                | StatementKind::With(_, body)
                | StatementKind::FilterBlock(_, body)
                | StatementKind::Group(body) => self.declared(body),
                _ => {}
            }
        }
    }

    fn statement(&mut self, statement: &'t Statement, inside: SkipContext) {
        let scoped = SkipContext {
            scope: true,
            ..inside
        };
        match &statement.kind {
            StatementKind::Text(_) => {}
            StatementKind::Print(expr) | StatementKind::Do(expr) => self.expr(expr),
            StatementKind::If {
                branches,
                otherwise,
            } => {
                // Any branch may be taken, so the effects of all branches count.
                for (condition, body) in branches {
                    self.expr(condition);
                    self.body(body, inside);
                }
                self.body(otherwise, inside);
            }
            StatementKind::For(node) => {
                self.expr(&node.iterable);
                node.condition.iter().for_each(|expr| self.expr(expr));
                let turns = SkipContext {
                    scope: true,
                    a_loop: true,
                };
                self.target(&node.target, turns);
                self.body(&node.body, turns);
                self.body(&node.otherwise, inside);
            }
            StatementKind::Set(target, value) => {
                self.expr(value);
                self.target(target, inside);
            }
            StatementKind::SetBlock(target, filters, body) => {
                self.filters(filters);
                self.body(body, scoped);
                self.target(target, inside);
            }
            StatementKind::With(bindings, body) => {
                for (target, value) in bindings {
                    self.expr(value);
                    self.target(target, scoped);
                }
                self.body(body, scoped);
            }
            StatementKind::FilterBlock(filters, body) => {
                self.filters(filters);
                self.body(body, scoped);
            }
            StatementKind::Macro(node) => self.name(&node.name, inside),
            StatementKind::CallBlock(call, node) => {
                self.expr(call);
                // The called macro evaluates the body as its `caller()`.
                self.elsewhere = true;
                self.body(&node.body, scoped);
            }
            StatementKind::Block(block) => {
                self.elsewhere = true;
                self.body(&block.body, scoped);
            }
            // `extends` replaces the entire output, and this cannot be undone.
            StatementKind::Extends(_) => self.lasting = true,
            StatementKind::Include { name, .. } => {
                self.expr(name);
                self.elsewhere = true;
            }
            StatementKind::Import { name, target, .. } => {
                self.expr(name);
                self.elsewhere = true;
                self.name(target, inside);
            }
            StatementKind::FromImport { name, names, .. } => {
                self.expr(name);
                self.elsewhere = true;
                for (_, to) in names {
                    self.name(to, inside);
                }
            }
            StatementKind::Group(body) => self.body(body, inside),
            // A `break` in a skipped inner loop leaves only that loop.
            StatementKind::Break | StatementKind::Continue => self.leaves |= !inside.a_loop,
        }
    }

    fn name(&mut self, name: &'t Arc<str>, inside: SkipContext) {
        // Names of inner scopes are not visible after the statement.
        if !inside.scope {
            self.names.push(name);
        }
    }

    fn target(&mut self, target: &'t AssignTarget, inside: SkipContext) {
        match target {
            AssignTarget::Name(name) => self.name(name, inside),
            AssignTarget::Field(name, field) => self.fields.push((name, field)),
            AssignTarget::Tuple(targets) => {
                for target in targets {
                    self.target(target, inside);
                }
            }
        }
    }

    fn filters(&mut self, filters: &'t [FilterCall]) {
        for filter in filters {
            self.arguments(&filter.arguments);
        }
    }

    fn arguments(&mut self, arguments: &'t ArgumentExprs) {
        for expr in arguments.all() {
            self.expr(expr);
        }
    }

    /// Scans an expression. The parser limits the nesting.
    fn expr(&mut self, expr: &'t Expr) {
        match &expr.kind {
            ExprKind::Call(callee, arguments) => {
                match &callee.kind {
                    ExprKind::Name(name) if LASTING.contains(&&**name) => self.lasting = true,
                    ExprKind::Name(name) => self.called.push(name),
                    ExprKind::Attribute(subject, name) => {
                        self.lasting |= LASTING_METHODS.contains(&&**name);
                        // The method may be a macro of an imported module, which may have effects.
                        self.elsewhere = true;
                        self.expr(subject);
                    }
                    _ => {
                        self.elsewhere = true;
                        self.expr(callee);
                    }
                }
                self.arguments(arguments);
            }
            _ => expr.children().into_iter().for_each(|part| self.expr(part)),
        }
    }
}

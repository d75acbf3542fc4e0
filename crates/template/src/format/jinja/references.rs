//! Finds the references of sources. The walk over the syntax trees tracks the names that templates
//! bind.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use indexmap::IndexMap;
use quillet_core::{Span, Value};

use super::JinjaTemplate;
use super::ast::{
    ArgumentExprs, AssignTarget, Expr, ExprKind, FilterCall, Macro, Statement, StatementKind,
};
use super::{functions, methods};
use crate::{FunctionReference, References, VariableReference};

/// Names that the template binds, and whether a name is bound on every path to the current
/// position.
type BoundNames<'a> = HashMap<&'a str, BindingCertainty, foldhash::fast::RandomState>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum BindingCertainty {
    /// Bound in a branch that may not be taken, or by a later line.
    Perhaps,
    Surely,
}

/// Limit on repeated walks, as a multiple of the total text. A source is walked again at each call,
/// because different names are bound there.
const READINGS: usize = 4;

/// Keys from the root.
type KeyPath<'a> = Vec<&'a str>;

/// First use of a variable, and whether all of its uses are optional.
struct VariableUse {
    optional: bool,
    source: usize,
    span: Span,
}

struct Walk<'a> {
    compiled: &'a JinjaTemplate,
    found: References,
    variables: IndexMap<KeyPath<'a>, VariableUse, foldhash::fast::RandomState>,
    functions: HashSet<&'a str, foldhash::fast::RandomState>,
    templates: HashSet<&'a str, foldhash::fast::RandomState>,
    source: usize,
    /// Bound names, innermost scope last.
    scopes: Vec<Rc<BoundNames<'a>>>,
    /// Names bound anywhere at the top level of the source. A macro may run after these bindings.
    top: Rc<BoundNames<'a>>,
    /// Paths that an enclosing condition requires.
    guards: Vec<KeyPath<'a>>,
    /// Sources that contain the current node, outermost first.
    inside: Vec<usize>,
    /// Number of bytes of source that may still be walked.
    budget: usize,
}

/// Returns the references of all sources except libraries, and of the sources that they call.
pub(super) fn references(compiled: &JinjaTemplate, roots: &[usize]) -> References {
    let bytes: usize = compiled
        .sources
        .iter()
        .map(|source| source.text.len())
        .sum();
    let mut walk = Walk {
        compiled,
        found: References::default(),
        variables: IndexMap::default(),
        functions: HashSet::default(),
        templates: HashSet::default(),
        source: 0,
        scopes: Vec::new(),
        top: Rc::default(),
        guards: Vec::new(),
        inside: Vec::new(),
        budget: bytes.saturating_mul(READINGS),
    };
    for root in roots {
        walk.scopes = vec![Rc::default()];
        walk.visit(*root);
    }
    walk.finish()
}

impl<'a> Walk<'a> {
    fn finish(self) -> References {
        let variable = |(path, first): (KeyPath<'_>, VariableUse)| VariableReference {
            path: path.into_iter().map(str::to_owned).collect(),
            optional: first.optional,
            source: first.source,
            span: first.span,
        };
        References {
            variables: self.variables.into_iter().map(variable).collect(),
            ..self.found
        }
    }

    fn visit(&mut self, source: usize) {
        let Some(program) = self.compiled.program(source) else {
            return;
        };
        // A recursive source has no further references.
        if self.inside.contains(&source) {
            return;
        }
        let Some(budget) = self
            .budget
            .checked_sub(self.compiled.source(source).1.len())
        else {
            self.found.dynamic = true;
            return;
        };
        self.budget = budget;
        self.inside.push(source);
        let outer = (self.source, std::mem::take(&mut self.top));
        self.source = source;
        let mut top = BoundNames::default();
        assigned(&program.body, &mut top);
        self.top = Rc::new(top);
        self.body(&program.body);
        (self.source, self.top) = outer;
        self.inside.pop();
    }

    fn bind(&mut self, name: &'a str) {
        self.bind_as(name, BindingCertainty::Surely);
    }

    fn bind_as(&mut self, name: &'a str, bound: BindingCertainty) {
        if let Some(scope) = self.scopes.last_mut() {
            let known = Rc::make_mut(scope).entry(name).or_insert(bound);
            *known = bound.max(*known);
        }
    }

    fn bound(&self, name: &str) -> Option<BindingCertainty> {
        if name == "self" {
            return Some(BindingCertainty::Surely);
        }
        self.scopes
            .iter()
            .filter_map(|scope| scope.get(name).copied())
            .max()
    }

    /// Walks with additional names in scope. Returns these names and those bound during the walk.
    fn scoped(&mut self, names: &[&'a str], walk: impl FnOnce(&mut Self)) -> Rc<BoundNames<'a>> {
        let names = names.iter().map(|name| (*name, BindingCertainty::Surely));
        self.scopes.push(Rc::new(names.collect()));
        walk(self);
        self.scopes.pop().unwrap_or_default()
    }

    /// Binds the names that are bound after one of these branches.
    fn join(&mut self, first: &BoundNames<'a>, rest: &[Rc<BoundNames<'a>>]) {
        let names = rest.iter().flat_map(|branch| branch.keys());
        names.for_each(|name| self.bind_as(name, BindingCertainty::Perhaps));
        for (name, bound) in first {
            let surely =
                |branch: &Rc<BoundNames<'_>>| branch.get(name) == Some(&BindingCertainty::Surely);
            let everywhere = *bound == BindingCertainty::Surely && rest.iter().all(surely);
            let bound = if everywhere {
                *bound
            } else {
                BindingCertainty::Perhaps
            };
            self.bind_as(name, bound);
        }
    }

    fn guarded(&mut self, guards: Vec<KeyPath<'a>>, walk: impl FnOnce(&mut Self)) {
        let before = self.guards.len();
        self.guards.extend(guards);
        walk(self);
        self.guards.truncate(before);
    }

    fn body(&mut self, body: &'a [Statement]) {
        for statement in body {
            self.statement(&statement.kind);
        }
    }

    fn statement(&mut self, statement: &'a StatementKind) {
        match statement {
            StatementKind::Text(_) | StatementKind::Break | StatementKind::Continue => {}
            StatementKind::Print(expr) | StatementKind::Do(expr) => self.expr(expr),
            StatementKind::If {
                branches,
                otherwise,
            } => self.branches(branches, otherwise),
            StatementKind::For(node) => {
                self.expr(&node.iterable);
                self.scoped(&["loop"], |walk| {
                    walk.target(&node.target);
                    node.condition
                        .iter()
                        .for_each(|condition| walk.expr(condition));
                    walk.body(&node.body);
                });
                self.scoped(&[], |walk| walk.body(&node.otherwise));
            }
            StatementKind::Set(target, value) => {
                self.expr(value);
                self.target(target);
            }
            StatementKind::SetBlock(target, filters, body) => {
                self.filters(filters);
                self.scoped(&[], |walk| walk.body(body));
                self.target(target);
            }
            StatementKind::With(bindings, body) => {
                bindings.iter().for_each(|(_, value)| self.expr(value));
                self.scoped(&[], |walk| {
                    bindings.iter().for_each(|(target, _)| walk.target(target));
                    walk.body(body);
                });
            }
            StatementKind::FilterBlock(filters, body) => {
                self.filters(filters);
                self.scoped(&[], |walk| walk.body(body));
            }
            StatementKind::Macro(declared) => {
                self.bind(&declared.name);
                self.declared(declared);
            }
            StatementKind::CallBlock(call, declared) => {
                self.expr(call);
                self.declared(declared);
            }
            StatementKind::Block(block) => {
                let top = Rc::clone(&self.top);
                self.scopes.push(top);
                self.scoped(&["super"], |walk| walk.body(&block.body));
                self.scopes.pop();
            }
            StatementKind::Extends(name) | StatementKind::Include { name, .. } => self.source(name),
            StatementKind::Import { name, target, .. } => {
                self.source(name);
                self.bind(target);
            }
            StatementKind::FromImport { name, names, .. } => {
                self.source(name);
                names.iter().for_each(|(_, to)| self.bind(to));
            }
            StatementKind::Group(body) => self.body(body),
        }
    }

    fn branches(&mut self, branches: &'a [(Expr, Vec<Statement>)], otherwise: &'a [Statement]) {
        let before = self.guards.len();
        let mut ends = Vec::with_capacity(branches.len());
        for (condition, body) in branches {
            self.expr(condition);
            self.guarded(known_if(condition, true), |walk| {
                ends.push(walk.scoped(&[], |walk| walk.body(body)));
            });
            // The following branches are reached only if this condition is false.
            self.guards.extend(known_if(condition, false));
        }
        let last = self.scoped(&[], |walk| walk.body(otherwise));
        self.guards.truncate(before);
        self.join(&last, &ends);
    }

    fn declared(&mut self, declared: &'a Macro) {
        for (_, default) in &declared.parameters {
            default.iter().for_each(|default| self.expr(default));
        }
        let top = Rc::clone(&self.top);
        self.scopes.push(top);
        self.scoped(&["caller", "varargs", "kwargs"], |walk| {
            declared
                .parameters
                .iter()
                .for_each(|(name, _)| walk.bind(name));
            walk.body(&declared.body);
        });
        self.scopes.pop();
    }

    fn target(&mut self, target: &'a AssignTarget) {
        match target {
            AssignTarget::Name(name) => self.bind(name),
            AssignTarget::Field(..) => {}
            AssignTarget::Tuple(targets) => targets.iter().for_each(|target| self.target(target)),
        }
    }

    /// Walks another source by name.
    fn source(&mut self, name: &'a Expr) {
        let ExprKind::Constant(Value::Str(text)) = &name.kind else {
            self.found.dynamic = true;
            return self.expr(name);
        };
        match self.compiled.index(text) {
            Some(index) => self.visit(index),
            None if !self.templates.insert(text) => {}
            None => self.found.templates.push(text.to_string()),
        }
    }

    fn filters(&mut self, filters: &'a [FilterCall]) {
        for filter in filters {
            self.arguments(&filter.arguments);
        }
    }

    fn arguments(&mut self, arguments: &'a ArgumentExprs) {
        arguments.all().for_each(|argument| self.expr(argument));
    }

    fn expr(&mut self, expr: &'a Expr) {
        if let Some(path) = path(expr) {
            return self.variable(path, expr.span, false);
        }
        match &expr.kind {
            ExprKind::Call(callee, arguments) => {
                self.callee(callee);
                self.arguments(arguments);
            }
            ExprKind::Filter(subject, call) => {
                match path(subject) {
                    Some(path) if ["default", "d"].contains(&call.filter.name) => {
                        self.variable(path, subject.span, true);
                    }
                    _ => self.expr(subject),
                }
                self.arguments(&call.arguments);
            }
            ExprKind::Test {
                subject,
                test,
                arguments,
                ..
            } => {
                match path(subject) {
                    Some(path) if test.of_undefined => self.variable(path, subject.span, true),
                    _ => self.expr(subject),
                }
                self.arguments(arguments);
            }
            ExprKind::And(operands) => self.operands(operands, true),
            ExprKind::Or(operands) => self.operands(operands, false),
            ExprKind::Choice {
                condition,
                then,
                otherwise,
            } => {
                self.expr(condition);
                self.guarded(known_if(condition, true), |walk| walk.expr(then));
                let otherwise = otherwise.as_deref();
                self.guarded(known_if(condition, false), |walk| {
                    otherwise.into_iter().for_each(|e| walk.expr(e));
                });
            }
            _ => expr.children().into_iter().for_each(|part| self.expr(part)),
        }
    }

    /// Walks operands. Each is reached only if all previous operands have this truth value.
    fn operands(&mut self, operands: &'a [Expr], truth: bool) {
        let before = self.guards.len();
        for operand in operands {
            self.expr(operand);
            self.guards.extend(known_if(operand, truth));
        }
        self.guards.truncate(before);
    }

    fn callee(&mut self, callee: &'a Expr) {
        match &callee.kind {
            ExprKind::Name(name) => {
                let known = self.bound(name).is_some()
                    || functions::find(name, self.compiled.preset).is_some();
                if known || !self.functions.insert(name) {
                    return;
                }
                let reference = FunctionReference::new(&**name, self.source, callee.span);
                self.found.functions.push(reference);
            }
            ExprKind::Attribute(subject, name) if methods::is_known(name) => self.expr(subject),
            _ => self.expr(callee),
        }
    }

    fn variable(&mut self, path: KeyPath<'a>, span: Span, optional: bool) {
        let root = path.first().copied().unwrap_or_default();
        let function = functions::find(root, self.compiled.preset).is_some();
        let bound = self.bound(root);
        if bound == Some(BindingCertainty::Surely) || function {
            return;
        }
        let optional = optional
            || bound == Some(BindingCertainty::Perhaps)
            || self.guards.iter().any(|guard| path.starts_with(guard));
        let first = VariableUse {
            optional,
            source: self.source,
            span,
        };
        self.variables.entry(path).or_insert(first).optional &= optional;
    }
}

/// Returns the keys of an expression that is a path from the root. A constant index ends the path,
/// because the list itself is required.
fn path(expr: &Expr) -> Option<KeyPath<'_>> {
    match &expr.kind {
        ExprKind::Name(name) => Some(vec![&**name]),
        ExprKind::Attribute(subject, name) => {
            let mut path = path(subject)?;
            path.push(name);
            Some(path)
        }
        ExprKind::Item(subject, key) => match &key.kind {
            ExprKind::Constant(Value::Str(key)) => {
                let mut path = path(subject)?;
                path.push(key);
                Some(path)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Returns the paths that must exist if a condition has this truth value.
fn known_if(condition: &Expr, truth: bool) -> Vec<KeyPath<'_>> {
    match (&condition.kind, truth) {
        (
            ExprKind::Test {
                subject,
                test,
                negated,
                ..
            },
            truth,
        ) if test.of_undefined => {
            let defined = (test.is_defined() != *negated) == truth;
            path(subject).filter(|_| defined).into_iter().collect()
        }
        (ExprKind::Not(operand), truth) => known_if(operand, !truth),
        (ExprKind::And(operands), true) | (ExprKind::Or(operands), false) => operands
            .iter()
            .flat_map(|operand| known_if(operand, truth))
            .collect(),
        _ => Vec::new(),
    }
}

/// Collects the names that a source binds outside its macros and loops.
fn assigned<'a>(body: &'a [Statement], names: &mut BoundNames<'a>) {
    for statement in body {
        match &statement.kind {
            StatementKind::Set(target, _) | StatementKind::SetBlock(target, ..) => {
                target_names(target, names);
            }
            StatementKind::Macro(declared) => {
                names.insert(&declared.name, BindingCertainty::Perhaps);
            }
            StatementKind::Import { target, .. } => {
                names.insert(target, BindingCertainty::Perhaps);
            }
            StatementKind::FromImport { names: found, .. } => {
                names.extend(
                    found
                        .iter()
                        .map(|(_, to)| (&**to, BindingCertainty::Perhaps)),
                );
            }
            StatementKind::If {
                branches,
                otherwise,
            } => {
                branches.iter().for_each(|(_, body)| assigned(body, names));
                assigned(otherwise, names);
            }
            StatementKind::Group(body) => assigned(body, names),
            _ => {}
        }
    }
}

fn target_names<'a>(target: &'a AssignTarget, names: &mut BoundNames<'a>) {
    match target {
        AssignTarget::Name(name) => {
            names.insert(name, BindingCertainty::Perhaps);
        }
        AssignTarget::Field(..) => {}
        AssignTarget::Tuple(targets) => targets
            .iter()
            .for_each(|target| target_names(target, names)),
    }
}

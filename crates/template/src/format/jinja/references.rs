//! What sources can touch: a walk over the syntax trees that knows which names
//! the templates bind themselves.

use std::collections::HashSet;
use std::sync::Arc;

use quillet_core::{Span, Value};

use super::Compiled;
use super::ast::{Arguments, Expr, ExprKind, FilterCall, Macro, Statement, StatementKind, Target};
use super::{functions, methods};
use crate::{FunctionReference, References, VariableReference};

struct Walk<'a> {
    compiled: &'a Compiled,
    found: References,
    source: usize,
    /// Names that are bound, innermost scope last.
    scopes: Vec<HashSet<Arc<str>>>,
    /// Names that the top of the source binds somewhere: macros may run after that.
    top: HashSet<Arc<str>>,
    /// Paths that are known to be there, by a condition around.
    guards: Vec<Vec<String>>,
    visited: HashSet<usize>,
}

/// The references of all sources that are not libraries, and of what they call.
pub(super) fn references(compiled: &Compiled, roots: &[usize]) -> References {
    let mut walk = Walk {
        compiled,
        found: References::default(),
        source: 0,
        scopes: vec![HashSet::new()],
        top: HashSet::new(),
        guards: Vec::new(),
        visited: HashSet::new(),
    };
    for root in roots {
        walk.scopes = vec![HashSet::new()];
        walk.visit(*root);
    }
    walk.found
}

impl Walk<'_> {
    fn visit(&mut self, source: usize) {
        let Some(program) = self.compiled.program(source) else {
            return;
        };
        if !self.visited.insert(source) {
            return;
        }
        let outer = (self.source, std::mem::take(&mut self.top));
        self.source = source;
        assigned(&program.body, &mut self.top);
        self.body(&program.body);
        (self.source, self.top) = outer;
    }

    fn bind(&mut self, name: &Arc<str>) {
        if let Some(scope) = self.scopes.last_mut() {
            scope.insert(Arc::clone(name));
        }
    }

    fn is_bound(&self, name: &str) -> bool {
        name == "self" || self.scopes.iter().any(|scope| scope.contains(name))
    }

    fn scoped(&mut self, names: &[&str], walk: impl FnOnce(&mut Self)) {
        self.scopes
            .push(names.iter().map(|name| (*name).into()).collect());
        walk(self);
        self.scopes.pop();
    }

    fn guarded(&mut self, guards: Vec<Vec<String>>, walk: impl FnOnce(&mut Self)) {
        let before = self.guards.len();
        self.guards.extend(guards);
        walk(self);
        self.guards.truncate(before);
    }

    fn body(&mut self, body: &[Statement]) {
        for statement in body {
            self.statement(&statement.kind);
        }
    }

    fn statement(&mut self, statement: &StatementKind) {
        match statement {
            StatementKind::Text(_) | StatementKind::Break | StatementKind::Continue => {}
            StatementKind::Print(expr) => self.expr(expr),
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
                let top = self.top.clone();
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

    fn branches(&mut self, branches: &[(Expr, Vec<Statement>)], otherwise: &[Statement]) {
        let before = self.guards.len();
        for (condition, body) in branches {
            self.expr(condition);
            self.guarded(known_if(condition, true), |walk| walk.body(body));
            // What follows is reached only if this condition was false.
            self.guards.extend(known_if(condition, false));
        }
        self.body(otherwise);
        self.guards.truncate(before);
    }

    fn declared(&mut self, declared: &Macro) {
        for (_, default) in &declared.parameters {
            default.iter().for_each(|default| self.expr(default));
        }
        let top = self.top.clone();
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

    fn target(&mut self, target: &Target) {
        match target {
            Target::Name(name) => self.bind(name),
            Target::Field(..) => {}
            Target::Tuple(targets) => targets.iter().for_each(|target| self.target(target)),
        }
    }

    /// Another source, by name.
    fn source(&mut self, name: &Expr) {
        let ExprKind::Constant(Value::Str(text)) = &name.kind else {
            self.found.dynamic = true;
            return self.expr(name);
        };
        match self.compiled.index(text) {
            Some(index) => self.visit(index),
            None if self.found.templates.iter().any(|known| **known == **text) => {}
            None => self.found.templates.push(text.to_string()),
        }
    }

    fn filters(&mut self, filters: &[FilterCall]) {
        for filter in filters {
            self.arguments(&filter.arguments);
        }
    }

    fn arguments(&mut self, arguments: &Arguments) {
        arguments.all().for_each(|argument| self.expr(argument));
    }

    fn expr(&mut self, expr: &Expr) {
        if let Some(path) = path(expr) {
            return self.variable(path, expr.span, false);
        }
        match &expr.kind {
            ExprKind::Constant(_) | ExprKind::Name(_) => {}
            ExprKind::Attribute(subject, _) => self.expr(subject),
            ExprKind::Item(subject, key) => {
                self.expr(subject);
                self.expr(key);
            }
            ExprKind::Slice(subject, parts) => {
                self.expr(subject);
                parts.iter().flatten().for_each(|part| self.expr(part));
            }
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
            ExprKind::Not(operand) | ExprKind::Negative(operand) | ExprKind::Positive(operand) => {
                self.expr(operand);
            }
            ExprKind::Math(first, rest) => {
                self.expr(first);
                rest.iter().for_each(|(_, right)| self.expr(right));
            }
            ExprKind::Compare(first, rest) => {
                self.expr(first);
                rest.iter().for_each(|(_, right)| self.expr(right));
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
            ExprKind::Concat(items) | ExprKind::List(items) | ExprKind::Tuple(items) => {
                items.iter().for_each(|item| self.expr(item));
            }
            ExprKind::Dict(entries) => {
                for (key, value) in entries {
                    self.expr(key);
                    self.expr(value);
                }
            }
        }
    }

    /// Operands are reached only if the ones before had this truth.
    fn operands(&mut self, operands: &[Expr], truth: bool) {
        let before = self.guards.len();
        for operand in operands {
            self.expr(operand);
            self.guards.extend(known_if(operand, truth));
        }
        self.guards.truncate(before);
    }

    fn callee(&mut self, callee: &Expr) {
        match &callee.kind {
            ExprKind::Name(name) => {
                if self.is_bound(name) || functions::find(name, self.compiled.preset).is_some() {
                    return;
                }
                self.found.add_function(FunctionReference {
                    name: name.to_string(),
                    source: self.source,
                    span: callee.span,
                });
            }
            ExprKind::Attribute(subject, name) if methods::is_known(name) => self.expr(subject),
            _ => self.expr(callee),
        }
    }

    fn variable(&mut self, path: Vec<String>, span: Span, optional: bool) {
        let root = path.first().map_or("", String::as_str);
        let function = functions::find(root, self.compiled.preset).is_some();
        if self.is_bound(root) || function {
            return;
        }
        let optional = optional || self.guards.iter().any(|guard| path.starts_with(guard));
        self.found.add_variable(VariableReference {
            path,
            optional,
            source: self.source,
            span,
        });
    }
}

/// The keys from the root, if an expression is such a path. A constant index
/// ends it: the list itself is what is needed.
fn path(expr: &Expr) -> Option<Vec<String>> {
    match &expr.kind {
        ExprKind::Name(name) => Some(vec![name.to_string()]),
        ExprKind::Attribute(subject, name) => {
            let mut path = path(subject)?;
            path.push(name.to_string());
            Some(path)
        }
        ExprKind::Item(subject, key) => match &key.kind {
            ExprKind::Constant(Value::Str(key)) => {
                let mut path = path(subject)?;
                path.push(key.to_string());
                Some(path)
            }
            _ => None,
        },
        _ => None,
    }
}

/// Paths that exist for sure if a condition has this truth.
fn known_if(condition: &Expr, truth: bool) -> Vec<Vec<String>> {
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

/// Names that a source binds outside its macros and loops.
fn assigned(body: &[Statement], names: &mut HashSet<Arc<str>>) {
    for statement in body {
        match &statement.kind {
            StatementKind::Set(target, _) | StatementKind::SetBlock(target, ..) => {
                target_names(target, names);
            }
            StatementKind::Macro(declared) => {
                names.insert(Arc::clone(&declared.name));
            }
            StatementKind::Import { target, .. } => {
                names.insert(Arc::clone(target));
            }
            StatementKind::FromImport { names: found, .. } => {
                names.extend(found.iter().map(|(_, to)| Arc::clone(to)));
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

fn target_names(target: &Target, names: &mut HashSet<Arc<str>>) {
    match target {
        Target::Name(name) => {
            names.insert(Arc::clone(name));
        }
        Target::Field(..) => {}
        Target::Tuple(targets) => targets
            .iter()
            .for_each(|target| target_names(target, names)),
    }
}

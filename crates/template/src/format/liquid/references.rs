//! Finds the references of sources. The walk over the syntax trees tracks the names that templates
//! set.

use std::collections::HashSet;

use indexmap::{IndexMap, IndexSet};
use quillet_core::Span;

use super::LiquidTemplate;
use super::ast::{
    Body, Comparison, ConditionChain, Expr, ExprKind, FilteredExpr, Group, Key, Name, Node,
    NodeKind, Offset, Operator, PartialTag, Term,
};
use crate::{FunctionReference, References, VariableReference};

/// Limit on repeated walks, as a multiple of the total text. A source is walked again at each
/// inclusion, because different names are set there.
const READINGS: usize = 4;

/// First use of a variable, and whether all of its uses are optional.
struct VariableUse {
    optional: bool,
    source: usize,
    span: Span,
}

struct Walk<'a> {
    compiled: &'a LiquidTemplate,
    variables: IndexMap<Vec<&'a str>, VariableUse, foldhash::fast::RandomState>,
    functions: IndexMap<&'a str, (usize, Span), foldhash::fast::RandomState>,
    templates: IndexSet<&'a str, foldhash::fast::RandomState>,
    dynamic: bool,
    source: usize,
    /// Names that are set: by `assign` and similar tags from there on, by loops and partials inside
    /// them.
    assigned: HashSet<&'a str, foldhash::fast::RandomState>,
    inner: Vec<&'a str>,
    /// Whether the variables are visible, which they are not inside `render`.
    sees: bool,
    /// Sources that contain the current node, outermost first.
    inside: Vec<usize>,
    rendered: HashSet<usize>,
    /// Number of bytes of source that may still be walked.
    budget: usize,
}

/// Returns the references of all sources except libraries, and of their partials.
pub(super) fn references(compiled: &LiquidTemplate, roots: &[usize]) -> References {
    let bytes: usize = compiled
        .sources
        .iter()
        .map(|source| source.text.len())
        .sum();
    let mut walk = Walk {
        compiled,
        variables: IndexMap::default(),
        functions: IndexMap::default(),
        templates: IndexSet::default(),
        dynamic: false,
        source: 0,
        assigned: HashSet::default(),
        inner: Vec::new(),
        sees: true,
        inside: Vec::new(),
        rendered: HashSet::new(),
        budget: bytes.saturating_mul(READINGS),
    };
    for root in roots {
        walk.assigned.clear();
        walk.visit(*root);
    }
    let variables = walk
        .variables
        .into_iter()
        .map(|(path, found)| VariableReference {
            path: path.into_iter().map(str::to_owned).collect(),
            optional: found.optional,
            source: found.source,
            span: found.span,
        });
    let functions = walk.functions.into_iter();
    let functions = functions.map(|(name, (source, span))| FunctionReference {
        name: name.to_owned(),
        source,
        span,
    });
    References {
        variables: variables.collect(),
        functions: functions.collect(),
        templates: walk.templates.into_iter().map(str::to_owned).collect(),
        dynamic: walk.dynamic,
    }
}

impl<'a> Walk<'a> {
    fn visit(&mut self, index: usize) {
        let compiled = self.compiled;
        let Some(body) = compiled
            .body(index)
            .filter(|_| !self.inside.contains(&index))
        else {
            return;
        };
        let (_, text) = compiled.source(index);
        let Some(left) = self.budget.checked_sub(text.len()) else {
            self.dynamic = true;
            return;
        };
        self.budget = left;
        let outer = std::mem::replace(&mut self.source, index);
        self.inside.push(index);
        self.body(body);
        self.inside.pop();
        self.source = outer;
    }

    fn body(&mut self, body: &'a Body) {
        for node in body {
            self.node(node);
        }
    }

    fn node(&mut self, node: &'a Node) {
        match &node.kind {
            NodeKind::Text(_)
            | NodeKind::Raw(_)
            | NodeKind::Nothing
            | NodeKind::Break
            | NodeKind::Continue => {}
            NodeKind::Print(piped) => self.piped(piped),
            NodeKind::Assign(name, piped) => {
                self.piped(piped);
                self.assigned.insert(name);
            }
            NodeKind::Capture(name, body) => {
                self.body(body);
                self.assigned.insert(name);
            }
            NodeKind::If(node) => {
                for (condition, body) in &node.branches {
                    condition
                        .iter()
                        .for_each(|condition| self.condition(condition));
                    self.body(body);
                }
            }
            NodeKind::Case(node) => {
                self.expr(&node.left, true);
                for (term, _) in &node.arms {
                    if let Some(Term::Expr(expr)) = term {
                        self.expr(expr, true);
                    }
                }
                node.bodies.iter().for_each(|body| self.body(body));
            }
            NodeKind::For(node) => {
                if let Offset::At(expr) = &node.offset {
                    self.expr(expr, false);
                }
                self.expr(&node.items, false);
                node.limit.iter().for_each(|expr| self.expr(expr, false));
                self.with(&["forloop", &node.variable], |walk| walk.body(&node.body));
                node.otherwise.iter().for_each(|body| self.body(body));
            }
            NodeKind::TableRow(node) => {
                self.expr(&node.items, false);
                let attributes = [&node.columns, &node.limit, &node.offset];
                for expr in attributes.into_iter().flatten() {
                    self.expr(expr, false);
                }
                self.with(&["tablerowloop", &node.variable], |walk| {
                    walk.body(&node.body);
                });
            }
            NodeKind::Cycle(node) => {
                if let Group::Named(name) = &node.group {
                    self.expr(name, false);
                }
                node.values.iter().for_each(|value| self.expr(value, false));
            }
            NodeKind::Increment(name) | NodeKind::Decrement(name) => {
                // A counter starts at the value of a variable with the same name.
                self.add(vec![name], true, node.span);
                self.assigned.insert(name);
            }
            NodeKind::IfChanged(body) => self.body(body),
            NodeKind::Include(partial) => self.include(partial),
            NodeKind::Render(partial) => self.render(partial),
        }
    }

    /// Walks with additional names, which are visible only during the walk.
    fn with(&mut self, names: &[&'a str], walk: impl FnOnce(&mut Self)) {
        let scope = self.inner.len();
        self.inner.extend_from_slice(names);
        walk(self);
        self.inner.truncate(scope);
    }

    fn include(&mut self, partial: &'a PartialTag) {
        self.handed(partial);
        let ExprKind::Text(name) = &partial.template.kind else {
            self.expr(&partial.template, false);
            // The template is known only at render time.
            self.dynamic = true;
            return;
        };
        if partial.handed.is_none() {
            self.add(vec![name], true, partial.template.span);
        }
        let Some(index) = self.compiled.index(name) else {
            self.templates.insert(name);
            return;
        };
        let mut names: Vec<&'a str> = partial.named.iter().map(|(name, _)| &**name).collect();
        names.push(seen_as(partial, name));
        self.with(&names, |walk| walk.visit(index));
    }

    fn render(&mut self, partial: &'a PartialTag) {
        self.handed(partial);
        let ExprKind::Text(name) = &partial.template.kind else {
            return;
        };
        let Some(index) = self.compiled.index(name) else {
            self.templates.insert(name);
            return;
        };
        // Outer names are not visible inside, so one walk is enough.
        if !self.rendered.insert(index) {
            return;
        }
        let sees = std::mem::replace(&mut self.sees, false);
        self.visit(index);
        self.sees = sees;
    }

    fn handed(&mut self, partial: &'a PartialTag) {
        partial
            .handed
            .iter()
            .for_each(|(expr, _)| self.expr(expr, false));
        partial
            .named
            .iter()
            .for_each(|(_, expr)| self.expr(expr, false));
    }

    fn piped(&mut self, piped: &'a FilteredExpr) {
        let default = piped
            .filters
            .first()
            .is_some_and(|call| &*call.name == "default");
        piped.value.iter().for_each(|expr| self.expr(expr, default));
        for call in &piped.filters {
            let named = call.named.iter().map(|(_, value)| value);
            for argument in call.positional.iter().chain(named) {
                self.expr(argument, false);
            }
            if call.own.is_none() {
                let place = (self.source, call.span);
                self.functions.entry(&call.name).or_insert(place);
            }
        }
    }

    fn condition(&mut self, condition: &'a ConditionChain) {
        for (comparison, _) in &condition.parts {
            self.comparison(comparison);
        }
    }

    /// Records the operands of a comparison. A test of the value itself, or a comparison with nil,
    /// handles a missing value.
    fn comparison(&mut self, comparison: &'a Comparison) {
        let Comparison { left, right } = comparison;
        let Some((operator, right)) = right else {
            return self.term(left, true);
        };
        let equality = matches!(operator, Operator::Equal | Operator::NotEqual);
        let nothing = |term: &Term| match term {
            Term::Empty | Term::Blank => true,
            Term::Expr(expr) => matches!(expr.kind, ExprKind::Nil),
        };
        self.term(left, equality && nothing(right));
        self.term(right, equality && nothing(left));
    }

    fn term(&mut self, term: &'a Term, optional: bool) {
        if let Term::Expr(expr) = term {
            self.expr(expr, optional);
        }
    }

    fn expr(&mut self, expr: &'a Expr, optional: bool) {
        let lookup = match &expr.kind {
            ExprKind::Lookup(lookup) => lookup,
            ExprKind::Range(from, to) => {
                self.expr(from, false);
                self.expr(to, false);
                return;
            }
            _ => return,
        };
        for key in &lookup.keys {
            if let Key::Computed(key) = key {
                self.expr(key, false);
            }
        }
        let Name::Known(name) = &lookup.name else {
            if let Name::Computed(name) = &lookup.name {
                self.expr(name, false);
            }
            self.dynamic = true;
            return;
        };
        let mut path: Vec<&'a str> = vec![name];
        for key in &lookup.keys {
            match key {
                // `size`, `first` and `last` may be properties of a list or string instead of keys.
                Key::Name(key) if matches!(&**key, "size" | "first" | "last") => break,
                Key::Name(key) => path.push(key),
                Key::Computed(Expr {
                    kind: ExprKind::Text(key),
                    ..
                }) => path.push(key),
                Key::Computed(_) => break,
            }
        }
        self.add(path, optional, expr.span);
    }

    fn add(&mut self, path: Vec<&'a str>, optional: bool, span: Span) {
        let own = path
            .first()
            .is_some_and(|name| self.inner.contains(name) || self.assigned.contains(name));
        if own || !self.sees {
            return;
        }
        let source = self.source;
        let found = self.variables.entry(path).or_insert(VariableUse {
            optional,
            source,
            span,
        });
        found.optional &= optional;
    }
}

fn seen_as<'a>(partial: &'a PartialTag, template: &'a str) -> &'a str {
    match &partial.alias {
        Some(alias) => alias,
        None => template.rsplit('/').next().unwrap_or(template),
    }
}

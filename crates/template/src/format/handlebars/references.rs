//! Finds the references of sources. The walk follows contexts and partials like an evaluation.

use std::collections::{HashMap, HashSet};

use indexmap::{IndexMap, IndexSet};
use quillet_core::{Span, Value};

use super::HandlebarsTemplate;
use super::ast::{
    Block, BlockBody, BranchArm, CallExpr, CallKind, Expr, InlinePartial, Node, Partial,
    PartialName, Path, Root,
};
use super::helper::Callee;
use crate::{FunctionReference, References, VariableReference};

/// Keys from the root of the variables.
type KeyPath<'a> = Vec<&'a str>;

/// Origin of a value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ValueOrigin<'a> {
    /// The path of a variable.
    At(KeyPath<'a>),
    /// A value that the template created, or that is part of a referenced value.
    Inside,
}

/// First use of a variable, and whether all of its uses are optional.
struct VariableUse {
    optional: bool,
    source: usize,
    span: Span,
}

struct Walk<'a> {
    compiled: &'a HandlebarsTemplate,
    found: References,
    variables: IndexMap<KeyPath<'a>, VariableUse, foldhash::fast::RandomState>,
    functions: HashSet<String, foldhash::fast::RandomState>,
    source: usize,
    contexts: Vec<ContextLevel<'a>>,
    /// Origins of the block parameters, innermost block last.
    params: Vec<[ValueOrigin<'a>; 2]>,
    /// Inline partials in scope, innermost last, each with the index of its source.
    inlines: HashMap<&'a str, Vec<(usize, &'a BlockBody)>, foldhash::fast::RandomState>,
    /// Names of the inline partials, in order of definition.
    defined: Vec<&'a str>,
    /// Missing partials that are called.
    templates: IndexSet<&'a str, foldhash::fast::RandomState>,
    /// Paths that an enclosing condition requires.
    guards: Vec<KeyPath<'a>>,
    /// Visited sources, with their contexts.
    visited: HashSet<(usize, ValueOrigin<'a>)>,
    /// Partials that contain the current node.
    walking: Vec<*const BlockBody>,
    /// Number of partial nodes that may still be visited.
    budget: usize,
}

/// A context of name lookup.
struct ContextLevel<'a> {
    value: ValueOrigin<'a>,
    /// Whether the context belongs to a section. A section keeps the outer context if its value is
    /// `true`.
    section: bool,
}

/// Limits on the depth and the number of visited partial nodes. If a limit is exceeded, the
/// references are incomplete and marked as dynamic.
const MOST_PARTIALS: usize = 50;
const MOST_NODES: usize = 100_000;

/// Returns the references of all sources except libraries, and of the partials that they call.
pub(super) fn references(compiled: &HandlebarsTemplate, roots: &[usize]) -> References {
    let mut walk = Walk {
        compiled,
        found: References::default(),
        variables: IndexMap::default(),
        functions: HashSet::default(),
        source: 0,
        contexts: Vec::new(),
        params: Vec::new(),
        inlines: HashMap::default(),
        defined: Vec::new(),
        templates: IndexSet::default(),
        guards: Vec::new(),
        visited: HashSet::new(),
        walking: Vec::new(),
        budget: MOST_NODES,
    };
    for root in roots {
        walk.visit(*root, ValueOrigin::At(Vec::new()));
    }
    let variable = |(path, first): (KeyPath<'_>, VariableUse)| VariableReference {
        path: path.into_iter().map(str::to_owned).collect(),
        optional: first.optional,
        source: first.source,
        span: first.span,
    };
    References {
        variables: walk.variables.into_iter().map(variable).collect(),
        templates: walk.templates.into_iter().map(str::to_owned).collect(),
        ..walk.found
    }
}

impl<'a> Walk<'a> {
    /// Visits a source that is rendered or called as a partial.
    fn visit(&mut self, source: usize, context: ValueOrigin<'a>) {
        let Some(compilation) = self.compiled.sources.get(source) else {
            return;
        };
        if !self.may_walk() || !self.visited.insert((source, context.clone())) {
            return;
        }
        let outer = std::mem::replace(&mut self.source, source);
        let contexts = std::mem::replace(&mut self.contexts, vec![level(context)]);
        let params = std::mem::take(&mut self.params);
        self.walking.push(&raw const compilation.body);
        self.body(&compilation.body);
        self.walking.pop();
        (self.source, self.contexts, self.params) = (outer, contexts, params);
    }

    /// Whether another partial may be visited.
    fn may_walk(&mut self) -> bool {
        let may = self.walking.len() < MOST_PARTIALS && self.budget > 0;
        self.found.dynamic |= !may;
        may
    }

    fn context(&self) -> ValueOrigin<'a> {
        let last = self.contexts.last();
        last.map_or(ValueOrigin::Inside, |level| level.value.clone())
    }

    fn body(&mut self, body: &'a BlockBody) {
        if self.walking.len() > 1 {
            self.budget = self.budget.saturating_sub(body.nodes.len());
        }
        let defined = self.defined.len();
        for node in &body.nodes {
            if let Node::Inline(inline) = node {
                self.define(inline);
            }
        }
        for node in &body.nodes {
            match node {
                Node::Text(_) | Node::Marked(_) | Node::Comment(_) | Node::Inline(_) => {}
                Node::Print(print) => {
                    self.call(&print.call, false);
                }
                Node::Block(block) => self.block(block),
                Node::Partial(partial) => self.partial(partial),
            }
        }
        self.undefine(defined);
    }

    fn undefine(&mut self, count: usize) {
        for name in self.defined.drain(count..) {
            self.inlines.entry(name).or_default().pop();
        }
    }

    fn define(&mut self, inline: &'a InlinePartial) {
        match &inline.name {
            Expr::Literal(Value::Str(name)) => {
                let one = (self.source, &inline.body);
                self.inlines.entry(name).or_default().push(one);
                self.defined.push(name);
            }
            name => {
                // The name is computed, so the partial is unknown.
                self.argument(name);
                self.within(ValueOrigin::Inside, |walk| walk.body(&inline.body));
            }
        }
    }

    fn within(&mut self, context: ValueOrigin<'a>, walk: impl FnOnce(&mut Self)) {
        self.contexts.push(level(context));
        walk(self);
        self.contexts.pop();
    }

    fn guarded(&mut self, guard: ValueOrigin<'a>, walk: impl FnOnce(&mut Self)) {
        let before = self.guards.len();
        if let ValueOrigin::At(keys) = guard {
            self.guards.push(keys);
        }
        walk(self);
        self.guards.truncate(before);
    }

    /// Resolves a printed or called name.
    fn call(&mut self, call: &'a CallExpr, optional: bool) -> ValueOrigin<'a> {
        match &call.kind {
            CallKind::Variable | CallKind::Ambiguous => self.path(&call.path, optional),
            CallKind::Helper(Callee::Lookup) => self.lookup(call),
            CallKind::Helper(_) => {
                if self.compiled.python {
                    self.get(call);
                }
                self.arguments(call);
                ValueOrigin::Inside
            }
            CallKind::Function => {
                self.arguments(call);
                let name = call.path.parts.join(".");
                if self.functions.insert(name.clone()) {
                    self.found.functions.push(FunctionReference {
                        name,
                        source: self.source,
                        span: call.path.span,
                    });
                }
                ValueOrigin::Inside
            }
        }
    }

    fn arguments(&mut self, call: &'a CallExpr) {
        for expr in &call.positional {
            self.whole_argument(expr);
        }
        for (_, expr) in &call.named {
            self.whole_argument(expr);
        }
    }

    /// Records the variable that Semantic Kernel's `get` reads.
    fn get(&mut self, call: &'a CallExpr) {
        if call.path.parts.iter().map(|part| &**part).ne(["get"]) {
            return;
        }
        let named = call.named.iter().find(|(key, _)| **key == *"name");
        match named.map(|(_, name)| name).or(call.positional.first()) {
            Some(Expr::Literal(Value::Str(name))) => self.touch(&[name], true, call.span),
            Some(_) => self.found.dynamic = true,
            None => {}
        }
    }

    /// Records an argument that is passed as a whole.
    fn whole_argument(&mut self, expr: &'a Expr) {
        let known = self.argument(expr);
        self.found.dynamic |= known == ValueOrigin::At(Vec::new());
    }

    fn argument(&mut self, expr: &'a Expr) -> ValueOrigin<'a> {
        match expr {
            Expr::Literal(_) | Expr::Undefined => ValueOrigin::Inside,
            Expr::Path(path) => self.path_known(path, true),
            Expr::Call(call) => self.call(call, true),
        }
    }

    fn lookup(&mut self, call: &'a CallExpr) -> ValueOrigin<'a> {
        let [object, key] = call.positional.as_slice() else {
            return ValueOrigin::Inside;
        };
        let base = match object {
            Expr::Path(path) => self.resolve(path),
            other => self.argument(other),
        };
        if let (ValueOrigin::At(mut keys), Expr::Literal(Value::Str(key))) = (base.clone(), key) {
            keys.push(key);
            self.touch(&keys, true, call.span);
            return ValueOrigin::At(keys);
        }
        self.argument(key);
        match base {
            ValueOrigin::At(keys) if keys.is_empty() => self.found.dynamic = true,
            ValueOrigin::At(keys) => self.touch(&keys, true, call.span),
            ValueOrigin::Inside => {}
        }
        ValueOrigin::Inside
    }

    /// Records a path whose entire value is used.
    fn path(&mut self, path: &'a Path, optional: bool) -> ValueOrigin<'a> {
        let known = self.path_known(path, optional);
        self.found.dynamic |= known == ValueOrigin::At(Vec::new());
        known
    }

    /// Records a path whose value is only used in part.
    fn path_known(&mut self, path: &'a Path, optional: bool) -> ValueOrigin<'a> {
        let known = self.resolve(path);
        let around = self.around(path);
        if let ValueOrigin::At(keys) = &known
            && !keys.is_empty()
        {
            self.touch(keys, optional || !around.is_empty(), path.span);
        }
        for keys in around {
            self.touch(&keys, true, path.span);
        }
        known
    }

    /// Returns the other possible targets of a path. An enclosing section with the value `true`
    /// does not change the context.
    fn around(&self, path: &'a Path) -> Vec<KeyPath<'a>> {
        let Root::Context(up) = path.root else {
            return Vec::new();
        };
        let end = self.contexts.len().saturating_sub(up);
        let levels = self.contexts.get(..end).unwrap_or_default();
        let sections = levels
            .iter()
            .rev()
            .take_while(|level| level.section)
            .count();
        let below = levels.len().checked_sub(sections + 1);
        let below = below.and_then(|at| levels.get(at..levels.len() - 1));
        let below = below.unwrap_or_default().iter().rev();
        let keys = below.filter_map(|level| match &level.value {
            ValueOrigin::At(keys) => Some(keys.iter().copied()),
            ValueOrigin::Inside => None,
        });
        let parts = || path.parts.iter().map(|part| &**part);
        keys.map(|keys| keys.chain(parts()).collect())
            .filter(|keys: &KeyPath<'_>| !keys.is_empty())
            .collect()
    }

    fn resolve(&self, path: &'a Path) -> ValueOrigin<'a> {
        let parts = || path.parts.iter().map(|part| &**part);
        let base = match path.root {
            Root::Context(up) => {
                let index = self.contexts.len().checked_sub(up + 1);
                let level = index.and_then(|index| self.contexts.get(index));
                level.map(|level| level.value.clone())
            }
            Root::Param(block, index) => {
                let at = self.params.len().checked_sub(block + 1);
                let params = at.and_then(|at| self.params.get(at));
                params.and_then(|params| params.get(index)).cloned()
            }
            Root::Data(_) => return data(parts().collect()),
        };
        match base {
            Some(ValueOrigin::At(mut keys)) => {
                keys.extend(parts());
                ValueOrigin::At(keys)
            }
            _ => ValueOrigin::Inside,
        }
    }

    fn touch(&mut self, keys: &[&'a str], optional: bool, span: Span) {
        let guarded = self.guards.iter().any(|guard| keys.starts_with(guard));
        let optional = optional || guarded;
        match self.variables.get_mut(keys) {
            Some(known) => known.optional &= optional,
            None => {
                let first = VariableUse {
                    optional,
                    source: self.source,
                    span,
                };
                self.variables.insert(keys.to_vec(), first);
            }
        }
    }

    fn block(&mut self, block: &'a Block) {
        for arm in &block.arms {
            self.arm(arm);
        }
        if let Some(body) = &block.otherwise {
            self.body(body);
        }
    }

    fn arm(&mut self, arm: &'a BranchArm) {
        let first = arm.call.positional.first();
        let (kind, value) = match (&arm.call.kind, first) {
            (CallKind::Helper(callee), Some(first)) => (Some(callee), self.argument(first)),
            (CallKind::Helper(callee), None) => (Some(callee), ValueOrigin::Inside),
            _ => (None, self.call(&arm.call, true)),
        };
        for (_, expr) in &arm.call.named {
            self.argument(expr);
        }
        let Some(body) = &arm.body else { return };
        match kind {
            Some(Callee::If) => self.guarded(value, |walk| walk.body(body)),
            Some(Callee::Unless) => self.body(body),
            Some(Callee::With) => {
                let params = [value.clone(), ValueOrigin::Inside];
                self.guarded(value.clone(), |walk| walk.inner(body, value, params));
            }
            Some(Callee::Each) => {
                self.found.dynamic |= value == ValueOrigin::At(Vec::new());
                let params = [ValueOrigin::Inside, ValueOrigin::Inside];
                self.guarded(value, |walk| walk.inner(body, ValueOrigin::Inside, params));
            }
            Some(_) => {
                self.arguments(&arm.call);
                self.body(body);
            }
            None => self.section(body, value),
        }
    }

    /// Walks the body of a section. Its context is the value of the section, or the outer context.
    fn section(&mut self, body: &'a BlockBody, value: ValueOrigin<'a>) {
        self.guarded(value.clone(), |walk| {
            walk.contexts.push(ContextLevel {
                value,
                section: true,
            });
            walk.body(body);
            walk.contexts.pop();
        });
    }

    fn inner(
        &mut self,
        body: &'a BlockBody,
        context: ValueOrigin<'a>,
        params: [ValueOrigin<'a>; 2],
    ) {
        let any = body.params > 0;
        if any {
            self.params.push(params);
        }
        if context == self.context() {
            self.body(body)
        } else {
            self.within(context, |walk| walk.body(body))
        }
        if any {
            self.params.pop();
        }
    }

    fn partial(&mut self, partial: &'a Partial) {
        let context = match &partial.context {
            Some(expr) => self.argument(expr),
            None => self.context(),
        };
        for (_, expr) in &partial.named {
            self.whole_argument(expr);
        }
        let defined = self.defined.len();
        if let Some(body) = &partial.body {
            self.body(body);
            for node in &body.nodes {
                if let Node::Inline(inline) = node {
                    self.define(inline);
                }
            }
        }
        match &partial.name {
            PartialName::Fixed(name, source) => self.fixed(name, *source, context),
            PartialName::Block => {}
            PartialName::Dynamic(name) => {
                self.argument(name);
                for source in 0..self.compiled.sources.len() {
                    self.visit(source, context.clone());
                }
            }
        }
        self.undefine(defined);
    }

    fn fixed(&mut self, name: &'a str, source: Option<usize>, context: ValueOrigin<'a>) {
        let inline = self.inlines.get(name).and_then(|all| all.last());
        if let Some((source, body)) = inline.copied() {
            self.inline(source, body, context);
            return;
        }
        match source {
            Some(source) => self.visit(source, context),
            None => {
                self.templates.insert(name);
            }
        }
    }

    fn inline(&mut self, source: usize, body: &'a BlockBody, context: ValueOrigin<'a>) {
        if self.walking.contains(&(&raw const *body)) || !self.may_walk() {
            return;
        }
        self.walking.push(&raw const *body);
        let outer = std::mem::replace(&mut self.source, source);
        self.within(context, |walk| walk.body(body));
        self.source = outer;
        self.walking.pop();
    }
}

fn level(value: ValueOrigin<'_>) -> ContextLevel<'_> {
    ContextLevel {
        value,
        section: false,
    }
}

/// Resolves data such as `@name.rest`.
fn data<'a>(parts: KeyPath<'a>) -> ValueOrigin<'a> {
    match parts.split_first() {
        Some((&"@root", rest)) => ValueOrigin::At(rest.to_vec()),
        Some((&("@index" | "@key" | "@first" | "@last" | "@partial-block"), _)) | None => {
            ValueOrigin::Inside
        }
        Some(_) => ValueOrigin::At(parts),
    }
}

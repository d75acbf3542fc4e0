//! Skips nodes that depend on a pending call. Variables that their helpers could set become
//! placeholders.

use quillet_core::Value;

use super::Evaluator;
use crate::StopReason;
use crate::format::handlebars::HandlebarsTemplate;
use crate::format::handlebars::ast::{
    BlockBody, BranchArm, CallExpr, CallKind, Expr, Node, PartialName,
};
use crate::format::handlebars::helper::{Callee, Effect};

/// Effects of nodes on the following text.
#[derive(Default)]
struct SideEffects<'t> {
    /// Variables that the nodes set.
    sets: Vec<&'t str>,
    /// Whether the nodes may set any other variable.
    unknown: bool,
    /// Whether the nodes render partials.
    elsewhere: bool,
}

impl Evaluator<'_, '_> {
    /// Skips a node. `holes` is the number of placeholders at its start.
    #[cold]
    pub(super) fn skip(&mut self, node: &Node, holes: usize) -> Result<(), StopReason> {
        if self.pass.is_stopped() {
            return Err(StopReason::Suspended);
        }
        self.pass.skip_since(holes);
        self.read_hole.set(false);
        let mut effects = SideEffects::default();
        effects.node(node);
        if effects.unknown || effects.elsewhere && self.compiled.has_effects() {
            return Err(self.pass.stop());
        }
        for name in effects.sets {
            self.pass.steps(self.assigned.len() + 1)?;
            match self.assigned.iter_mut().find(|(known, _)| **known == *name) {
                Some((_, known)) => *known = None,
                None => self.assigned.push((name.into(), None)),
            }
        }
        Ok(())
    }
}

impl HandlebarsTemplate {
    /// Whether a partial may set a variable.
    fn has_effects(&self) -> bool {
        *self.effects.get_or_init(|| {
            self.sources.iter().any(|source| {
                let mut effects = SideEffects::default();
                effects.body(&source.body);
                effects.unknown || !effects.sets.is_empty()
            })
        })
    }
}

impl<'t> SideEffects<'t> {
    fn body(&mut self, body: &'t BlockBody) {
        body.nodes.iter().for_each(|node| self.node(node));
    }

    fn node(&mut self, node: &'t Node) {
        match node {
            Node::Text(_) | Node::Marked(_) | Node::Comment(_) => {}
            Node::Print(print) => self.call(&print.call),
            Node::Block(block) => {
                for BranchArm { call, body, .. } in &block.arms {
                    self.call(call);
                    body.iter().for_each(|body| self.body(body));
                }
                block.otherwise.iter().for_each(|body| self.body(body));
            }
            Node::Partial(partial) => {
                self.elsewhere = true;
                if let PartialName::Dynamic(name) = &partial.name {
                    self.expr(name);
                }
                partial.context.iter().for_each(|expr| self.expr(expr));
                partial.named.iter().for_each(|(_, expr)| self.expr(expr));
                partial.body.iter().for_each(|body| self.body(body));
            }
            Node::Inline(inline) => {
                self.expr(&inline.name);
                self.body(&inline.body);
            }
        }
    }

    fn call(&mut self, call: &'t CallExpr) {
        call.positional.iter().for_each(|expr| self.expr(expr));
        call.named.iter().for_each(|(_, expr)| self.expr(expr));
        let CallKind::Helper(Callee::Native(helper)) = &call.kind else {
            return;
        };
        match (helper.effect, variable(call)) {
            (Effect::None, _) => {}
            (Effect::Sets, Some(name)) => self.sets.push(name),
            (Effect::Sets, None) | (Effect::Unknown, _) => self.unknown = true,
        }
    }

    fn expr(&mut self, expr: &'t Expr) {
        if let Expr::Call(call) = expr {
            self.call(call);
        }
    }
}

/// Returns the variable that a `set` helper sets, if its name is constant.
fn variable(call: &CallExpr) -> Option<&str> {
    let mut named = call.named.iter();
    let named = named.find(|(name, _)| &**name == "name");
    match named.map(|(_, expr)| expr).or(call.positional.first())? {
        Expr::Literal(Value::Str(name)) => Some(name),
        _ => None,
    }
}

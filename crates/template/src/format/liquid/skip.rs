//! Skips tags that depend on a pending call. A scan of the syntax tree finds the possible effects
//! of the tags.

use std::sync::Arc;

use super::LiquidTemplate;
use super::ast::{Body, ExprKind, Node, NodeKind};
use super::eval::Evaluator;
use super::scope::{Interrupt, PendingEffects};
use super::value::Value;
use crate::StopReason;

/// Effects of tags on the following text.
#[derive(Default)]
struct SideEffects<'t> {
    /// Names that the tags set.
    names: Vec<&'t Arc<str>>,
    counters: Vec<&'t Arc<str>>,
    lost: PendingEffects,
    /// Whether the tags include a template that is known only at render time.
    unknown: bool,
    /// Whether the tags can leave the enclosing loop.
    leaves: bool,
    /// Scanned sources. The flag tells whether a source was scanned inside a loop.
    seen: Vec<(usize, bool)>,
    nodes: usize,
}

impl<'t> Evaluator<'t, '_> {
    /// Skips a tag. `holes` is the number of placeholders at its start.
    #[cold]
    pub(super) fn skip(&mut self, node: &'t Node, holes: usize) -> Result<(), StopReason> {
        // The pass was stopped here, so the tag cannot be skipped.
        if self.pass.is_stopped() {
            return Err(StopReason::Suspended);
        }
        self.pass.skip_since(holes);
        let mut effects = SideEffects::default();
        effects.node(self.compiled, node, false);
        self.invalidate(&effects)?;
        // It is unknown whether the loop continues.
        if effects.leaves {
            self.world.interrupts.push(Interrupt::Lost);
        }
        Ok(())
    }

    /// Skips the rest of a loop for which the number of iterations is unknown.
    #[cold]
    pub(super) fn invalidate_loop(&mut self, body: &'t Body) -> Result<(), StopReason> {
        let mut effects = SideEffects::default();
        effects.body(self.compiled, body, true);
        self.invalidate(&effects)
    }

    /// Replaces everything that could have been set by placeholders.
    fn invalidate(&mut self, effects: &SideEffects<'_>) -> Result<(), StopReason> {
        // The scan of the syntax tree counts as steps.
        self.pass.steps(effects.nodes)?;
        // An included template that is unknown could set any name.
        if effects.unknown {
            return Err(self.pass.stop());
        }
        for name in &effects.names {
            self.world.assign(name, Value::Hole);
        }
        for name in &effects.counters {
            self.world.counters.insert(Arc::clone(name), None);
        }
        let lost = &mut self.world.lost;
        lost.cycles |= effects.lost.cycles;
        lost.ends |= effects.lost.ends;
        lost.changed |= effects.lost.changed;
        Ok(())
    }
}

impl<'t> SideEffects<'t> {
    fn body(&mut self, compiled: &'t LiquidTemplate, body: &'t Body, in_loop: bool) {
        for node in body {
            self.node(compiled, node, in_loop);
        }
    }

    fn node(&mut self, compiled: &'t LiquidTemplate, node: &'t Node, in_loop: bool) {
        self.nodes += 1;
        match &node.kind {
            NodeKind::Assign(name, _) | NodeKind::Capture(name, _) => self.names.push(name),
            NodeKind::Increment(name) | NodeKind::Decrement(name) => self.counters.push(name),
            NodeKind::Cycle(_) => self.lost.cycles = true,
            NodeKind::IfChanged(_) => self.lost.changed = true,
            // `offset: continue` depends on the end position of this loop.
            NodeKind::For(_) => self.lost.ends = true,
            NodeKind::Break | NodeKind::Continue => self.leaves |= !in_loop,
            NodeKind::Include(partial) => match &partial.template.kind {
                ExprKind::Text(name) => self.source(compiled, name, in_loop),
                // The name is computed, so the template is unknown.
                _ => self.unknown = true,
            },
            // `render` has separate state, so it has no effects here.
            _ => {}
        }
        if let NodeKind::For(looped) = &node.kind {
            self.body(compiled, &looped.body, true);
            if let Some(body) = &looped.otherwise {
                self.body(compiled, body, in_loop);
            }
            return;
        }
        for body in node.bodies() {
            self.body(compiled, body, in_loop);
        }
    }

    fn source(&mut self, compiled: &'t LiquidTemplate, name: &str, in_loop: bool) {
        // A missing template has no effects. The error is reported when the tag is evaluated.
        let Some(index) = compiled.index(name) else {
            return;
        };
        // A recursive include is scanned only once.
        if self.seen.contains(&(index, in_loop)) {
            return;
        }
        self.seen.push((index, in_loop));
        if let Some(body) = compiled.body(index) {
            self.body(compiled, body, in_loop);
        }
    }
}

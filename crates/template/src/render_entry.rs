//! Input of a render, and the state of its entries.

use std::sync::OnceLock;

use quillet_core::Map;

use crate::CompiledTemplate;
use crate::buffer;
use crate::call::FunctionHost;
use crate::limits::RenderLimits;
use crate::pass::{PassCall, PassCalls};
use crate::segment::Origins;

/// Input of a render.
#[expect(
    missing_debug_implementations,
    reason = "a bundle of borrowed trait objects"
)]
pub struct Render<'a> {
    /// The compiled template.
    pub template: &'a dyn CompiledTemplate,
    /// Names of the sources to render, in order.
    pub entries: &'a [&'a str],
    /// The root object of the variables.
    pub variables: &'a Map,
    /// The late-bound functions.
    pub functions: &'a dyn FunctionHost,
    /// Limits of the render.
    pub limits: &'a RenderLimits,
}

/// State of an entry during a render.
#[derive(Default)]
pub(crate) struct RenderEntry {
    pub(crate) out: Vec<u8>,
    pub(crate) calls: PassCalls,
    /// Calls that completed since the last evaluation.
    pub(crate) arrived: Vec<usize>,
    pub(crate) passes: usize,
    pub(crate) done: bool,
    /// Seed of random values, set when a template first uses it.
    pub(crate) seed: OnceLock<u64>,
    /// Origins of the segments, if recorded.
    pub(crate) origins: Option<Origins>,
}

impl RenderEntry {
    pub(crate) fn new(noted: bool) -> Self {
        RenderEntry {
            out: buffer::take(),
            origins: noted.then(Origins::default),
            ..RenderEntry::default()
        }
    }

    /// Whether a call that the last evaluation needed has completed.
    pub(crate) fn is_wanted(&self) -> bool {
        let calls = &self.calls.all;
        let looked = |call: &PassCall| call.looked || matches!(call.result, Some(Err(_)));
        let looked = |call: &usize| calls.get(*call).is_some_and(looked);
        self.arrived.iter().any(looked)
    }

    /// Whether another evaluation would make progress.
    pub(crate) fn is_ready(&self) -> bool {
        let ended = |call: &PassCall| call.result.is_some();
        !self.done && (self.is_wanted() || self.calls.all.iter().all(ended))
    }

    /// Makes one of the completed calls the parent of the calls that are registered next. Needed
    /// calls come first, and among these the call with the shortest chain.
    pub(crate) fn take_arrived(&mut self) {
        let calls = &self.calls.all;
        let chain = |call: &usize| calls.get(*call).map(|call| (!call.looked, call.depth));
        self.calls.cause = self.arrived.drain(..).min_by_key(chain);
    }
}

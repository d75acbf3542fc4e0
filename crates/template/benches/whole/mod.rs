//! Runs a complete render, as a server does.

use futures_util::FutureExt;
use quillet_core::Map;
use quillet_template::{CompiledTemplate, NoFunctions, Render, RenderLimits, render};

pub(crate) fn execute(template: &dyn CompiledTemplate, variables: &Map) -> Vec<u8> {
    let rendered = render(&Render {
        template,
        entries: &["t"],
        variables,
        functions: &NoFunctions,
        limits: &RenderLimits::default(),
    })
    .now_or_never();
    let rendered = rendered.expect("there is nothing to wait for");
    rendered.expect("it renders").into_bytes().swap_remove(0)
}

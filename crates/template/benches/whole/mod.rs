//! One whole render, as a server makes it.

use futures_util::FutureExt;
use quillet_core::Map;
use quillet_template::{Limits, NoFunctions, Render, Template, render};

pub(crate) fn execute(template: &dyn Template, variables: &Map) -> Vec<u8> {
    let rendered = render(&Render {
        template,
        entries: &["t"],
        variables,
        functions: &NoFunctions,
        limits: &Limits::default(),
    })
    .now_or_never();
    let rendered = rendered.expect("there is nothing to wait for");
    rendered.expect("it renders").into_bytes().swap_remove(0)
}

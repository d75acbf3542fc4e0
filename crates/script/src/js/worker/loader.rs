//! Modules inside of JavaScript. Files are found, checked and read by the run.

use std::rc::Rc;

use rquickjs::{Ctx, Function, Object, Runtime};

use super::shell::Shell;

pub(super) fn attach(_runtime: &Runtime, _shell: &Rc<Shell>) {}

pub(super) fn install<'js>(
    _ctx: &Ctx<'js>,
    _shell: &Rc<Shell>,
    _host: &Object<'js>,
) -> rquickjs::Result<()> {
    Ok(())
}

pub(super) fn require<'js>(
    _shell: &Shell,
    ctx: &Ctx<'js>,
    _file: &str,
) -> rquickjs::Result<Function<'js>> {
    Function::new(ctx.clone(), || ())
}

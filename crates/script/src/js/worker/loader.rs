//! Loads modules in JavaScript. The run finds, checks and reads the files; this module compiles
//! them to functions and ES modules. As in Node, an ES module imports CommonJS through a small
//! generated module with the export names.

use std::rc::Rc;

use rquickjs::loader::{ImportAttributes, Loader, Resolver};
use rquickjs::module::Declared;
use rquickjs::{Array, Ctx, Function, IntoJs, Module, Object, Promise, Runtime, Value as Js};

use super::shell::WorkerShell;
use super::{commonjs, engine, failure};
use crate::js::error::{JsError, JsErrorKind};
use crate::js::protocol::{HostReply, HostRequest, ImportRequest, ModuleKind, ResolvedModule};

/// Head of the CommonJS wrapper function.
const HEAD: &str = "(function(exports,require,module,__filename,__dirname,internal){";

/// Installs the resolver and loader of `import`.
pub(super) fn attach(runtime: &Runtime, shell: &Rc<WorkerShell>) {
    runtime.set_loader(
        ModuleFinder(Rc::clone(shell)),
        ModuleReader(Rc::clone(shell)),
    );
}

/// Installs the host functions of `require`.
pub(super) fn install<'js>(
    ctx: &Ctx<'js>,
    shell: &Rc<WorkerShell>,
    host: &Object<'js>,
) -> rquickjs::Result<()> {
    let of = Rc::clone(shell);
    let find =
        move |ctx: Ctx<'js>, from: String, name: String| resolve(&of, &ctx, &from, &name, true);
    host.set("resolve", Function::new(ctx.clone(), find)?)?;
    let of = Rc::clone(shell);
    let read = move |ctx: Ctx<'js>, path: String| required(&of, &ctx, &path);
    host.set("load", Function::new(ctx.clone(), read)?)?;
    let of = Rc::clone(shell);
    let wanted = move |ctx: Ctx<'js>, module: u64| wanted(&of, &ctx, module);
    host.set("wanted", Function::new(ctx.clone(), wanted)?)?;
    let import = |ctx: Ctx<'js>, path: String| -> rquickjs::Result<Promise<'js>> {
        Module::import(&ctx, path)
    };
    host.set("import", Function::new(ctx.clone(), import)?)
}

/// Resolves a module name to a file. `from` is the importing file or the name of a definition.
fn resolve(
    shell: &WorkerShell,
    ctx: &Ctx<'_>,
    from: &str,
    name: &str,
    required: bool,
) -> rquickjs::Result<String> {
    let from = from
        // The virtual file name of a function ends with the id of the function, which is removed
        // here.
        .rsplit_once(failure::DEFINITION)
        .map_or(from, |(file, _)| file);
    let request = ImportRequest {
        specifier: name.to_owned(),
        from: from.to_owned(),
        required,
    };
    Ok(request_module(shell, ctx, HostRequest::Resolve(request))?.path)
}

fn wanted(shell: &WorkerShell, ctx: &Ctx<'_>, module: u64) -> rquickjs::Result<String> {
    let request = shell.modules.borrow().get(&module).cloned();
    let Some(request) = request else {
        return Err(failure::throw(
            ctx,
            &JsError::new(JsErrorKind::Module, "this module was never imported"),
        ));
    };
    Ok(request_module(shell, ctx, HostRequest::Resolve(request))?.path)
}

fn request_module(
    shell: &WorkerShell,
    ctx: &Ctx<'_>,
    ask: HostRequest,
) -> rquickjs::Result<ResolvedModule> {
    match shell.ask(shell.current(), ask) {
        HostReply::Resolved(Ok(resolved)) => Ok(resolved),
        HostReply::Resolved(Err(error)) => Err(failure::throw(ctx, &error)),
        _ => Err(failure::throw(
            ctx,
            &JsError::new(JsErrorKind::Killed, "JavaScript was stopped"),
        )),
    }
}

fn read(shell: &WorkerShell, ctx: &Ctx<'_>, path: &str) -> rquickjs::Result<ResolvedModule> {
    let Some(name) = path.strip_prefix("node:") else {
        return request_module(shell, ctx, HostRequest::Load(path.to_owned()));
    };
    Ok(ResolvedModule {
        path: path.to_owned(),
        kind: ModuleKind::Node,
        text: shim(name).to_owned(),
    })
}

/// Returns the built-in source of a Node module.
fn shim(name: &str) -> &'static str {
    match name {
        "assert" | "assert/strict" => include_str!("../node/assert.js"),
        "buffer" => include_str!("../node/buffer.js"),
        "events" => include_str!("../node/events.js"),
        "fs" => include_str!("../node/fs.js"),
        "fs/promises" => include_str!("../node/fs_promises.js"),
        "path" | "path/posix" => include_str!("../node/path.js"),
        "querystring" => include_str!("../node/querystring.js"),
        "timers" => include_str!("../node/timers.js"),
        "url" => include_str!("../node/url.js"),
        "util" => include_str!("../node/util.js"),
        "internal/encoding" => include_str!("../node/encoding.js"),
        "internal/abort" => include_str!("../node/abort.js"),
        "internal/fetch" => include_str!("../node/fetch.js"),
        _ => "",
    }
}

/// Returns `[kind, payload]` for `require`: 0 for an ES module, 1 for the function of a CommonJS
/// module, 2 for data.
fn required<'js>(shell: &WorkerShell, ctx: &Ctx<'js>, path: &str) -> rquickjs::Result<Array<'js>> {
    let module = read(shell, ctx, path)?;
    let (kind, payload): (u8, Js<'js>) = match module.kind {
        ModuleKind::Es => (0, Js::new_undefined(ctx.clone())),
        ModuleKind::Json => (2, json(ctx, &module)?),
        ModuleKind::Node | ModuleKind::CommonJs => (1, common(ctx, &module)?.into_value()),
        ModuleKind::Either => match either(ctx, &module)? {
            Some(function) => (1, function.into_value()),
            None => (0, Js::new_undefined(ctx.clone())),
        },
    };
    let pair = Array::new(ctx.clone())?;
    pair.set(0, kind)?;
    pair.set(1, payload)?;
    Ok(pair)
}

fn json<'js>(ctx: &Ctx<'js>, module: &ResolvedModule) -> rquickjs::Result<Js<'js>> {
    // `JSON.parse` rejects a byte order mark, which some editors write.
    let text = module.text.trim_start_matches('\u{feff}');
    ctx.json_parse(text).map_err(|error| {
        let thrown = ctx.catch();
        let words = thrown
            .as_exception()
            .and_then(rquickjs::Exception::message)
            .unwrap_or_default();
        let message = format!("module {} is invalid JSON: {words}", module.path);
        drop(error);
        failure::throw(ctx, &JsError::new(JsErrorKind::Module, message))
    })
}

fn common<'js>(ctx: &Ctx<'js>, module: &ResolvedModule) -> rquickjs::Result<Function<'js>> {
    let text = module.text.trim_start_matches('\u{feff}');
    // A `#!` line is valid only at the start of a file, but here the wrapper comes first.
    let comment = if text.starts_with("#!") { "//" } else { "" };
    engine::compile(ctx, &format!("{HEAD}{comment}{text}\n}})"), &module.path)
}

/// Compiles a module of unknown format as CommonJS. Returns `None` if it must be an ES module.
fn either<'js>(ctx: &Ctx<'js>, module: &ResolvedModule) -> rquickjs::Result<Option<Function<'js>>> {
    match common(ctx, module) {
        Ok(function) => Ok(Some(function)),
        Err(rquickjs::Error::Exception) => {
            let thrown = ctx.catch();
            // `import` and `export` are syntax errors inside a function, which distinguishes the
            // two formats.
            let is_syntax = thrown.as_object().is_some_and(failure::is_syntax);
            if is_syntax {
                Ok(None)
            } else {
                Err(ctx.throw(thrown))
            }
        }
        Err(error) => Err(error),
    }
}

struct ModuleFinder(Rc<WorkerShell>);

impl Resolver for ModuleFinder {
    fn resolve<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        base: &str,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<String> {
        resolve(&self.0, ctx, base, name, false)
    }
}

struct ModuleReader(Rc<WorkerShell>);

impl Loader for ModuleReader {
    fn load<'js>(
        &mut self,
        ctx: &Ctx<'js>,
        name: &str,
        _: Option<ImportAttributes<'js>>,
    ) -> rquickjs::Result<Module<'js, Declared>> {
        let module = read(&self.0, ctx, name)?;
        let is_es = match module.kind {
            ModuleKind::Es => true,
            ModuleKind::Either => either(ctx, &module)?.is_none(),
            ModuleKind::Node | ModuleKind::CommonJs | ModuleKind::Json => false,
        };
        if is_es {
            return declare(ctx, &module);
        }
        bridge(&self.0, ctx, &module)
    }
}

fn declare<'js>(
    ctx: &Ctx<'js>,
    module: &ResolvedModule,
) -> rquickjs::Result<Module<'js, Declared>> {
    let declared = Module::declare(ctx.clone(), module.path.clone(), module.text.clone());
    let declared = declared.map_err(|error| engine::syntax(ctx, error))?;
    let meta = declared.meta()?;
    let folder = module
        .path
        .rsplit_once('/')
        .map_or("", |(folder, _)| folder);
    meta.set("url", format!("file://{}", module.path))?;
    meta.set("filename", &*module.path)?;
    meta.set("dirname", folder)?;
    Ok(declared)
}

/// Creates an ES module that wraps a module of another format.
fn bridge<'js>(
    shell: &WorkerShell,
    ctx: &Ctx<'js>,
    module: &ResolvedModule,
) -> rquickjs::Result<Module<'js, Declared>> {
    let names = match module.kind {
        // In ES modules, JSON has only a default export.
        ModuleKind::Json => Vec::new(),
        _ => commonjs::names(&module.text),
    };
    let mut text = String::from("const m = import.meta.load();\nexport default m;\n");
    for (index, name) in names.iter().enumerate() {
        text.push_str(&format!(
            "const v{index} = m?.[\"{name}\"];\nexport {{ v{index} as {name} }};\n"
        ));
    }
    let declared = Module::declare(ctx.clone(), module.path.clone(), text)?;
    let load = shell.api(ctx, "load")?;
    let path = module.path.clone().into_js(ctx)?;
    let load: Function = shell.api(ctx, "bound")?.call((load, path))?;
    declared.meta()?.set("load", load)?;
    Ok(declared)
}

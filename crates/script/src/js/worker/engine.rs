//! The QuickJS engine: sets its limits, evaluates code, and runs jobs until none is pending.

use std::rc::Rc;
use std::sync::Arc;

use rquickjs::context::EvalOptions;
use rquickjs::{Array, Context, Ctx, Function, Object, Persistent, Runtime};

use super::shell::{RunningJob, TimeExceeded, WorkerShell};
use super::{convert, failure, host_functions, loader};
use crate::js::error::{JsError, JsErrorKind};
use crate::js::id::{FunctionId, ModuleId};
use crate::js::port::{Control, Port};
use crate::js::protocol::{
    ExportKind, FixedEnvironment, FromWorker, JobResult, ModuleExport, NormalizedSource, ToWorker,
    WorkerJob, WorkerLimits,
};
use crate::js::runtime::{JsTarget, JsValueRef};
use crate::js::signature;

pub(super) struct JsEngine {
    pub(super) shell: Rc<WorkerShell>,
    context: Context,
    runtime: Runtime,
}

impl Drop for JsEngine {
    fn drop(&mut self) {
        // Persistent values must be dropped before the runtime; QuickJS aborts otherwise.
        self.shell.api.borrow_mut().take();
        self.shell.rejected.take();
    }
}

impl JsEngine {
    /// Creates an engine with the standard library and the prelude only.
    ///
    /// # Errors
    /// Returns the port if the memory limit is too small to start.
    pub(super) fn new(
        bounds: &WorkerLimits,
        port: Box<dyn Port>,
        control: Arc<Control>,
    ) -> Result<Self, Box<dyn Port>> {
        let shell = Rc::new(WorkerShell::new(bounds.clone(), port, control));
        match JsEngine::start(&shell) {
            Ok((runtime, context)) => Ok(JsEngine {
                shell,
                context,
                runtime,
            }),
            Err(_) => {
                shell.api.borrow_mut().take();
                // The failed runtime has dropped its callbacks, so normally nothing else shares the
                // shell. If it is still shared, a port that does nothing is returned.
                Rc::try_unwrap(shell).map_or_else(
                    |_| Err(Box::new(NoModules) as Box<dyn Port>),
                    |shell| Err(shell.into_port()),
                )
            }
        }
    }

    fn start(shell: &Rc<WorkerShell>) -> rquickjs::Result<(Runtime, Context)> {
        let runtime = Runtime::new()?;
        runtime.set_memory_limit(shell.bounds.memory);
        runtime.set_max_stack_size(shell.bounds.stack);
        let of = Rc::clone(shell);
        runtime.set_interrupt_handler(Some(Box::new(move || of.clock.check())));
        let of = Rc::clone(shell);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            move |ctx, promise, reason, is_handled| {
                of.reject(&ctx, promise, &reason, is_handled);
            },
        )));
        loader::attach(&runtime, shell);
        let context = Context::full(&runtime)?;
        context.with(|ctx| {
            let host = host_functions::install(&ctx, shell)?;
            *shell.api.borrow_mut() = Some(Persistent::save(&ctx, prelude(&ctx, host)?));
            if let Some(fixed) = shell.bounds.fixed {
                fix(&ctx, fixed)?;
            }
            rquickjs::Result::Ok(())
        })?;
        Ok((runtime, context))
    }

    /// Returns whether a limit was exceeded. The state cannot be trusted afterwards.
    pub(super) fn is_broken(&self) -> bool {
        self.shell.clock.over().is_some()
    }

    pub(super) fn handle(&self, message: ToWorker) {
        match message {
            ToWorker::Define(FunctionId(id), source) => {
                self.shell.definitions.borrow_mut().insert(id, source);
            }
            ToWorker::Module(ModuleId(id), request) => {
                self.shell.modules.borrow_mut().insert(id, request);
                self.shell.unloaded.borrow_mut().push(id);
            }
            ToWorker::Start { piece, work } => self.begin(piece, work),
            ToWorker::Settled { question, result } => self.settle(question, result),
            ToWorker::Cancel { piece } => self.cancel(piece),
            // `WorkerShell::ask` receives replies itself. A reply that arrives here belongs to a
            // cancelled job.
            ToWorker::Answer { .. } => {}
        }
    }

    fn begin(&self, piece: u64, work: WorkerJob) {
        let arguments = match &work {
            WorkerJob::Call { arguments, .. } => Some(arguments.clone()),
            _ => None,
        };
        let begun = RunningJob {
            arguments,
            ..RunningJob::default()
        };
        self.shell.pieces.borrow_mut().insert(piece, begun);
        let unloaded = self.shell.unloaded.take();
        // After a restart, previously imported modules are loaded again before code can use them.
        if !unloaded.is_empty() && !matches!(work, WorkerJob::Import { .. }) {
            self.turn(piece, |ctx| self.shell.api(ctx, "again")?.call((unloaded,)));
        }
        self.turn(piece, |ctx| self.work(ctx, piece, work));
    }

    fn work(&self, ctx: &Ctx<'_>, piece: u64, work: WorkerJob) -> rquickjs::Result<()> {
        let shell = &self.shell;
        match work {
            WorkerJob::Evaluate { code } => {
                let code = expression(ctx, &code)?;
                shell.api(ctx, "evaluate")?.call((piece, code))
            }
            WorkerJob::Call { target, arguments } => call(shell, ctx, piece, &target, &arguments),
            WorkerJob::Check { function } => {
                shell.api(ctx, "use")?.call::<_, ()>((function.0,))?;
                shell.done(piece, Ok(JobResult::Value(JsValueRef::Undefined)));
                Ok(())
            }
            WorkerJob::Import { module } => shell.api(ctx, "import")?.call((piece, module.0)),
        }
    }

    fn settle(&self, question: u64, result: Result<JsValueRef, JsError>) {
        let Some(piece) = self.shell.take_job_of(question) else {
            return;
        };
        self.turn(piece, |ctx| {
            // The cached objects of the job are read again, because the run may have changed them.
            self.shell.api(ctx, "renew")?.call::<_, ()>((piece,))?;
            let settle = self.shell.api(ctx, "settle")?;
            match result {
                Ok(value) => settle.call((
                    question,
                    true,
                    convert::passed_to_js(&self.shell, ctx, &value)?,
                )),
                Err(error) => settle.call((
                    question,
                    false,
                    failure::exception(ctx, &error)?.into_object(),
                )),
            }
        });
    }

    fn cancel(&self, piece: u64) {
        if self.shell.forget(piece) {
            self.turn(piece, |ctx| self.shell.api(ctx, "close")?.call((piece,)));
        }
    }

    /// Runs all timers whose time has come.
    pub(super) fn fire(&self) {
        for timer in self.shell.due() {
            let owner = self.context.with(|ctx| {
                self.shell
                    .api(&ctx, "owner")?
                    .call::<_, Option<u64>>((timer,))
            });
            match owner {
                Ok(Some(piece)) => {
                    self.turn(piece, |ctx| self.shell.api(ctx, "fire")?.call((timer,)))
                }
                _ => self.shell.untimer(timer),
            }
        }
    }

    /// Runs JavaScript for a job until QuickJS has no pending jobs.
    fn turn(&self, piece: u64, action: impl FnOnce(&Ctx<'_>) -> rquickjs::Result<()>) {
        self.shell.begin(piece);
        let failed = self.context.with(|ctx| {
            let result = action(&ctx);
            result
                .err()
                .map(|error| failure::caught(&self.shell, &ctx, &error))
        });
        if let Some(error) = failed {
            self.fail(piece, error);
        }
        self.jobs();
        self.shell.end(piece);
        if let Some(why) = self.shell.clock.over() {
            self.shell.done(piece, Err(failure::over(why)));
            self.shell.report_finished();
        }
    }

    fn fail(&self, piece: u64, error: JsError) {
        // Code can catch an out-of-memory exception and continue, but the worker stops in any case.
        if error.kind == JsErrorKind::Memory {
            self.shell.clock.stop(TimeExceeded::Memory);
        }
        self.shell.done(piece, Err(error));
        let closed = self
            .context
            .with(|ctx| self.shell.api(&ctx, "close")?.call::<_, ()>((piece,)));
        // If even closing the job throws, the state of the prelude is broken and the worker must
        // end.
        if closed.is_err() {
            self.shell.clock.stop(TimeExceeded::Ended);
        }
    }

    fn jobs(&self) {
        while !self.shell.clock.check() {
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => return,
                // The exception is returned by the promise of the job. Here it is only cleared,
                // because QuickJS otherwise keeps it pending.
                Err(error) => error.0.with(|ctx| drop(ctx.catch())),
            }
        }
    }
}

/// Installs a clock and random numbers that are the same on a replay.
fn fix(ctx: &Ctx<'_>, fixed: FixedEnvironment) -> rquickjs::Result<()> {
    let install: Function<'_> = ctx.eval(include_str!("../fixed.js"))?;
    // Milliseconds of any date, and 32-bit halves, are exactly representable as doubles.
    let began = fixed.began_ms as f64;
    // A `u64` is not exactly representable as a double, so the seed is passed in two halves.
    let halves = (fixed.seed as u32, (fixed.seed >> 32) as u32);
    install.call((began, f64::from(halves.0), f64::from(halves.1)))
}

fn prelude<'js>(ctx: &Ctx<'js>, host: Object<'js>) -> rquickjs::Result<Object<'js>> {
    let make: Function = compile(ctx, include_str!("../prelude.js"), failure::PRELUDE)?;
    make.call((host,))
}

/// A port without a run.
struct NoModules;

impl Port for NoModules {
    fn send(&self, _: FromWorker) {}

    fn receive(&self, _: Option<std::time::Instant>) -> super::ReceiveResult {
        super::ReceiveResult::Closed
    }
}

fn call(
    shell: &WorkerShell,
    ctx: &Ctx<'_>,
    piece: u64,
    target: &JsTarget,
    arguments: &[JsValueRef],
) -> rquickjs::Result<()> {
    let given = Array::new(ctx.clone())?;
    for (index, argument) in arguments.iter().enumerate() {
        given.set(index, convert::passed_to_js(shell, ctx, argument)?)?;
    }
    let call = shell.api(ctx, "call")?;
    match target {
        JsTarget::Function(FunctionId(id)) => call.call((piece, 3, *id, given)),
        JsTarget::Export(ModuleId(module), path) => {
            let place = Array::new(ctx.clone())?;
            place.set(0, *module)?;
            place.set(1, path.clone())?;
            call.call((piece, 5, place, given))
        }
    }
}

/// Converts the exports of a module.
pub(super) fn exports(
    shell: &WorkerShell,
    found: &Array<'_>,
) -> rquickjs::Result<Vec<ModuleExport>> {
    found
        .iter::<Array>()
        .map(|entry| export(shell, &entry?))
        .collect()
}

fn export(shell: &WorkerShell, entry: &Array<'_>) -> rquickjs::Result<ModuleExport> {
    let kind: String = entry.get(1)?;
    let kind = match &*kind {
        "class" => ExportKind::Class,
        "function" => {
            let text: String = entry.get(2)?;
            ExportKind::Function(
                signature::signature(&text)
                    .map(|head| head.parameters)
                    .unwrap_or_default(),
            )
        }
        _ => {
            let value = entry.get(2)?;
            let passed = convert::from_js(shell, &value);
            // An export that cannot be passed, such as a cyclic object, still has its name, with
            // the value `undefined`.
            ExportKind::Value(passed.unwrap_or_else(|error| {
                let _ = failure::caught(shell, entry.ctx(), &error);
                JsValueRef::Undefined
            }))
        }
    };
    Ok(ModuleExport {
        name: entry.get(0)?,
        kind,
    })
}

/// Compiles code in sloppy mode, which scripts rely on, and returns its value.
pub(super) fn compile<'js, T: rquickjs::FromJs<'js>>(
    ctx: &Ctx<'js>,
    code: &str,
    file: &str,
) -> rquickjs::Result<T> {
    let mut options = EvalOptions::default();
    // rquickjs uses strict mode by default, but scripts need sloppy mode.
    options.strict = false;
    // rquickjs would panic on a NUL in the file name.
    options.filename = Some(file.replace('\0', "\u{fffd}"));
    ctx.eval_with_options(code, options)
        .map_err(|error| syntax(ctx, error))
}

/// Compiles an expression to a function of its names. It is `async` only if the code contains
/// `await`; a false match in a string only costs a promise.
fn expression<'js>(ctx: &Ctx<'js>, code: &str) -> rquickjs::Result<Function<'js>> {
    let code = code.trim_end().trim_end_matches(';');
    let waits = if code.contains("await") { "async " } else { "" };
    compile(
        ctx,
        // `with` resolves bare names through a proxy of the runtime, and works only in sloppy mode.
        // The line breaks end a trailing `//` comment.
        &format!("({waits}function(){{with(arguments[0]){{return (\n{code}\n)}}}})"),
        failure::EXPRESSION,
    )
}

/// Compiles a definition to a function.
pub(super) fn define<'js>(
    shell: &WorkerShell,
    ctx: &Ctx<'js>,
    id: FunctionId,
) -> rquickjs::Result<Function<'js>> {
    let source = shell.definitions.borrow().get(&id.0).cloned();
    let Some(NormalizedSource {
        definition,
        keyword,
    }) = source
    else {
        return Err(failure::throw(
            ctx,
            &JsError::thrown(
                "the function is no longer available: the JavaScript that created it \
            was stopped",
            ),
        ));
    };
    let mut code = definition.code.clone();
    if let Some(at) = keyword {
        // Without the keyword, `name(a) { … }` is a method and not an expression.
        code.insert_str(at, "function ");
    }
    let file = format!("{}{}{}", definition.filename, failure::DEFINITION, id.0);
    let make: Function = compile(
        ctx,
        &format!("(function(require,__filename,__dirname){{return (\n{code}\n)}})"),
        &file,
    )?;
    let require: Function = shell.api(ctx, "require")?.call((file,))?;
    make.call((require, definition.filename, definition.dirname))
}

/// Marks parser exceptions as syntax errors.
pub(super) fn syntax(ctx: &Ctx<'_>, error: rquickjs::Error) -> rquickjs::Error {
    if !matches!(error, rquickjs::Error::Exception) {
        return error;
    }
    let thrown = ctx.catch();
    if let Some(object) = thrown.as_object()
        && object
            .get::<_, String>("name")
            .is_ok_and(|name| name == "SyntaxError")
    {
        failure::mark_syntax(object);
    }
    ctx.throw(thrown)
}

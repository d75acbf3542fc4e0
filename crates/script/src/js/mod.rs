//! JavaScript of a run in QuickJS, Python functions, and wasm modules.
//!
//! A run has one [`Js`], which starts a worker on first use and stops it on drop. The worker is a
//! thread or a process ([`Transport`]) that uses the same messages. JavaScript can access only what
//! a [`Runtime`] provides, within its limits.
//!
//! Most conditions and key paths do not use JavaScript; [`crate::expression`] evaluates them.

mod child;
mod error;
mod files;
mod id;
mod mailbox;
mod modules;
mod package;
mod port;
mod process;
mod protocol;
mod python;
mod runtime;
mod signature;
mod thread;
#[cfg(feature = "wasm")]
mod wasm;
#[cfg(not(feature = "wasm"))]
#[path = "wasm_disabled.rs"]
mod wasm;
mod wasm_shape;
mod wire;
#[cfg(feature = "js")]
mod worker;
#[cfg(not(feature = "js"))]
#[path = "worker_disabled.rs"]
mod worker;

use std::collections::{HashMap, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use quillet_core::BoxFuture;
use quillet_core::lock::lock;

use crate::host::Grants;
use crate::run::{DryRunReport, call_sequence};
pub use child::serve as serve_process;
pub use error::{Code, CodePosition, JsError, JsErrorKind, StackFrame};
use files::FileSandbox;
pub use id::{FunctionId, ModuleId};
use mailbox::{Inbox, StallReason, WorkerMailbox};
use modules::Modules;
use process::Process;
pub use process::{JsPool, WorkerProgram};
pub use protocol::{ExportKind, FixedEnvironment, FunctionSource, ModuleExport, WorkerLimits};
use protocol::{
    FromWorker, HostReply, HostRequest, ImportRequest, JobResult, NormalizedSource, ToWorker,
    WorkerJob,
};
pub use python::{Python, PythonFunction, PythonResult};
pub use runtime::{ConsoleLevel, HostCallResult, JsTarget, JsValueRef, LookupResult, Runtime};
pub use signature::{Parameter, Signature, signature};
use thread::Thread;
pub use wasm::Wasm;
pub use wasm_shape::{WasmBounds, WasmExport};

/// Options of one run's JavaScript.
#[derive(Clone, Debug, Default)]
pub struct JsOptions {
    /// Limits.
    pub bounds: WorkerLimits,
    /// Whether JavaScript runs in a thread or in a process.
    pub transport: Transport,
    /// Folders from which modules are loaded: the folders of the script, of its library, and of its
    /// project. Symbolic links cannot lead outside of these folders. Relative paths of `fs` start
    /// in the first folder.
    pub roots: Vec<PathBuf>,
    /// Permissions; `read` and `write` enable Node's `fs`.
    pub grants: Grants,
    /// Report of a dry run; `None` for other runs.
    pub withheld: Option<Arc<DryRunReport>>,
}

/// Where JavaScript runs.
#[derive(Clone, Debug, Default)]
pub enum Transport {
    /// In a thread of this process. A few operations of QuickJS cannot be interrupted (large
    /// `BigInt`, `join` and `sort` of large arrays). Their timeout is reported on time, but they
    /// continue in the background.
    #[default]
    Thread,
    /// In a separate process, which is killed if it exceeds its time.
    Process(WorkerProgram),
    /// In a process from a pool, started in advance.
    Pool(Arc<JsPool>),
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallResult {
    /// The returned value. If the function returns a promise, this is the value that the promise
    /// resolves to.
    pub value: JsValueRef,
    /// The arguments after the call, including changes that the function made, such as
    /// `event.stopped = true`.
    pub arguments: Vec<JsValueRef>,
}

/// A defined function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinedFunction {
    /// The function id, which calls use.
    pub id: FunctionId,
    /// The function's name and parameters.
    pub signature: Signature,
}

/// An imported module.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedModule {
    /// The module id, for `JsTarget::Export(module, names)`.
    pub module: ModuleId,
    /// Its exports.
    pub exports: Vec<ModuleExport>,
}

/// Message for a rejected promise without a handler.
const UNHANDLED: &str = "unhandled promise rejection";

/// Maximum nesting of data passed in either direction, which is the limit of the JSON reader.
const DEEPEST: u32 = quillet_core::value::MAX_DEPTH - 1;

/// Number of restarts for a job whose worker ended before it began.
const RESTARTS: usize = 2;

/// The JavaScript engine of one run. Creating it is cheap, because the thread or process is started
/// by the first job.
#[derive(Debug)]
pub struct Js {
    options: JsOptions,
    next: AtomicU64,
    state: Mutex<WorkerState>,
}

/// The worker, and the definitions that its replacement would need.
#[derive(Debug, Default)]
struct WorkerState {
    worker: Option<Arc<Worker>>,
    known: Vec<ToWorker>,
}

#[derive(Debug)]
struct Worker {
    board: Arc<WorkerMailbox>,
    link: Link,
}

#[derive(Debug)]
enum Link {
    Thread(Thread),
    Process(Process),
}

impl Worker {
    fn send(&self, message: ToWorker) {
        // The message is recorded before it is sent. Otherwise the worker could reply first and
        // seem idle while a message is pending.
        self.board.sending();
        match &self.link {
            Link::Thread(thread) => thread.send(message),
            Link::Process(process) => process.send(message),
        }
    }

    fn end(&self) {
        self.board.end();
        match &self.link {
            Link::Thread(thread) => thread.end(),
            Link::Process(process) => process.kill(),
        }
    }
}

impl Js {
    /// Creates the JavaScript engine of a run.
    #[must_use]
    pub fn new(options: JsOptions) -> Self {
        Js {
            options,
            next: AtomicU64::new(1),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, WorkerState> {
        lock(&self.state)
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Defines a function of a script, in any notation. Only its signature is parsed. The body is
    /// compiled on the first call, or by [`Js::check`].
    ///
    /// # Errors
    /// Kind `Syntax`, with the position in the code, if the signature is invalid.
    pub fn define(&self, definition: FunctionSource) -> Result<DefinedFunction, JsError> {
        let head = signature(&definition.code)?;
        // Functions that JavaScript returns have odd ids (`prelude.js`), so these ids are even.
        let id = FunctionId(self.number() * 2);
        let source = NormalizedSource {
            definition,
            keyword: head.keyword,
        };
        self.send_definition(ToWorker::Define(id, source));
        Ok(DefinedFunction {
            id,
            signature: head,
        })
    }

    fn send_definition(&self, message: ToWorker) {
        let mut state = self.state();
        if let Some(worker) = &state.worker {
            worker.send(message.clone());
        }
        // Sent under the same lock, so that a worker that starts concurrently gets each definition
        // exactly once and in order.
        state.known.push(message);
    }

    /// Compiles a function without calling it.
    ///
    /// # Errors
    /// Kind `Syntax`, with the position in the code.
    pub async fn check(&self, function: FunctionId) -> Result<(), JsError> {
        self.work(WorkerJob::Check { function }, &NoHost)
            .await
            .map(drop)
    }

    /// Evaluates an expression (`?=`). Bare names are looked up first in the [`Runtime`], then in
    /// JavaScript. `this` is the [`Runtime`], and `await` is allowed.
    ///
    /// # Errors
    /// Kind `Unknown` names an undefined name. Other kinds are described in [`JsErrorKind`].
    pub async fn evaluate(&self, code: &str, runtime: &dyn Runtime) -> Result<JsValueRef, JsError> {
        match self
            .work(
                WorkerJob::Evaluate {
                    code: code.to_owned(),
                },
                runtime,
            )
            .await?
        {
            JobResult::Value(value) | JobResult::Called(value, _) => Ok(value),
            JobResult::Exports(_) => Ok(JsValueRef::Undefined),
        }
    }

    /// Calls a function, with the [`Runtime`] as `this`.
    ///
    /// # Errors
    /// The exception that the function threw, or the limit that it exceeded.
    pub async fn call(
        &self,
        target: &JsTarget,
        arguments: Vec<JsValueRef>,
        runtime: &dyn Runtime,
    ) -> Result<CallResult, JsError> {
        let arguments = arguments
            .into_iter()
            .map(flat)
            .collect::<Result<Vec<_>, _>>()?;
        let work = WorkerJob::Call {
            target: target.clone(),
            arguments: arguments.clone(),
        };
        let mut result = CallResult {
            arguments,
            ..CallResult::default()
        };
        match self.work(work, runtime).await? {
            JobResult::Called(value, changed) => {
                result.value = value;
                for (index, argument) in changed {
                    if let Some(place) = result.arguments.get_mut(index) {
                        *place = argument;
                    }
                }
            }
            JobResult::Value(value) => result.value = value,
            JobResult::Exports(_) => {}
        }
        Ok(result)
    }

    /// Imports a module: a file relative to the script (`./lib.js`), a package, or a Node module
    /// (`path`). Omit the prefix `js:`. `from` is the script's file.
    ///
    /// # Errors
    /// Kind `Module` if it is not found, is outside the roots or has a syntax error; otherwise the
    /// exception that it threw.
    pub async fn import(
        &self,
        specifier: &str,
        from: &str,
        runtime: &dyn Runtime,
    ) -> Result<ImportedModule, JsError> {
        let module = ModuleId(self.number());
        let request = ImportRequest {
            specifier: specifier.to_owned(),
            from: from.to_owned(),
            required: false,
        };
        self.send_definition(ToWorker::Module(module, request));
        match self.work(WorkerJob::Import { module }, runtime).await? {
            JobResult::Exports(exports) => Ok(ImportedModule { module, exports }),
            JobResult::Value(_) | JobResult::Called(..) => Ok(ImportedModule {
                module,
                exports: Vec::new(),
            }),
        }
    }

    /// Returns the running worker, or starts one with all definitions.
    fn worker(&self) -> Result<Arc<Worker>, JsError> {
        let mut state = self.state();
        if let Some(worker) = &state.worker
            && !worker.board.is_closed()
        {
            return Ok(Arc::clone(worker));
        }
        let board = Arc::new(self.board());
        let link = self.link(&board).map_err(|error| {
            JsError::new(
                JsErrorKind::Killed,
                format!("cannot start JavaScript: {error}"),
            )
        })?;
        let worker = Arc::new(Worker { board, link });
        for message in &state.known {
            worker.send(message.clone());
        }
        state.worker = Some(Arc::clone(&worker));
        Ok(worker)
    }

    fn link(&self, board: &Arc<WorkerMailbox>) -> std::io::Result<Link> {
        let bounds = &self.options.bounds;
        match &self.options.transport {
            Transport::Thread => Thread::start(bounds, board).map(Link::Thread),
            Transport::Process(program) => {
                Process::start(program, bounds, board).map(Link::Process)
            }
            Transport::Pool(pool) => Process::take(pool, bounds, board).map(Link::Process),
        }
    }

    fn board(&self) -> WorkerMailbox {
        let JsOptions {
            bounds,
            roots,
            grants,
            withheld,
            ..
        } = &self.options;
        let files = match withheld {
            Some(withheld) => FileSandbox::withheld(withheld.clone()),
            // Files are not recorded in the journal, so a durable run gets an `fs` that only
            // returns an error about that.
            None if bounds.fixed.is_some() => FileSandbox::for_durable_run(grants),
            None => FileSandbox::new(grants, roots),
        };
        WorkerMailbox::new(bounds.time, Modules::new(roots), files)
    }

    /// Stops a worker that no longer responds.
    fn abandon(&self, worker: &Arc<Worker>) {
        worker.end();
        let mut state = self.state();
        if state
            .worker
            .as_ref()
            // Another job may have replaced the worker already.
            .is_some_and(|current| Arc::ptr_eq(current, worker))
        {
            state.worker = None;
        }
    }

    /// Runs a job. If another job ends the worker before this job begins, the worker is replaced.
    async fn work(&self, work: WorkerJob, runtime: &dyn Runtime) -> Result<JobResult, JsError> {
        for _ in 0..RESTARTS {
            let mut piece = self.open(work.clone())?;
            let result = self.follow(&mut piece, runtime).await;
            // A job that has begun may have had side effects, so it is never repeated.
            if result.is_ok() || piece.worker.board.has_begun(piece.id) {
                return result;
            }
        }
        // The result of the last attempt is returned in any case, so that the number of restarts is
        // limited.
        let mut piece = self.open(work)?;
        self.follow(&mut piece, runtime).await
    }

    /// Handles the requests of a job until it is done.
    async fn follow(
        &self,
        piece: &mut PendingJob,
        runtime: &dyn Runtime,
    ) -> Result<JobResult, JsError> {
        let mut later: PendingReplies<'_> = FuturesUnordered::new();
        let mut turns = self.options.bounds.fixed.map(|_| Turns::default());
        loop {
            tokio::select! {
                // This branch is cancel-safe: no message is lost if the other branch completes
                // first.
                message = piece.next(self) => match message? {
                    FromWorker::Ask { question, ask, .. } => {
                        let answer = answer(runtime, question, ask, &later);
                        if let (Some(turns), HostReply::Later) = (&mut turns, &answer) {
                            // Requests arrive in the order in which JavaScript made them, which is
                            // the same on a replay.
                            turns.asked.push_back(question);
                        }
                        piece.answer(question, answer);
                    }
                    FromWorker::Log { level, line, .. } => runtime.log(level, &line),
                    FromWorker::Done { result, .. } => {
                        piece.over = true;
                        // After these errors the state of the QuickJS heap is unknown, so the next
                        // job gets a new worker.
                        if result.as_ref().is_err_and(is_end) {
                            self.abandon(&piece.worker);
                        }
                        return result;
                    }
                    FromWorker::Turn { .. } => {}
                },
                // An empty `FuturesUnordered` returns `None` immediately, which would disable the
                // branch permanently.
                Some((question, result)) = later.next(), if !later.is_empty() => {
                    let ready = match &mut turns {
                        None => vec![(question, result)],
                        Some(turns) => turns.came(question, result),
                    };
                    for (question, result) in ready {
                        piece.worker.send(ToWorker::Settled { question, result });
                    }
                }
            }
        }
    }

    fn open(&self, work: WorkerJob) -> Result<PendingJob, JsError> {
        let worker = self.worker()?;
        let id = self.number();
        let inbox = worker.board.open(id);
        worker.send(ToWorker::Start { piece: id, work });
        Ok(PendingJob {
            id,
            worker,
            inbox,
            over: false,
        })
    }
}

type PendingReplies<'a> = FuturesUnordered<BoxFuture<'a, (u64, Result<JsValueRef, JsError>)>>;

/// Settles the promises of a durable run in the order of their creation, independent of which
/// completes first, because the next step of JavaScript must not depend on timing.
#[derive(Default)]
struct Turns {
    asked: VecDeque<u64>,
    came: HashMap<u64, Result<JsValueRef, JsError>>,
}

impl Turns {
    /// Adds a result. Returns the results that can be settled now, in order.
    fn came(
        &mut self,
        question: u64,
        result: Result<JsValueRef, JsError>,
    ) -> Vec<(u64, Result<JsValueRef, JsError>)> {
        self.came.insert(question, result);
        let mut ready = Vec::new();
        while let Some(next) = self.asked.front().copied()
            && let Some(result) = self.came.remove(&next)
        {
            self.asked.pop_front();
            ready.push((next, result));
        }
        ready
    }
}

/// Returns an error if data is nested too deeply to be passed.
fn flat(passed: JsValueRef) -> Result<JsValueRef, JsError> {
    match passed {
        JsValueRef::Value(value) if value.depth() > DEEPEST => Err(too_deep()),
        passed => Ok(passed),
    }
}

fn too_deep() -> JsError {
    JsError::new(
        JsErrorKind::Data,
        format!("cannot pass a value nested deeper than {DEEPEST} levels to JavaScript"),
    )
}

/// Answers a request for names of the run.
fn answer<'a>(
    runtime: &'a dyn Runtime,
    question: u64,
    ask: HostRequest,
    later: &PendingReplies<'a>,
) -> HostReply {
    match ask {
        HostRequest::Get(name) => match runtime.get(&name) {
            LookupResult::Value(value) if value.depth() > DEEPEST => {
                HostReply::Now(Err(too_deep()))
            }
            found => HostReply::Found(found),
        },
        HostRequest::Set(name, value) => HostReply::Set(runtime.set(&name, value)),
        HostRequest::Names => HostReply::Names(runtime.names()),
        HostRequest::Call { name, arguments } => match runtime.call(&name, arguments) {
            HostCallResult::Now(result) => HostReply::Now(result.and_then(flat)),
            HostCallResult::Later(future) => {
                let done = async move { (question, future.await.and_then(flat)) };
                later.push(Box::pin(call_sequence::within(
                    // Created when the request arrives, not when the future is polled, so that the
                    // position is deterministic.
                    call_sequence::child(),
                    done,
                )));
                HostReply::Later
            }
        },
        // `WorkerMailbox::attend` answers these before they reach the run.
        HostRequest::Resolve(_) | HostRequest::Load(_) | HostRequest::File(_) => HostReply::Gone,
    }
}

/// A pending job. Dropping it cancels the job.
struct PendingJob {
    id: u64,
    worker: Arc<Worker>,
    inbox: Inbox,
    over: bool,
}

impl Drop for PendingJob {
    fn drop(&mut self) {
        // The inbox is closed first, so that a late answer after the cancellation finds no
        // receiver.
        self.worker.board.close(self.id);
        if !self.over {
            self.worker.send(ToWorker::Cancel { piece: self.id });
        }
    }
}

impl PendingJob {
    /// Returns the next message of the worker for this job.
    async fn next(&mut self, js: &Js) -> Result<FromWorker, JsError> {
        loop {
            let patience = match self.worker.board.remaining_wait(self.id) {
                Ok(patience) => patience,
                Err(silence) => {
                    self.over = true;
                    js.abandon(&self.worker);
                    return Err(silent(silence));
                }
            };
            // A timeout alone is not an error, because the worker may not be computing; the loop
            // asks the mailbox.
            match tokio::time::timeout(patience, self.inbox.recv()).await {
                Ok(Some(message)) => return Ok(message),
                Ok(None) => {
                    self.over = true;
                    return Err(silent(StallReason::Gone));
                }
                Err(_) => {}
            }
        }
    }

    fn answer(&self, question: u64, answer: HostReply) {
        self.worker.send(ToWorker::Answer { question, answer });
    }
}

/// Returns whether the worker stops after this error.
fn is_end(error: &JsError) -> bool {
    matches!(
        error.kind,
        JsErrorKind::Time | JsErrorKind::Memory | JsErrorKind::Killed
    )
}

fn silent(silence: StallReason) -> JsError {
    match silence {
        StallReason::Time => JsError::new(
            JsErrorKind::Time,
            "JavaScript exceeded its time limit (js_time)",
        ),
        StallReason::Gone => JsError::new(
            JsErrorKind::Killed,
            "JavaScript was stopped because other code of the same run exceeded a limit",
        ),
    }
}

/// A runtime without names, for jobs that do not need any.
struct NoHost;

impl Runtime for NoHost {
    fn get(&self, _: &str) -> LookupResult {
        LookupResult::Missing
    }

    fn set(&self, _: &str, _: JsValueRef) -> Result<(), JsError> {
        Ok(())
    }

    fn names(&self) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(&'a self, _: &str, _: Vec<JsValueRef>) -> HostCallResult<'a> {
        HostCallResult::Now(Ok(JsValueRef::Undefined))
    }

    fn log(&self, _: ConsoleLevel, _: &str) {}
}

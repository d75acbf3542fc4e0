//! JavaScript of a run, in QuickJS; functions in Python; wasm modules.
//!
//! A run has one [`Js`]. It starts nothing until something needs it, and ends what it started when
//! it is dropped. JavaScript runs in a thread of its own or in a process of its own
//! ([`Transport`]); the messages are the same. It sees nothing of the host but what a [`Runtime`]
//! gives it, and never more than its bounds allow.
//!
//! This is not the language of conditions and key paths: [`crate::expression`] evaluates most of
//! them without any JavaScript.

mod child;
mod error;
mod files;
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
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::StreamExt;
use futures_util::stream::FuturesUnordered;
use quillet_core::BoxFuture;

use crate::host::Grants;
use crate::run::{DryRunReport, call_sequence};
pub use child::serve as serve_process;
pub use error::{Code, CodePosition, JsError, JsErrorKind, StackFrame};
use files::FileSandbox;
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
pub use runtime::{
    ConsoleLevel, FunctionId, HostCallResult, JsTarget, JsValueRef, LookupResult, ModuleId, Runtime,
};
pub use signature::{Parameter, Signature, signature};
use thread::Thread;
pub use wasm::Wasm;
pub use wasm_shape::{WasmBounds, WasmExport};

/// Options of one run's JavaScript.
#[derive(Clone, Debug, Default)]
pub struct JsOptions {
    /// Its bounds.
    pub bounds: WorkerLimits,
    /// Where it runs.
    pub transport: Transport,
    /// Folders that modules are read from, and nothing outside of them, not by links either: the
    /// script's own, its library, its project. The first is where relative names of `fs` start.
    pub roots: Vec<PathBuf>,
    /// What it may do outside: `read` and `write` open Node's `fs`.
    pub grants: Grants,
    /// Keeps what a dry run left out; `None` where the run is none.
    pub withheld: Option<Arc<DryRunReport>>,
}

/// Where JavaScript runs: in a thread, or in a process.
#[derive(Clone, Debug, Default)]
pub enum Transport {
    /// In a thread of this process. A few operations of QuickJS cannot be interrupted (large
    /// `BigInt`, `join` and `sort` of large arrays): they are reported in time, and go on in the
    /// background.
    #[default]
    Thread,
    /// In a process of its own, which is killed when it does not end in time.
    Process(WorkerProgram),
    /// In a process that was started beforehand.
    Pool(Arc<JsPool>),
}

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallResult {
    /// What the function returned; a promise was waited for.
    pub value: JsValueRef,
    /// The arguments as they are after the call: `event.stopped = true` is seen here.
    pub arguments: Vec<JsValueRef>,
}

/// A function that was defined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinedFunction {
    /// How it is called.
    pub id: FunctionId,
    /// Its name and parameters.
    pub signature: Signature,
}

/// A module that was imported.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedModule {
    /// How it is called and found: `JsTarget::ModuleExport(module, names)`.
    pub module: ModuleId,
    /// What it exports.
    pub exports: Vec<ModuleExport>,
}

/// What is said of a promise that failed without anybody waiting for it.
const UNHANDLED: &str = "a promise failed, and nobody waited for it";

/// Levels that data may nest to cross the border: what the reader of JSON takes.
const DEEPEST: u32 = quillet_core::value::MAX_DEPTH - 1;

/// Workers that may end before they come to a piece.
const RESTARTS: usize = 2;

/// One run's JavaScript. Cheap to make: a thread or process starts with the first piece of work.
#[derive(Debug)]
pub struct Js {
    options: JsOptions,
    next: AtomicU64,
    state: Mutex<WorkerState>,
}

/// What a worker must know before it can work: kept for the next one, should this one end.
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
    /// JavaScript for one run.
    #[must_use]
    pub fn new(options: JsOptions) -> Self {
        Js {
            options,
            next: AtomicU64::new(1),
            state: Mutex::default(),
        }
    }

    fn state(&self) -> MutexGuard<'_, WorkerState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn number(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes a function of a script in any written form. Only its head is read now:
    /// its body is compiled at its first call, or by [`Js::check`].
    ///
    /// # Errors
    /// Kind `Syntax`, with the place in the code, where the head cannot be read.
    pub fn define(&self, definition: FunctionSource) -> Result<DefinedFunction, JsError> {
        let head = signature(&definition.code)?;
        // Even numbers: those of functions that JavaScript hands out are odd.
        let id = FunctionId(self.number() * 2);
        let source = NormalizedSource {
            definition,
            keyword: head.keyword,
        };
        self.tell(ToWorker::Define(id, source));
        Ok(DefinedFunction {
            id,
            signature: head,
        })
    }

    fn tell(&self, message: ToWorker) {
        let mut state = self.state();
        if let Some(worker) = &state.worker {
            worker.send(message.clone());
        }
        state.known.push(message);
    }

    /// Compiles a function without calling it.
    ///
    /// # Errors
    /// Kind `Syntax`, with the place in the code.
    pub async fn check(&self, function: FunctionId) -> Result<(), JsError> {
        self.work(WorkerJob::Check { function }, &NoHost)
            .await
            .map(drop)
    }

    /// Evaluates an expression (`?=`): its bare names are the runtime's, or else JavaScript's own;
    /// `this` is the runtime; it may `await`.
    ///
    /// # Errors
    /// Kind `Unknown` names a name that neither knows; `Thrown` and the others as they say.
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

    /// Calls a function; `this` is the runtime.
    ///
    /// # Errors
    /// What it threw, and bounds that it reached.
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

    /// Imports a module: a file relative to the script (`./lib.js`), or a package or one of Node's
    /// own modules (`path`), without `js:` in front. `from` is the script's file.
    ///
    /// # Errors
    /// Kind `Module`: it was not found, leaves the roots, or does not parse; and what it threw.
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
        self.tell(ToWorker::Module(module, request));
        match self.work(WorkerJob::Import { module }, runtime).await? {
            JobResult::Exports(exports) => Ok(ImportedModule { module, exports }),
            JobResult::Value(_) | JobResult::Called(..) => Ok(ImportedModule {
                module,
                exports: Vec::new(),
            }),
        }
    }

    /// The worker that runs, or a new one that knows all that was defined.
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
                format!("JavaScript cannot start: {error}"),
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
            None if bounds.fixed.is_some() => FileSandbox::kept(grants),
            None => FileSandbox::new(grants, roots),
        };
        WorkerMailbox::new(bounds.time, Modules::new(roots), files)
    }

    /// Gives up a worker that does not move any more.
    fn abandon(&self, worker: &Arc<Worker>) {
        worker.end();
        let mut state = self.state();
        if state
            .worker
            .as_ref()
            .is_some_and(|current| Arc::ptr_eq(current, worker))
        {
            state.worker = None;
        }
    }

    /// Does work. A worker that ends before it comes to it is replaced: its end was another piece's
    /// fault.
    async fn work(&self, work: WorkerJob, runtime: &dyn Runtime) -> Result<JobResult, JsError> {
        for _ in 0..RESTARTS {
            let mut piece = self.open(work.clone())?;
            let result = self.follow(&mut piece, runtime).await;
            if result.is_ok() || piece.worker.board.has_begun(piece.id) {
                return result;
            }
        }
        let mut piece = self.open(work)?;
        self.follow(&mut piece, runtime).await
    }

    /// Answers what a piece asks until it is over.
    async fn follow(
        &self,
        piece: &mut PendingJob,
        runtime: &dyn Runtime,
    ) -> Result<JobResult, JsError> {
        let mut later: PendingReplies<'_> = FuturesUnordered::new();
        let mut turns = self.options.bounds.fixed.map(|_| Turns::default());
        loop {
            tokio::select! {
                message = piece.next(self) => match message? {
                    FromWorker::Ask { question, ask, .. } => {
                        let answer = answer(runtime, question, ask, &later);
                        if let (Some(turns), HostReply::Later) = (&mut turns, &answer) {
                            turns.asked.push_back(question);
                        }
                        piece.answer(question, answer);
                    }
                    FromWorker::Log { level, line, .. } => runtime.log(level, &line),
                    FromWorker::Done { result, .. } => {
                        piece.over = true;
                        if result.as_ref().is_err_and(is_end) {
                            self.abandon(&piece.worker);
                        }
                        return result;
                    }
                    FromWorker::Turn { .. } => {}
                },
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

/// Promises of a run that is made once more are kept in the order in which they were given,
/// whichever is done first: what JavaScript does next must not depend on that.
#[derive(Default)]
struct Turns {
    asked: VecDeque<u64>,
    came: HashMap<u64, Result<JsValueRef, JsError>>,
}

impl Turns {
    /// Takes a result; gives those whose turn it is.
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

/// What may cross: data that is not nested too deeply.
fn flat(passed: JsValueRef) -> Result<JsValueRef, JsError> {
    match passed {
        JsValueRef::Value(value) if value.depth() > DEEPEST => Err(too_deep()),
        passed => Ok(passed),
    }
}

fn too_deep() -> JsError {
    JsError::new(
        JsErrorKind::Data,
        format!("a value that is nested deeper than {DEEPEST} levels cannot enter JavaScript"),
    )
}

/// Answers a question of the worker from the run's names.
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
                    call_sequence::child(),
                    done,
                )));
                HostReply::Later
            }
        },
        HostRequest::Resolve(_) | HostRequest::Load(_) | HostRequest::File(_) => HostReply::Gone,
    }
}

/// A piece that a future waits for. Dropping it ends the piece.
struct PendingJob {
    id: u64,
    worker: Arc<Worker>,
    inbox: Inbox,
    over: bool,
}

impl Drop for PendingJob {
    fn drop(&mut self) {
        self.worker.board.close(self.id);
        if !self.over {
            self.worker.send(ToWorker::Cancel { piece: self.id });
        }
    }
}

impl PendingJob {
    /// The next message of the worker about this piece.
    async fn next(&mut self, js: &Js) -> Result<FromWorker, JsError> {
        loop {
            let patience = match self.worker.board.patience(self.id) {
                Ok(patience) => patience,
                Err(silence) => {
                    self.over = true;
                    js.abandon(&self.worker);
                    return Err(silent(silence));
                }
            };
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

/// Whether a worker ends itself after such a failure.
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
            "JavaScript ran longer than it may (limit js_time)",
        ),
        StallReason::Gone => JsError::new(
            JsErrorKind::Killed,
            "JavaScript was ended because other code of the same run went over a limit",
        ),
    }
}

/// Nothing to ask: for work that needs no names.
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

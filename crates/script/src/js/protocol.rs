//! The messages between a run and its JavaScript: the same in a thread and in a process.
//!
//! The run starts pieces of work and answers questions; the worker asks and says what came of a
//! piece. A worker that asks a question waits for its answer before it does anything else.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::JsError;
use super::id::{FunctionId, ModuleId};
use super::runtime::{ConsoleLevel, JsTarget, JsValueRef, LookupResult};

/// Bounds of a worker: the first message to a worker in a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerLimits {
    /// Own time of one piece of JavaScript: what it waits for does not count. Default 5 s.
    pub time: Duration,
    /// Bytes that all JavaScript of the run may take together. Default 64 MiB.
    pub memory: usize,
    /// Bytes of stack. Default 512 KiB; at most 16 MiB.
    pub stack: usize,
    /// What is to be the same when the run is made again: then there are no timers either.
    /// `None` by default.
    #[serde(default)]
    pub fixed: Option<FixedEnvironment>,
}

impl Default for WorkerLimits {
    fn default() -> Self {
        WorkerLimits {
            time: Duration::from_secs(5),
            memory: 64 << 20,
            stack: 512 << 10,
            fixed: None,
        }
    }
}

/// What JavaScript has from its machine, of a run that is made again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedEnvironment {
    /// What `Math.random` starts from.
    pub seed: u64,
    /// What the clock says first, in milliseconds since 1970; a millisecond more with each look.
    pub began_ms: u64,
}

/// A function from a script's text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionSource {
    /// Its code as it was written.
    pub code: String,
    /// `__filename`: the script that defines it, or empty.
    pub filename: String,
    /// `__dirname`: where its relative modules start from, or empty.
    pub dirname: String,
}

/// From a run to its worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// A function that may be called from now on. Compiled at its first use.
    Define(FunctionId, NormalizedSource),
    /// A module that may be used from now on. Loaded at its first use.
    Module(ModuleId, ImportRequest),
    /// Work to be done.
    Start { piece: u64, work: WorkerJob },
    /// The answer that the worker waits for.
    Answer { question: u64, answer: HostReply },
    /// What a promise of the host came to.
    Settled {
        question: u64,
        result: Result<JsValueRef, JsError>,
    },
    /// Nobody waits for this piece any more.
    Cancel { piece: u64 },
}

/// A definition in a form that JavaScript takes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NormalizedSource {
    pub(crate) definition: FunctionSource,
    /// The byte at which `function ` is missing.
    pub(crate) keyword: Option<usize>,
}

/// What to import, and from where.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ImportRequest {
    /// As it was written, without `js:`.
    pub(crate) specifier: String,
    /// The file that asks: relative names start from its folder.
    pub(crate) from: String,
    /// `import` or `require`: which of a package's entry points is taken.
    pub(crate) required: bool,
}

/// One piece of work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum WorkerJob {
    Evaluate {
        code: String,
    },
    Call {
        target: JsTarget,
        arguments: Vec<JsValueRef>,
    },
    Check {
        function: FunctionId,
    },
    Import {
        module: ModuleId,
    },
}

/// From a worker to its run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// It works on this piece now, or on nothing, and has read so many messages.
    Turn { piece: Option<u64>, handled: u64 },
    /// It waits for an answer.
    Ask {
        piece: u64,
        question: u64,
        ask: HostRequest,
    },
    /// A line for people.
    Log {
        piece: u64,
        level: ConsoleLevel,
        line: String,
    },
    /// A piece is over.
    Done {
        piece: u64,
        result: Result<JobResult, JsError>,
    },
}

/// A question of the worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum HostRequest {
    Get(String),
    Set(String, JsValueRef),
    Names,
    Call {
        name: String,
        arguments: Vec<JsValueRef>,
    },
    Resolve(ImportRequest),
    Load(String),
    File(FileCall),
}

/// An answer to a question. `Gone` fits every question whose piece is over.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum HostReply {
    Found(LookupResult),
    Set(Result<(), JsError>),
    Names(Vec<String>),
    Now(Result<JsValueRef, JsError>),
    Later,
    Resolved(Result<ResolvedModule, JsError>),
    Gone,
}

/// A module's file, and its format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResolvedModule {
    /// Its canonical path, or the name of a module of our own (`node:path`).
    pub(crate) path: String,
    pub(crate) kind: ModuleKind,
    /// Its text, once it was loaded.
    pub(crate) text: String,
}

/// How a module is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ModuleKind {
    /// A shim of ours for one of Node's modules.
    Node,
    Es,
    CommonJs,
    /// Nobody says: CommonJS if it parses as such.
    Either,
    Json,
}

/// A call of `fs`, checked and done by the host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileCall {
    pub(crate) name: String,
    pub(crate) arguments: Vec<JsValueRef>,
}

/// What a piece came to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum JobResult {
    Value(JsValueRef),
    /// A call's result, and those arguments that the function changed in place.
    Called(JsValueRef, Vec<(usize, JsValueRef)>),
    Exports(Vec<ModuleExport>),
}

/// One export of a module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleExport {
    /// Its name; `default` for the default export.
    pub name: String,
    /// What it is.
    pub kind: ExportKind,
}

/// The kind of an export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExportKind {
    /// A function, with the names of its parameters where they are known.
    Function(Vec<super::Parameter>),
    /// A class: it needs `new`.
    Class,
    /// Data, or an object that holds functions: `undefined` if it cannot leave JavaScript.
    Value(JsValueRef),
}

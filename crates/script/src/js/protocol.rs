//! Messages between a run and its JavaScript worker. A thread and a process use the same ones.
//!
//! The run starts jobs and answers requests. The worker sends requests and reports results. After a
//! request, the worker does nothing until the reply arrives.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::error::JsError;
use super::id::{FunctionId, ModuleId};
use super::runtime::{ConsoleLevel, JsTarget, JsValueRef, LookupResult};

/// Limits of a worker, which are the first message to a worker process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerLimits {
    /// Maximum computing time of one job, excluding waits. Default 5 s.
    pub time: Duration,
    /// Maximum memory for all JavaScript of the run, in bytes. Default 64 MiB.
    pub memory: usize,
    /// Maximum stack size in bytes. Default 512 KiB, maximum 16 MiB.
    pub stack: usize,
    /// Environment values that must be the same on a replay. If set, timers are not available.
    /// Default `None`.
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

/// Fixed environment of a durable run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FixedEnvironment {
    /// Seed of `Math.random`.
    pub seed: u64,
    /// First clock value in milliseconds since 1970. The clock advances by one millisecond per
    /// read.
    pub began_ms: u64,
}

/// A function from a script's text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FunctionSource {
    /// The code as written.
    pub code: String,
    /// `__filename`: the script that defines the function, or empty.
    pub filename: String,
    /// `__dirname`: the folder that relative module paths start from, or empty.
    pub dirname: String,
}

/// Message from a run to its worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum ToWorker {
    /// Defines a function, which is compiled on first use.
    Define(FunctionId, NormalizedSource),
    /// Defines a module, which is loaded on first use.
    Module(ModuleId, ImportRequest),
    /// Starts a job.
    Start { piece: u64, work: WorkerJob },
    /// Reply to the request that the worker waits for.
    Answer { question: u64, answer: HostReply },
    /// Result of a promise of the host.
    Settled {
        question: u64,
        result: Result<JsValueRef, JsError>,
    },
    /// The job is no longer needed.
    Cancel { piece: u64 },
}

/// A definition in the form that JavaScript accepts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct NormalizedSource {
    pub(crate) definition: FunctionSource,
    /// The byte offset where `function ` must be inserted.
    pub(crate) keyword: Option<usize>,
}

/// An import request.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct ImportRequest {
    /// The module name as written, without `js:`.
    pub(crate) specifier: String,
    /// The importing file. Relative paths start in its folder.
    pub(crate) from: String,
    /// Whether it is `require` instead of `import`, which may select another entry point of a
    /// package.
    pub(crate) required: bool,
}

/// A job for a worker.
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

/// Message from a worker to its run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum FromWorker {
    /// The job that the worker is running, if any, and the number of messages it has read.
    Turn { piece: Option<u64>, handled: u64 },
    /// A request; the worker waits for the reply.
    Ask {
        piece: u64,
        question: u64,
        ask: HostRequest,
    },
    /// A line of console output.
    Log {
        piece: u64,
        level: ConsoleLevel,
        line: String,
    },
    /// A job is done.
    Done {
        piece: u64,
        result: Result<JobResult, JsError>,
    },
}

/// Request of a worker.
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

/// Reply to a request. `Gone` is the reply to any request of a job that has ended.
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

/// A resolved module file and its format.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ResolvedModule {
    /// Its canonical path, or the name of a built-in module (`node:path`).
    pub(crate) path: String,
    pub(crate) kind: ModuleKind,
    /// Its text, if already loaded.
    pub(crate) text: String,
}

/// Format of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum ModuleKind {
    /// A built-in replacement for a Node module.
    Node,
    Es,
    CommonJs,
    /// Not specified: CommonJS if it parses as such, otherwise an ES module.
    Either,
    Json,
}

/// A call of `fs`, which the host checks and performs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct FileCall {
    pub(crate) name: String,
    pub(crate) arguments: Vec<JsValueRef>,
}

/// Result of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum JobResult {
    Value(JsValueRef),
    /// Result of a call, and the arguments that the function changed in place.
    Called(JsValueRef, Vec<(usize, JsValueRef)>),
    Exports(Vec<ModuleExport>),
}

/// An export of a module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModuleExport {
    /// The name of the export; `default` for the default export.
    pub name: String,
    /// Its kind.
    pub kind: ExportKind,
}

/// The kind of an export.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum ExportKind {
    /// A function, with its parameters if they are known.
    Function(Vec<super::Parameter>),
    /// A class, which must be called with `new`.
    Class,
    /// Data, or an object that contains functions. `undefined` if it cannot be passed out of
    /// JavaScript.
    Value(JsValueRef),
}

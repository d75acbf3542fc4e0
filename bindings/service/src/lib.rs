//! Common part of the Python and Node packages with a runtime: prompts of a store,
//! scripts, and the guard of SQL, for a program that has values and functions of its own kind.
//!
//! Work that may wait is a [`BackgroundTask`]: a future on the [`runtime`] of this process, with a
//! [`CallQueue`] in which it requests calls. The host language takes the events, makes the calls in
//! a thread or an event loop, and returns the results. So threads of this crate never run Python or
//! JavaScript code, and each language cancels, interrupts and limits its functions as usual.

mod call_queue;
mod catalogue;
mod functions;
mod guard;
mod model;
mod refusal;
pub mod runtime;
mod script;
mod work;

pub use call_queue::{CallQueue, HostCall, QueueEvent};
pub use catalogue::{BoundCatalogue, PromptVersion, RenderRequest};
pub use functions::HostFunction;
pub use guard::{CheckedQuery, GuardQuery, check};
pub use model::Abilities;
pub use refusal::{BindingError, ExceptionKind};
pub use script::{ScriptRequest, ScriptSource, run};
pub use work::{BackgroundTask, TaskOutput};

/// Name of the host program's requests in logs and traces.
const REQUEST: &str = "package";

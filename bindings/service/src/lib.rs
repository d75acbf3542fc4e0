//! Common part of the Python and Node packages with a runtime: prompts of a store,
//! scripts, and the guard of SQL, for a program that has values and functions of its own kind.
//!
//! Everything that may wait is a [`BackgroundTask`]: a future on the [`runtime`] of this process, and a
//! [`CallQueue`] on which it asks for calls. Whoever drives it takes the news, makes the calls in its
//! own way (a thread, an event loop) and gives back what they gave. So no thread of this crate ever
//! runs code of Python or JavaScript, and each language cancels, interrupts and bounds its functions
//! as it does elsewhere.

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

/// How requests of a program are named in logs and traces.
const REQUEST: &str = "package";

//! Model calls: settings, constraints, continuation, repair.
//!
//! [`ask`] makes one *logical* call, which may need several requests: a truncated answer is
//! continued, an answer without the required form is requested again, and tools are called. The
//! call does not depend on scripts: its messages are already rendered, and events are reported to a
//! [`CallObserver`]. Dropping the future cancels all of it.

mod ask;
mod bias;
mod constraint;
mod drive;
mod echo_filter;
mod error;
mod form;
mod guard;
mod listen;
mod plan;
mod progress;
mod protocol;
mod reading;
mod settings;
mod stream_splitter;
mod tools;
mod turn;

pub use ask::{ModelAnswer, ModelCall, ToolUse};
pub use constraint::Constraint;
pub use drive::ask;
pub use error::{CallError, Cause};
pub use progress::{CallEvent, CallObserver, NoCallObserver, request_map};
pub use settings::{CallSettings, OUTSIDE_PARAMETERS};

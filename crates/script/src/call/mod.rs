//! One call of a model: settings, constraints, continuation, repair.
//!
//! [`ask`] makes one *logical* call. It may take several requests: an answer that the limit on
//! tokens cut is continued, one without its form is asked for again, tools are called. The call
//! knows no script: messages come rendered, and what happens is reported to a [`CallObserver`].
//! Dropping the future ends everything.

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

//! Routes for OpenAI's clients: chat completions, responses, models, files and batches. They use
//! OpenAI's formats, so that its SDKs work unchanged. The model name selects a model, a stored
//! prompt, an agent or a database ([`target`]).

pub(super) mod agent;
mod approval;
mod ask;
mod batch_resume;
pub(crate) mod batches;
pub(crate) mod chat;
mod chat_encoder;
mod error;
mod file_access;
pub(crate) mod files;
pub(crate) mod models;
mod page;
mod passthrough;
mod prompt_reference;
mod request;
pub(crate) mod responses;
mod run_events;
mod schema;
mod target;

pub(crate) use error::{ErrorFormat, answer, shape};

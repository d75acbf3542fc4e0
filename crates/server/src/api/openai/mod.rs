//! The routes for OpenAI's clients: chat completions, responses, models, files and batches, in
//! OpenAI's own shapes, so that its SDKs work unchanged. A model's name says who answers ([`target`]): a model, a stored
//! prompt, or a stored agent.

pub(super) mod agent;
mod approval;
mod ask;
mod batch_resume;
pub(crate) mod batches;
pub(crate) mod chat;
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

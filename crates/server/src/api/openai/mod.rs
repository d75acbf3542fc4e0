//! The routes for OpenAI's clients: chat completions, responses, models, files and batches, in
//! OpenAI's own shapes, so that its SDKs work unchanged. A model's name says who answers ([`target`]): a model, a stored
//! prompt, or a stored agent.

mod again;
pub(super) mod agent;
mod approval;
mod ask;
pub(crate) mod batches;
pub(crate) mod chat;
mod error;
pub(crate) mod files;
mod kept;
pub(crate) mod models;
mod page;
mod passed;
mod prompted;
mod request;
pub(crate) mod responses;
mod schema;
mod target;
mod told;

pub(crate) use error::{Shape, answer, shape};

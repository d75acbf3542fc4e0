//! OpenAI's clients and routes, with a fake provider whose replies depend on the model name.

mod batches;
mod chat;
pub(crate) mod door;
mod models;
mod responses;
mod sdk;

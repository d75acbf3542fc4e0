//! OpenAI's clients and their routes, over a provider that plays what the model's name asks for.

mod batches;
mod chat;
pub(crate) mod door;
mod models;
mod responses;
mod sdk;

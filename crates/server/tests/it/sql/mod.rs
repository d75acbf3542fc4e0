//! Databases over HTTP and as tools, with real databases and a scripted provider.

mod connections;
mod errors;
mod file;
mod history;
mod metadata;
mod origin;
mod prompts;
mod query;
mod question;
mod secrets;
pub(crate) mod served;
mod servers;
mod shop;
mod tools;

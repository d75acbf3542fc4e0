//! Databases over HTTP and as tools, over real databases and a provider that says what it is told.

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

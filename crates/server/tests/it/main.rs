//! The server as its clients see it: a real one on a free port, over a store,
//! tools and a model that live in the test.

mod auth;
mod bad_input;
mod chat;
mod client;
mod connections;
mod description;
mod health;
mod origin_defects;
mod render;
mod routes;
mod shutdown;
#[path = "../../../prompt/tests/it/test_store.rs"]
mod test_store;
#[path = "../../../prompt/tests/it/test_tools.rs"]
mod test_tools;
mod test_model;
mod test_server;

//! The server over HTTP: a real one on a free port, with a store, tools and a model in the test
//! process.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on panics")]

mod auth;
mod bad_input;
mod chat;
mod client;
mod connections;
mod definitions;
mod description;
mod doors;
mod formats;
mod gzip;
mod health;
mod hostile;
mod mcp;
mod openai;
mod origin_defects;
mod otlp;
mod rebinding;
mod redis;
mod render;
mod response;
mod revision;
mod routes;
mod script;
mod shutdown;
mod sql;
mod test_agents;
mod test_model;
mod test_server;
mod told;

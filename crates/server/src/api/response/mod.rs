//! `POST /v1/response` and its companions.
//!
//! The request is checked whole, the run begins, and its events go out as they come:
//! as server-sent events, or folded into one answer where `features.streaming` is off.

mod blocks;
mod cancel;
mod events;
mod input;
mod log;
mod reader;
mod refuse;
pub(crate) mod routes;
mod schema;
mod stream;
mod validation;
mod whole;

pub(crate) use routes::{agents, check_permissions, watch};

//! `POST /v1/response` and its companions.
//!
//! The request is validated completely before the run begins. Events are sent as they occur, as
//! server-sent events, or collected into one response if `features.streaming` is off.

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

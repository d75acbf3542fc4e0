//! Work through batches, behind the routes and without a port: their input is looked at, their rows
//! are answered by the code of the routes, and what they come to is written down.

mod check;
mod dispatch;
mod fixed_reply;
mod jobs;
mod leases;
mod line;
mod local;
mod order;
mod provider;
mod rows;
mod worker;

pub use local::LocalWork;
pub(crate) use order::{ENDPOINTS, new_tag, order, seconds, window};
pub(crate) use worker::Worker;

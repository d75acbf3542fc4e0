//! The batch worker. It validates the input, sends the rows through the code of the routes, and
//! writes the results.

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

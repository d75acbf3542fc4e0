//! Without tokio's timer every render is polled by whoever drives it.

pub(crate) use crate::polled::{now, rest, until};

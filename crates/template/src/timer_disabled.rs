//! Without tokio's timer, the caller that drives a render polls it.

pub(crate) use crate::polled::{now, rest, until};

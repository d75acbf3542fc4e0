//! Replacement for the timer without tokio. The caller must poll the render.

pub(crate) use crate::polled::{now, rest, until};

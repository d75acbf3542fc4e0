//! Python's formatting of numbers and texts (`format(value, spec)`) and its `repr`, which several
//! formats share.
//!
//! This module does not depend on the value types of a format and does not charge. The caller
//! charges [`Spec::bytes`] first.

mod layout;
mod number;
mod spec;
mod text;

pub(crate) use spec::{Operand, Spec, SpecError, digits};
pub(crate) use text::{ascii, escaped_size, float_text, quote};

//! Formatting of numbers and texts (`format(value, spec)`) and `repr`, shared by the Python
//! formats.
//!
//! This module does not know the value types of a format and charges nothing: the caller charges
//! [`Spec::bytes`] first.

mod layout;
mod number;
mod spec;
mod text;

pub(crate) use spec::{Operand, Spec, SpecError, digits};
pub(crate) use text::{ascii, escaped_size, float_text, quote};

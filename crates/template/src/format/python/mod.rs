//! What the formats out of Python's world share: how numbers and texts are laid
//! out (`format(value, spec)`) and printed (`repr`).
//!
//! Nothing here knows a format's own values, or counts: who lays out charges
//! [`Spec::bytes`] first.

mod layout;
mod number;
mod spec;
mod text;

pub(crate) use spec::{Operand, Spec, SpecError, digits};
pub(crate) use text::{ascii, escaped_size, float_text, quote};

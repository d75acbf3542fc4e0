//! Conversion of Quillet's values and errors to and from Python, shared by both packages.

pub mod error;
mod keys;
pub mod memory;
pub mod object;
pub mod value;

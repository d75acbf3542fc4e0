//! The formats.

pub mod go;
pub mod jinja;

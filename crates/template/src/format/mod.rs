//! The formats.

pub mod fstring;
pub mod go;
#[allow(dead_code, reason = "for formats that come with it")]
mod javascript;
pub mod jinja;
mod literals;
mod python;
pub mod semantic_kernel;
#[allow(dead_code, reason = "for formats that come with it")]
mod standalone;

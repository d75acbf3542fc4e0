//! The formats.

pub mod go;
#[allow(dead_code, reason = "for formats that come with it")]
mod javascript;
pub mod jinja;
#[allow(dead_code, reason = "for formats that come with it")]
mod standalone;

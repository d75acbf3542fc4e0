//! Template formats.

mod calendar;
pub mod fstring;
pub mod go;
pub mod handlebars;
pub(crate) mod javascript;
pub mod jinja;
pub mod liquid;
mod literals;
pub mod mustache;
mod problem;
mod python;
pub mod semantic_kernel;
mod standalone;

//! Integration tests of the template crate, in one binary to link only once.

// The example of a third-party format imports the crate `quillet`, so this crate provides that
// name.
extern crate self as quillet;
use quillet_core as core;
use quillet_template as template;

mod conformance;
mod convert;
#[path = "../../../../examples/custom_format.rs"]
#[expect(dead_code, reason = "its program is not run here")]
mod custom_format;
mod editor;
mod formats;
mod found;
mod fstring;
mod go;
mod handlebars;
mod hostile;
mod jinja;
mod jinja_semantic_kernel;
mod liquid;
mod mustache;
mod properties;
mod render;
mod role_lines;
mod segments;
mod semantic_kernel;
mod sprig;
mod structure;
mod vectors;

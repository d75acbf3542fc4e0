//! Integration tests of the template crate: one binary, so that they link once.

// The example of a third party's format is written over the library `quillet`.
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

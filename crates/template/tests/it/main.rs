//! Integration tests of the template crate: one binary, so that they link once.

mod conformance;
mod custom;
mod found;
mod go;
mod hostile;
mod jinja;
mod properties;
mod render;
mod sprig;
mod structure;
mod vectors;

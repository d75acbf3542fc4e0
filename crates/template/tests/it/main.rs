//! Integration tests of the template crate: one binary, so that they link once.

mod custom;
mod render;

//! Rows in the forms of other programs.

pub mod json;

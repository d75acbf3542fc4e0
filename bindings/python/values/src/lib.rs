//! Values and errors of Quillet as Python has them, for the packages in which both meet.

pub mod error;
mod keys;
pub mod memory;
pub mod object;
pub mod value;

//! Go's text/template, as Go 1.27 does it.

mod collection;
pub mod fmt;
mod function;
mod types;
mod value;

pub use collection::{GoList, GoMap};
pub use function::{Context, FunctionError, Functions, GoFunction, Run, State};
pub use types::GoType;
pub use value::{GoStr, GoValue, Number, Object};

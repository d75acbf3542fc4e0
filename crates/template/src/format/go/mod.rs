//! Go's text/template, compatible with Go 1.27. The stages are `lexer`, `parser`, `ast` and `exec`.

mod ast;
mod collection;
pub(crate) mod convert;
mod editor;
mod exec;
pub mod fmt;
mod function;
mod lexer;
mod literal;
mod parser;
mod references;
pub mod sprig;
mod template;
mod types;
mod value;

pub use collection::{GoList, GoMap};
pub use function::{
    Effect, FunctionContext, FunctionError, FunctionMap, FunctionState, GoFunction, NativeFn,
};
pub use template::GoFormat;
pub use types::GoType;
pub use value::{GoNumber, GoObject, GoStr, GoValue};

//! What the packages for Python and Node have in common that bring a runtime: prompts of a store,
//! scripts, and the guard of SQL, for a program that has values and functions of its own kind.
//!
//! Everything that may wait is a [`Work`]: a future on the [`runtime`] of this process, and a
//! [`Board`] on which it asks for calls. Whoever drives it takes the news, makes the calls in its
//! own way (a thread, an event loop) and gives back what they gave. So no thread of this crate ever
//! runs code of Python or JavaScript, and each language cancels, interrupts and bounds its functions
//! as it does elsewhere.

mod board;
mod catalogue;
mod functions;
mod guard;
mod model;
mod refusal;
pub mod runtime;
mod script;
mod work;

pub use board::{Board, Call, News};
pub use catalogue::{Catalogue, Request, Which};
pub use functions::Described;
pub use guard::{Checked, Query, check};
pub use model::Abilities;
pub use refusal::{Kind, Refusal};
pub use script::{Run, Text, run};
pub use work::{Done, Work};

/// How requests of a program are named in logs and traces.
const REQUEST: &str = "package";

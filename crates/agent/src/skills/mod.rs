//! Skills: instructions that a model loads when it needs them, with their tools.
//!
//! A skill is written as a [`Definition`], in a folder with a `SKILL.md` ([`read_folder`]) or in a
//! request ([`Definition::from_request`]). Whoever knows the tools that it names makes a
//! [`Skill`](crate::Skill) of it. [`Loaded`] is what a run knows of its skills; [`Loaded::block`]
//! is the part of the system prompt that names them.

mod definition;
mod files;
mod folder;
mod front;
mod loaded;
mod retention;

pub use definition::{Definition, ToolReference};
pub use files::READ_FILE;
pub use folder::{parse, read_folder};
pub use loaded::{Answer, Loaded, TOOL_NAME};
pub use retention::{RETAINED_TURNS, retained};

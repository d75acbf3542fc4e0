//! Skills: instructions that a model loads on demand, with their tools.
//!
//! A [`SkillDefinition`] is read from a folder with a `SKILL.md` ([`read_folder`]) or from a
//! request ([`SkillDefinition::from_request`]). Code that knows its tools converts it to a
//! [`Skill`](crate::Skill). [`LoadedSkills`] tracks the skills of a run, and
//! [`LoadedSkills::block`] writes their section of the system prompt.

mod definition;
mod files;
mod folder;
mod front_matter;
mod loaded;
mod retention;

pub use definition::{SkillDefinition, ToolReference};
pub use files::READ_FILE;
pub use folder::{parse, read_folder};
pub use loaded::{LoadedSkills, SkillLoadResult, TOOL_NAME};
pub use retention::{RETAINED_TURNS, retained};

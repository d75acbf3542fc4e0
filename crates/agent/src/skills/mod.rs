//! Skills: instructions that a model loads when it needs them, with their tools.
//!
//! A skill is written as a [`SkillDefinition`], in a folder with a `SKILL.md` ([`read_folder`]) or in a
//! request ([`SkillDefinition::from_request`]). Whoever knows the tools that it names makes a
//! [`Skill`](crate::Skill) of it. [`LoadedSkills`] is what a run knows of its skills; [`LoadedSkills::block`]
//! is the part of the system prompt that names them.

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

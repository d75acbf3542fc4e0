//! `load_skill` on the side of the run: answers the model's call and keeps which skills are loaded.

use std::fmt::Write;
use std::sync::Arc;

use quillet_core::nearest;
use quillet_core::tool::{Tool, ToolSpec};
use serde_json::json;

use super::files::ReadSkillFile;
use crate::run::{Skill, Skills};

/// The tool that loads a skill.
pub const TOOL_NAME: &str = "load_skill";

/// The skills of a run, and which of them are loaded.
#[derive(Debug, Default)]
pub struct LoadedSkills {
    available: Vec<Skill>,
    chosen: Vec<String>,
    /// Indexes into `available`, in the order they were loaded.
    loaded: Vec<usize>,
    reader: Arc<ReadSkillFile>,
}

/// The answer to the model's call that loads a skill.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillLoadResult {
    /// The text.
    pub text: String,
    /// Whether the skill is loaded now and was not before.
    pub newly: bool,
    /// Whether there is no such skill.
    pub is_error: bool,
}

impl LoadedSkills {
    /// The skills of a run that begins. Names that no skill has are left out: a
    /// skill that an earlier turn loaded may be gone.
    #[must_use]
    pub fn new(skills: Skills) -> Self {
        let mut loaded = LoadedSkills {
            available: skills.available,
            chosen: skills.chosen,
            loaded: Vec::new(),
            reader: Arc::default(),
        };
        for name in &skills.loaded {
            loaded.load(name);
        }
        loaded
    }

    /// Loads a skill; its tools are there from the next call of the model on.
    pub fn load(&mut self, name: &str) -> SkillLoadResult {
        let named = |skill: &Skill| skill.name == name;
        let Some(index) = self.available.iter().position(named) else {
            return self.unknown(name);
        };
        let newly = !self.loaded.contains(&index);
        if newly {
            self.loaded.push(index);
            let folder = self.available.get(index).and_then(|s| s.folder.clone());
            if let Some(folder) = folder {
                self.reader.add(name, folder);
            }
        }
        SkillLoadResult {
            text: if newly {
                format!(
                    "Skill '{name}' has been loaded. Its instructions are in the system prompt now, \
                 and its tools can be called."
                )
            } else {
                format!(
                    "Skill '{name}' is already active. Its instructions are in the system prompt."
                )
            },
            newly,
            is_error: false,
        }
    }

    fn unknown(&self, name: &str) -> SkillLoadResult {
        let names: Vec<&str> = self.available.iter().map(|s| s.name.as_str()).collect();
        let mut text = format!("Error: Skill '{name}' is not available.");
        if let Some(near) = nearest(name, names.iter().copied()) {
            let _ = write!(text, " Did you mean '{near}'?");
        }
        let list = if names.is_empty() {
            "none".to_owned()
        } else {
            names.join(", ")
        };
        let _ = write!(text, " Available skills: {list}");
        SkillLoadResult {
            text,
            newly: false,
            is_error: true,
        }
    }

    /// Names of the skills that are loaded, in the order they were.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.active().map(|skill| skill.name.clone()).collect()
    }

    fn active(&self) -> impl Iterator<Item = &Skill> {
        let loaded = self.loaded.iter();
        loaded.filter_map(|index| self.available.get(*index))
    }

    /// The tools of all loaded skills, and one that reads their files; where two skills have one of
    /// the same name, that of the skill that was loaded first.
    #[must_use]
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let mut tools: Vec<Arc<dyn Tool>> = Vec::new();
        for tool in self.active().flat_map(|skill| &skill.tools) {
            let name = &tool.spec().name;
            if tools.iter().all(|other| other.spec().name != *name) {
                tools.push(Arc::clone(tool));
            }
        }
        if !self.reader.is_empty() {
            tools.push(Arc::clone(&self.reader) as Arc<dyn Tool>);
        }
        tools
    }

    /// The tool that loads a skill; `None` if there is none to load.
    #[must_use]
    pub fn tool(&self) -> Option<ToolSpec> {
        (!self.available.is_empty()).then(|| ToolSpec {
            name: TOOL_NAME.to_owned(),
            description: "Load a skill when its description fits the task. Its instructions are then \
                          part of the system prompt, and its tools can be called from the next turn on."
                .to_owned(),
            parameters: json!({
                "type": "object",
                "properties": {
                    "skill_name": {"type": "string", "description": "Name of the skill to load"}
                },
                "required": ["skill_name"]
            }),
            idempotent: true,
            ..ToolSpec::default()
        })
    }

    /// The part of the system prompt about skills; empty if there is nothing to say.
    #[must_use]
    pub fn block(&self) -> String {
        let mut block = String::new();
        let listed = self.available.iter().filter(|s| !s.description.is_empty());
        for skill in listed {
            let chosen = if self.chosen.contains(&skill.name) {
                " (chosen by the user: load it first)"
            } else {
                ""
            };
            let description = one_line(&skill.description);
            let _ = writeln!(block, "- **{}**: {description}{chosen}", skill.name);
        }
        if !block.is_empty() {
            block.insert_str(0, "## Available Skills\n\n");
        }
        let active: Vec<&Skill> = self.active().filter(|s| !s.prompt.is_empty()).collect();
        if !active.is_empty() {
            block.push_str(if block.is_empty() { "" } else { "\n" });
            block.push_str("## Loaded Skill Instructions\n");
        }
        for skill in active {
            let tag = tag(&skill.name);
            let prompt = contained(&skill.prompt, &tag);
            let _ = write!(block, "\n<{tag}>\n{}\n</{tag}>\n", prompt.trim());
        }
        if block.is_empty() {
            block
        } else {
            format!("<skill>\n{block}</skill>")
        }
    }
}

/// A description is one item of a list, whatever its author wrote.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    contained(&words.join(" "), "skill")
}

/// The skill's name as the name of a tag.
fn tag(name: &str) -> String {
    let safe = |c: char| {
        if c.is_alphanumeric() || c == '-' {
            c
        } else {
            '_'
        }
    };
    let tag: String = name.chars().map(safe).collect();
    if tag.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        tag
    } else {
        format!("_{tag}")
    }
}

/// The text without a closing tag that would end the part it is in.
fn contained(text: &str, tag: &str) -> String {
    let mut safe = text.to_owned();
    for name in [tag, "skill"] {
        safe = safe.replace(&format!("</{name}"), &format!("&lt;/{name}"));
    }
    safe
}

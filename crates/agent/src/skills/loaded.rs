//! Tool `load_skill`, and the skills that are loaded.

use std::fmt::Write;
use std::sync::Arc;

use quillet_core::nearest;
use quillet_core::tool::{Tool, ToolSpec};
use serde_json::json;

use super::files::ReadSkillFile;
use crate::run::{Skill, Skills};

/// Name of the tool that loads a skill.
pub const TOOL_NAME: &str = "load_skill";

/// Skills of a run, including which of them are loaded.
#[derive(Debug, Default)]
pub struct LoadedSkills {
    available: Vec<Skill>,
    chosen: Vec<String>,
    /// Indexes into `available`, in loading order.
    loaded: Vec<usize>,
    reader: Arc<ReadSkillFile>,
}

/// Result of a call of `load_skill`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkillLoadResult {
    /// The text.
    pub text: String,
    /// Whether the skill was loaded by this call.
    pub newly: bool,
    /// Whether the skill does not exist.
    pub is_error: bool,
}

impl LoadedSkills {
    /// Creates the skills of a new run. Unknown names are ignored, because a skill that an earlier
    /// turn loaded may have been removed.
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

    /// Loads a skill. Its tools are available from the next model call on.
    ///
    /// ```
    /// use quillet_agent::skills::LoadedSkills;
    /// use quillet_agent::{Skill, Skills};
    ///
    /// let refunds = Skill {
    ///     name: "refunds".to_owned(),
    ///     ..Skill::default()
    /// };
    /// let mut skills = LoadedSkills::new(Skills {
    ///     available: vec![refunds],
    ///     ..Skills::default()
    /// });
    /// assert!(skills.load("refunds").newly);
    /// assert!(skills.load("refund").is_error);
    /// assert_eq!(skills.names(), ["refunds"]);
    /// ```
    pub fn load(&mut self, name: &str) -> SkillLoadResult {
        let named = |skill: &Skill| skill.name == name;
        let Some(index) = self.available.iter().position(named) else {
            return self.unknown(name);
        };
        let newly = !self.loaded.contains(&index);
        if newly {
            self.loaded.push(index);
            let folder = self.available.get(index).and_then(|s| s.folder.clone());
            // The folder is added only after loading, because the model must not read its files
            // before.
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

    /// Returns the names of the loaded skills, in loading order.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.active().map(|skill| skill.name.clone()).collect()
    }

    fn active(&self) -> impl Iterator<Item = &Skill> {
        let loaded = self.loaded.iter();
        loaded.filter_map(|index| self.available.get(*index))
    }

    /// Returns the tools of all loaded skills, and the tool that reads their files. If several
    /// skills have a tool with the same name, the tool of the skill that was loaded first is used.
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

    /// Returns the declaration of `load_skill`; `None` if there are no skills.
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

    /// Returns the skills section of the system prompt; empty if there are no skills.
    #[must_use]
    pub fn block(&self) -> String {
        let mut block = String::new();
        // The model selects skills by their description, so a skill without one is not listed.
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

/// Joins the lines of a description, so that it stays one list item.
fn one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    contained(&words.join(" "), "skill")
}

/// Converts the skill's name to a tag name.
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

/// Escapes closing tags that would end the section.
fn contained(text: &str, tag: &str) -> String {
    let mut safe = text.to_owned();
    for name in [tag, "skill"] {
        safe = safe.replace(&format!("</{name}"), &format!("&lt;/{name}"));
    }
    safe
}

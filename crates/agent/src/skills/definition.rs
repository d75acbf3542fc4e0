//! What a skill is made of, from a file or from a request.

use std::path::Path;
use std::sync::Arc;

use quillet_core::tool::Tool;
use quillet_core::{Diagnostic, nearest};
use serde_json::{Map, Value};

use super::front_matter::FrontMatter;
use crate::run::Skill;

/// A name longer than this is refused (agentskills.io has the same limit).
const MOST_NAME: usize = 64;

/// Fields that Chat Shell or agentskills.io define. Any other is reported as unknown.
const KNOWN: &[&str] = &[
    "name",
    "description",
    "prompt",
    "displayName",
    "version",
    "author",
    "tags",
    "bindShells",
    "dependencies",
    "provider",
    "config",
    "tools",
    "mcpServers",
    "preload",
    "skill_id",
    "skill_user_id",
    "license",
    "compatibility",
    "metadata",
    "allowed-tools",
];

/// Those of them that say what it may use.
const GRANTS: [&str; 3] = ["tools", "mcpServers", "allowed-tools"];

/// A skill as it is written. Its tools are names: whoever knows the catalogue and the
/// MCP servers makes a [`Skill`] of it with [`SkillDefinition::into_skill`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkillDefinition {
    /// Its name.
    pub name: String,
    /// Its name for people; empty if it has none.
    pub display_name: String,
    /// When to load it; a skill without a description is not listed.
    pub description: String,
    /// Its version; empty if it has none.
    pub version: String,
    /// Its author; empty if it names none.
    pub author: String,
    /// Words to find it by.
    pub tags: Vec<String>,
    /// The instructions.
    pub prompt: String,
    /// Tools that come with it.
    pub tools: Vec<ToolReference>,
    /// MCP servers whose tools come with it: name to server object.
    pub mcp_servers: Map<String, Value>,
    /// Whether it is loaded when a run begins.
    pub preload: bool,
    /// Settings for its tools; `null` if there are none.
    pub config: Value,
    /// Tools of the host that it would like to use (agentskills.io).
    pub allowed_tools: Vec<String>,
    /// Its folder, if it has one.
    pub folder: Option<Arc<Path>>,
}

/// A tool that a skill names.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolReference {
    /// The name in the catalogue.
    pub name: String,
    /// The provider of its code, if the skill names one.
    pub provider: Option<String>,
    /// Settings for it; `null` if there are none.
    pub config: Value,
}

impl SkillDefinition {
    /// The skill, with the tools that its names stand for.
    #[must_use]
    pub fn into_skill(self, tools: Vec<Arc<dyn Tool>>) -> Skill {
        Skill {
            name: self.name,
            description: self.description,
            prompt: self.prompt,
            tools,
            folder: self.folder,
        }
    }

    /// A skill that comes with a request, an object of `metadata.skill_configs`. `source` is its
    /// place in the request.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_request(
        source: &str,
        object: &Map<String, Value>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let front = FrontMatter::of_object(object);
        let prompt = front.text("prompt");
        let read =
            prompt.and_then(|prompt| SkillDefinition::read(&front, "", prompt.unwrap_or_default()));
        read.map_err(|(_, message)| vec![Diagnostic::error("skill.field", source, message)])
    }

    /// The skill that these fields make, and its body.
    pub(super) fn read(
        front: &FrontMatter,
        folder: &str,
        body: String,
    ) -> Result<Self, OffsetError> {
        no_misspelt_grants(front)?;
        let text = |name: &str| Ok(front.text(name)?.unwrap_or_default());
        let name = front.text("name")?.filter(|name| !name.is_empty());
        Ok(SkillDefinition {
            name: checked_name(
                name.unwrap_or_else(|| folder.to_owned()),
                front.place("name"),
            )?,
            display_name: text("displayName")?,
            description: text("description")?,
            version: text("version")?,
            author: text("author")?,
            tags: words(front, "tags")?,
            prompt: body,
            tools: tools(front)?,
            mcp_servers: servers(front)?,
            preload: truth(front, "preload")?,
            config: front
                .value("config")
                .map(|(v, _)| v.clone())
                .unwrap_or_default(),
            allowed_tools: words(front, "allowed-tools")?,
            folder: None,
        })
    }
}

/// Refuses a field that is nearly one of those that say what a skill may use: skipped, the skill
/// would say something else than its author meant.
fn no_misspelt_grants(front: &FrontMatter) -> Result<(), OffsetError> {
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
    for (name, at) in front.unknown(KNOWN) {
        let near = |grant: &&&str| nearest(&plain(name), [plain(grant).as_str()]).is_some();
        if let Some(grant) = GRANTS.iter().find(near) {
            let known = GRANTS.join(", ");
            let message = format!(
                "unknown field {name}: did you mean {grant}? What a skill may use stands in {known}"
            );
            return Err((at, message));
        }
    }
    Ok(())
}

/// A place and what is wrong there.
pub(super) type OffsetError = (usize, String);

/// What does not prevent the use of a skill and is not what its author meant.
pub(super) fn doubts(
    front: &FrontMatter,
    definition: &SkillDefinition,
) -> Vec<(usize, String, Option<String>)> {
    let mut doubts = Vec::new();
    for (name, at) in front.unknown(KNOWN) {
        let near = nearest(name, KNOWN.iter().copied());
        let help = near.map(|near| format!("did you mean {near}?"));
        doubts.push((at, format!("unknown field {name}"), help));
    }
    if definition.description.is_empty() {
        let message = "without a description the model is not told of the skill".to_owned();
        doubts.push((
            front.start(),
            message,
            Some("add description: …".to_owned()),
        ));
    }
    if let Some((_, at)) = front.value("provider") {
        let message = "code in a skill is not run".to_owned();
        let help = "name tools of the catalogue in tools, or servers in mcpServers".to_owned();
        doubts.push((*at, message, Some(help)));
    }
    doubts
}

fn checked_name(name: String, at: usize) -> Result<String, OffsetError> {
    if name.is_empty() {
        return Err((at, "a skill needs a name".to_owned()));
    }
    if name.chars().count() > MOST_NAME {
        return Err((
            at,
            format!("the name of a skill has at most {MOST_NAME} characters"),
        ));
    }
    let bad = |c: &char| c.is_control() || "/\\<>`*\"'".contains(*c);
    match name.chars().find(bad) {
        Some(found) => Err((at, format!("the name {name:?} has the character {found:?}"))),
        None => Ok(name),
    }
}

/// A list of texts, or one text with words.
fn words(front: &FrontMatter, field: &str) -> Result<Vec<String>, OffsetError> {
    match front.value(field) {
        None => Ok(Vec::new()),
        Some((Value::String(text), _)) => {
            let words = text.split([',', ' ', '\n']).filter(|word| !word.is_empty());
            Ok(words.map(str::to_owned).collect())
        }
        Some((Value::Array(list), at)) => {
            let text = |item: &Value| match item {
                Value::String(text) => Ok(text.clone()),
                Value::Number(_) | Value::Bool(_) => Ok(item.to_string()),
                _ => Err((*at, format!("{field} has to be a list of texts"))),
            };
            list.iter().map(text).collect()
        }
        Some((_, at)) => Err((*at, format!("{field} has to be a list of texts"))),
    }
}

fn truth(front: &FrontMatter, field: &str) -> Result<bool, OffsetError> {
    match front.value(field) {
        None => Ok(false),
        Some((Value::Bool(truth), _)) => Ok(*truth),
        Some((_, at)) => Err((*at, format!("{field} has to be true or false"))),
    }
}

fn tools(front: &FrontMatter) -> Result<Vec<ToolReference>, OffsetError> {
    let Some((value, at)) = front.value("tools") else {
        return Ok(Vec::new());
    };
    let wrong = || {
        (
            *at,
            "tools has to be a list of names, or of objects with a name".to_owned(),
        )
    };
    let list = value.as_array().ok_or_else(wrong)?;
    list.iter()
        .map(|tool| reference(tool).ok_or_else(wrong))
        .collect()
}

fn reference(tool: &Value) -> Option<ToolReference> {
    if let Value::String(name) = tool {
        let name = name.clone();
        return Some(ToolReference {
            name,
            ..ToolReference::default()
        });
    }
    let text = |field: &str| tool.get(field).and_then(Value::as_str).map(str::to_owned);
    Some(ToolReference {
        name: text("name").filter(|name| !name.is_empty())?,
        provider: text("provider"),
        config: tool.get("config").cloned().unwrap_or_default(),
    })
}

fn servers(front: &FrontMatter) -> Result<Map<String, Value>, OffsetError> {
    let Some((value, at)) = front.value("mcpServers") else {
        return Ok(Map::new());
    };
    let servers = value.as_object().cloned();
    let servers = servers.filter(|servers| servers.values().all(Value::is_object));
    servers.ok_or_else(|| {
        (
            *at,
            "mcpServers has to be an object of server objects".to_owned(),
        )
    })
}

//! Definition of a skill in a file or a request.

use std::path::Path;
use std::sync::Arc;

use quillet_core::tool::Tool;
use quillet_core::{Diagnostic, nearest};
use serde_json::{Map, Value};

use super::front_matter::FrontMatter;
use crate::run::Skill;

/// Maximum characters of a name, as in agentskills.io.
const MOST_NAME: usize = 64;

/// Fields defined by Chat Shell or agentskills.io. Other fields are reported as unknown.
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

/// Fields that grant permissions to the skill.
const GRANTS: [&str; 3] = ["tools", "mcpServers", "allowed-tools"];

/// Parsed skill that refers to its tools by name. Code that knows the catalogue and the MCP servers
/// converts it to a [`Skill`] with [`SkillDefinition::into_skill`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SkillDefinition {
    /// Its name.
    pub name: String,
    /// Display name; empty if it has none.
    pub display_name: String,
    /// Describes when the model should load the skill. A skill without a description is not listed.
    pub description: String,
    /// Its version; empty if it has none.
    pub version: String,
    /// Its author; empty if it has none.
    pub author: String,
    /// Search keywords.
    pub tags: Vec<String>,
    /// The instructions.
    pub prompt: String,
    /// Names of its tools.
    pub tools: Vec<ToolReference>,
    /// Its MCP servers: an object of server settings by name.
    pub mcp_servers: Map<String, Value>,
    /// Whether it is loaded at the start of a run.
    pub preload: bool,
    /// Settings of its tools; `null` if there are none.
    pub config: Value,
    /// Host tools that it requests (agentskills.io).
    pub allowed_tools: Vec<String>,
    /// Its folder, if it has one.
    pub folder: Option<Arc<Path>>,
}

/// Reference to a tool in a skill.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolReference {
    /// Name in the catalogue.
    pub name: String,
    /// Provider of the tool's code, if the skill specifies it.
    pub provider: Option<String>,
    /// Its settings; `null` if there are none.
    pub config: Value,
}

impl SkillDefinition {
    /// Converts the definition to a skill with these tools.
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

    /// Reads a skill from an object of `metadata.skill_configs` in a request. `source` is its
    /// location in the request.
    ///
    /// # Errors
    /// The problem.
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

    /// Builds a definition from front matter and body.
    pub(super) fn read(
        front: &FrontMatter,
        folder: &str,
        body: String,
    ) -> Result<Self, OffsetError> {
        // Checked first, because a skill with unclear permissions must not be used at all.
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

/// Rejects misspelled permission fields, because ignoring one would change the meaning of the
/// skill.
fn no_misspelt_grants(front: &FrontMatter) -> Result<(), OffsetError> {
    // Spellings such as `allowed_tools` or `AllowedTools` are detected too.
    let plain = |name: &str| name.to_lowercase().replace(['-', '_'], "");
    for (name, at) in front.unknown(KNOWN) {
        let near = |grant: &&&str| nearest(&plain(name), [plain(grant).as_str()]).is_some();
        if let Some(grant) = GRANTS.iter().find(near) {
            let known = GRANTS.join(", ");
            let message = format!(
                "unknown field {name}: did you mean {grant}? The fields for what a skill may use \
                 are {known}"
            );
            return Err((at, message));
        }
    }
    Ok(())
}

/// Byte offset and problem.
pub(super) type OffsetError = (usize, String);

/// Returns warnings about fields that do not prevent the use of a skill.
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
        let message = "missing description: without it the skill is not offered to the \
            model"
            .to_owned();
        doubts.push((
            front.start(),
            message,
            Some("add description: …".to_owned()),
        ));
    }
    if let Some((_, at)) = front.value("provider") {
        let message = "skills cannot run code".to_owned();
        let help = "list stored tools under tools, or MCP servers under mcpServers".to_owned();
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
            format!("skill name too long: at most {MOST_NAME} characters"),
        ));
    }
    // Names are used in paths, in tags and in the Markdown of the system prompt.
    let bad = |c: &char| c.is_control() || "/\\<>`*\"'".contains(*c);
    match name.chars().find(bad) {
        Some(found) => Err((
            at,
            format!("invalid character {found:?} in the name {name:?}"),
        )),
        None => Ok(name),
    }
}

/// Reads a list of strings, or one string with several words.
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
                _ => Err((*at, format!("{field} must be a list of strings"))),
            };
            list.iter().map(text).collect()
        }
        Some((_, at)) => Err((*at, format!("{field} must be a list of strings"))),
    }
}

fn truth(front: &FrontMatter, field: &str) -> Result<bool, OffsetError> {
    match front.value(field) {
        None => Ok(false),
        Some((Value::Bool(truth), _)) => Ok(*truth),
        Some((_, at)) => Err((*at, format!("{field} must be true or false"))),
    }
}

fn tools(front: &FrontMatter) -> Result<Vec<ToolReference>, OffsetError> {
    let Some((value, at)) = front.value("tools") else {
        return Ok(Vec::new());
    };
    let wrong = || {
        (
            *at,
            "tools must be a list of names, or of objects with a name".to_owned(),
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
            "mcpServers must be an object of server objects".to_owned(),
        )
    })
}

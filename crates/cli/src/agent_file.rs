//! Agent and skill files for `quillet check` and `quillet agent`.

use std::fs;
use std::path::Path;

use quillet::settings::{self, Settings};
use quillet_agent::{AgentDefinition, KnownNames, skills as skill_files};
use quillet_core::store::{EntryKind, StoreEntry};
use quillet_core::{Diagnostic, Value};
use quillet_prompt::{CatalogueSnapshot, prompt_function};
use quillet_tools::builtin;

use crate::report::LocatedDiagnostic;

/// Folder of agents in a store.
const FOLDER: &str = "agents";
/// Fields that only agents have.
const FIELDS: [&str; 4] = ["instructions", "mcpServers", "modelSettings", "skills"];

/// Returns whether a definition is an agent, by its folder or its fields.
pub(crate) fn is_agent(path: &str, definition: &Value) -> bool {
    let mut folders = Path::new(path).components().rev().skip(1);
    if folders.any(|folder| folder.as_os_str() == FOLDER) {
        return true;
    }
    let map = definition.as_map();
    map.is_some_and(|map| FIELDS.iter().any(|name| map.get(name).is_some()))
}

/// Returns whether a file is a `SKILL.md`.
pub(crate) fn is_skill(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == "SKILL.md")
}

/// Returns the diagnostics of an agent.
pub(crate) fn diagnostics(entry: &StoreEntry) -> Vec<Diagnostic> {
    if let Some(problem) = &entry.problem {
        return vec![problem.clone()];
    }
    let definition = AgentDefinition::parse(&entry.origin, &entry.text);
    definition.err().unwrap_or_default()
}

/// Returns the names of all tools that patterns of agents can match: stored tools, prompts, and
/// built-in tools, configured or not.
pub(crate) fn tools(snapshot: &CatalogueSnapshot) -> Vec<Vec<String>> {
    let stored = snapshot.functions.values();
    let stored = stored.map(|tool| tool.spec().names().map(str::to_owned).collect());
    let prompts = snapshot.prompts.values().map(|prompt| {
        let id = &prompt.id;
        let template = prompt.usable(EntryKind::Prompt);
        let template = template.is_ok_and(|entry| entry.script().is_none());
        let script = (!template).then(|| format!("script/{id}"));
        let names = [prompt_function(id), format!("prompt/{id}")];
        names.into_iter().chain(script).collect()
    });
    let built_in = builtin::BY_NAME.map(|name| vec![name.to_owned()]);
    stored.chain(prompts).chain(built_in).collect()
}

/// Returns warnings about unknown names in an agent. The tools of a database are known only after
/// it is opened, so patterns with their prefixes are skipped.
pub(crate) fn unknown_names(entry: &StoreEntry, known: KnownNames<'_>) -> Vec<Diagnostic> {
    let mut found = AgentDefinition::doubts(&entry.origin, &entry.text, known);
    // Only the message contains the pattern, so the quoted name in it is compared.
    let of_databases = ["\"db_", "\"!db_", "\"database/", "\"!database/"];
    found.retain(|found| {
        !of_databases
            .iter()
            .any(|begin| found.message.contains(begin))
    });
    found
}

/// Returns whether MCP servers are configured, whose tools are unknown here.
pub(crate) fn has_servers(config: &Settings) -> bool {
    let servers = config.text(&settings::AGENT_MCP_SERVERS);
    servers.is_some_and(|servers| !servers.trim().is_empty())
}

/// Returns the names of the skills in a folder.
pub(crate) fn skill_names(folder: &Path) -> Vec<String> {
    let (skills, _) = skill_files::read_folder(folder);
    skills.into_iter().map(|skill| skill.name).collect()
}

/// Returns the number of skills in a folder, and their diagnostics.
pub(crate) fn skills(folder: &Path) -> (usize, Vec<LocatedDiagnostic>) {
    // The parent of a bare file name is the empty path.
    let folder = if folder.as_os_str().is_empty() {
        Path::new(".")
    } else {
        folder
    };
    let (skills, found) = skill_files::read_folder(folder);
    let finding = |diagnostic: Diagnostic| LocatedDiagnostic {
        text: fs::read_to_string(&diagnostic.source).ok(),
        diagnostic,
    };
    (skills.len(), found.into_iter().map(finding).collect())
}

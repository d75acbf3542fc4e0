//! Selects the tools that a model may call, by patterns over stored tools, stored prompts and
//! built-in tools.

use std::collections::BTreeMap;

use quillet_agent::Permissions;
use quillet_core::nearest;
use quillet_host::agent::AgentService;
use quillet_prompt::PromptResult;
use quillet_tools::builtin::{BY_NAME, BuiltinOptions};
use serde_json::{Map, Value};

use crate::args::ModelArgs;
use crate::failure::CliError;

/// Prefix of prompts in patterns.
const PROMPT: &str = "prompt/";

/// Names of selected tools, with empty settings.
type ToolSelection = BTreeMap<String, Map<String, Value>>;

/// Returns the tools selected by the arguments. Without patterns, returns all stored tools if
/// `--demo` is set, or else none.
///
/// # Errors
/// A pattern is invalid or matches nothing.
pub(super) fn tools(service: &AgentService, args: &ModelArgs) -> Result<ToolSelection, CliError> {
    let known = callable_tools(service);
    if args.tool.is_empty() {
        let all = known
            .into_iter()
            .filter(|tool| args.demo && is_stored(&tool.name));
        return Ok(all.map(|tool| (tool.name, Map::new())).collect());
    }
    let permissions = Permissions::parse(&args.tool);
    let permissions = permissions.map_err(|error| CliError::Usage(format!("--tool: {error}")))?;
    // A pattern that only excludes tools may match none of them.
    let wanted = |pattern: &&String| !pattern.trim_start().starts_with('!');
    for pattern in args.tool.iter().filter(wanted) {
        matches_something(pattern, &known)?;
    }
    let allowed = known
        .into_iter()
        .filter(|tool| tool.is_allowed(&permissions));
    Ok(allowed.map(|tool| (tool.name, Map::new())).collect())
}

fn is_stored(name: &str) -> bool {
    !BY_NAME.contains(&name)
}

/// A tool that a pattern can select.
struct Callable {
    /// Its name in requests.
    name: String,
    /// Other names that patterns can use.
    also: Vec<String>,
}

impl Callable {
    fn names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.name.as_str()).chain(self.also.iter().map(String::as_str))
    }

    fn is_allowed(&self, permissions: &Permissions) -> bool {
        permissions.allows_one_of(&self.names().collect::<Vec<_>>())
    }
}

/// Returns all tools. Built-in tools are included only if they are usable.
fn callable_tools(service: &AgentService) -> Vec<Callable> {
    let parts = service.parts();
    let snapshot = parts.prompts.catalogue().snapshot();
    let functions = snapshot.functions.iter().map(|(name, tool)| Callable {
        name: name.to_string(),
        also: tool.spec().also.clone(),
    });
    let prompts = snapshot.prompts.keys().filter_map(|id| {
        let tool = parts.prompts.tool(id, PromptResult::Text).ok()?;
        Some(Callable {
            name: format!("{PROMPT}{id}"),
            also: tool.spec().names().map(str::to_owned).collect(),
        })
    });
    let options = BuiltinOptions::default();
    let builtin = BY_NAME
        .iter()
        .filter(|name| parts.tools.builtin(name, &options).is_ok());
    let builtin = builtin.map(|name| Callable {
        name: (*name).to_owned(),
        also: Vec::new(),
    });
    functions.chain(prompts).chain(builtin).collect()
}

fn matches_something(pattern: &str, known: &[Callable]) -> Result<(), CliError> {
    let alone = Permissions::parse(&[pattern]);
    let alone = alone.map_err(|error| CliError::Usage(format!("--tool {pattern}: {error}")))?;
    if known.iter().any(|tool| tool.is_allowed(&alone)) {
        return Ok(());
    }
    let near = nearest(pattern, known.iter().flat_map(Callable::names));
    let hint = match near {
        Some(near) => format!("did you mean {near}?"),
        None => "`quillet tool list` lists stored tools; set the store with --store".to_owned(),
    };
    Err(CliError::Usage(format!(
        "--tool {pattern} matches no tool, prompt or built-in tool; {hint}"
    )))
}

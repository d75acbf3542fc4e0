//! Which tools a model may call: patterns over stored tools, stored prompts and
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

/// How prompts are named as tools.
const PROMPT: &str = "prompt/";

/// Names of tools, with the settings of each (none).
type ToolSelection = BTreeMap<String, Map<String, Value>>;

/// The tools that the arguments name; with `--demo` all of the store.
///
/// # Errors
/// A pattern that cannot be meant or that matches nothing.
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

/// Something that could be called.
struct Callable {
    /// What a request calls it.
    name: String,
    /// What else patterns may call it.
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

/// Everything that could be called; built-in tools only where they can be used.
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

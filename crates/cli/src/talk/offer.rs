//! Which tools a model may call: patterns over stored tools, stored prompts and
//! built-in tools.

use std::collections::BTreeMap;

use quillet_agent::Permissions;
use quillet_core::nearest;
use quillet_host::agent::AgentService;
use quillet_tools::builtin::{BY_NAME, BuiltinOptions};
use serde_json::{Map, Value};

use crate::args::Talk;
use crate::failure::Failure;

/// How prompts are named as tools.
const PROMPT: &str = "prompt/";

/// Names of tools, with the settings of each (none).
type Named = BTreeMap<String, Map<String, Value>>;

/// The tools that the arguments name; with `--demo` all of the store.
///
/// # Errors
/// A pattern that cannot be meant or that matches nothing.
pub(super) fn tools(service: &AgentService, args: &Talk) -> Result<Named, Failure> {
    let known = known(service);
    if args.tool.is_empty() {
        let all = known
            .into_iter()
            .filter(|name| args.demo && is_stored(name));
        return Ok(all.map(|name| (name, Map::new())).collect());
    }
    let permissions = Permissions::parse(&args.tool);
    let permissions = permissions.map_err(|error| Failure::Usage(format!("--tool: {error}")))?;
    let wanted = |pattern: &&String| !pattern.trim_start().starts_with('!');
    for pattern in args.tool.iter().filter(wanted) {
        matches_something(pattern, &known)?;
    }
    let allowed = known.into_iter().filter(|name| permissions.allows(name));
    Ok(allowed.map(|name| (name, Map::new())).collect())
}

fn is_stored(name: &str) -> bool {
    !BY_NAME.contains(&name)
}

/// Everything that could be called; built-in tools only where they can be used.
fn known(service: &AgentService) -> Vec<String> {
    let parts = service.parts();
    let snapshot = parts.prompts.catalogue().snapshot();
    let functions = snapshot.functions.keys().map(ToString::to_string);
    let usable = snapshot
        .prompts
        .values()
        .filter(|prompt| prompt.status() == "valid");
    let prompts = usable.map(|prompt| format!("{PROMPT}{}", prompt.id));
    let options = BuiltinOptions::default();
    let builtin = BY_NAME
        .iter()
        .filter(|name| parts.tools.builtin(name, &options).is_ok());
    functions
        .chain(prompts)
        .chain(builtin.map(|name| (*name).to_owned()))
        .collect()
}

fn matches_something(pattern: &str, known: &[String]) -> Result<(), Failure> {
    let alone = Permissions::parse(&[pattern]);
    let alone = alone.map_err(|error| Failure::Usage(format!("--tool {pattern}: {error}")))?;
    if known.iter().any(|name| alone.allows(name)) {
        return Ok(());
    }
    let near = nearest(pattern, known.iter().map(String::as_str));
    let hint = match near {
        Some(near) => format!("did you mean {near}?"),
        None => "`quillet tool list` shows what is stored; name a store with --store".to_owned(),
    };
    Err(Failure::Usage(format!(
        "--tool {pattern} matches no tool, prompt or built-in tool; {hint}"
    )))
}

//! Inputs, parameters and history of a script, from a request.

use quillet_core::chat::ChatOptions;
use quillet_core::{Map, MapTable, Message, Role, Value};
use quillet_script::answer::Inputs;
use quillet_script::run::{DialogueTurn, ScriptInput};
use quillet_script::syntax::Script;

/// Name of the input for the user's message, unless one is declared as the first input.
const CONTENT: &str = "content";

/// Members of a request that control this response, not the models of a script. The script itself
/// determines formats, tools and the number of answers.
const OWN: [&str; 7] = [
    "n",
    "parallel_tool_calls",
    "response_format",
    "stream",
    "stream_options",
    "tool_choice",
    "tools",
];

/// Reads the inputs of a script and the previous conversation.
pub(crate) fn parse_input(
    arguments: &Map,
    question: Option<&str>,
    history: &[Message],
    script: &Script,
) -> (ScriptInput, Vec<DialogueTurn>) {
    let mut history: Vec<DialogueTurn> = history.iter().filter_map(turn).collect();
    let input = match question {
        None if arguments.is_empty() => ScriptInput::None,
        None => ScriptInput::Named(arguments.clone()),
        Some(question) if arguments.is_empty() => ScriptInput::Single(question.into()),
        Some(question) => match asking(script).filter(|name| arguments.get(name).is_none()) {
            Some(name) => ScriptInput::Named(with(arguments, &name, question)),
            None => {
                history.push(said("user", question.to_owned()));
                ScriptInput::Named(arguments.clone())
            }
        },
    };
    (input, history)
}

/// Input for the user's message: the one with index 0, or `content`.
fn asking(script: &Script) -> Option<String> {
    let config = script.config.value();
    let declared = config.as_map()?.get("input").cloned().unwrap_or_default();
    let inputs = Inputs::read(&declared).ok()?;
    let field = inputs.field_at_index(0).or_else(|| inputs.get(CONTENT))?;
    Some(field.name.clone())
}

fn with(arguments: &Map, name: &str, text: &str) -> Map {
    let mut table: MapTable = arguments.to_table();
    table.insert(name.into(), text.into());
    Map::new(table)
}

fn said(role: &str, content: String) -> DialogueTurn {
    DialogueTurn {
        role: role.to_owned(),
        content,
        ..DialogueTurn::default()
    }
}

/// Converts a message of the conversation. Tool calls and their results are dropped.
fn turn(message: &Message) -> Option<DialogueTurn> {
    let content = message.content.to_string();
    let is_said = message.role != Role::Tool && !content.is_empty();
    is_said.then(|| DialogueTurn {
        name: message.name.clone(),
        ..said(message.role.as_str(), content)
    })
}

/// Model parameters that override those of the script.
pub(crate) fn parameters(model: Option<&str>, options: &ChatOptions) -> Map {
    let mut table = MapTable::default();
    if let Some(model) = model {
        table.insert("model".into(), model.into());
    }
    let options = serde_json::to_value(options).unwrap_or_default();
    let members = options.as_object().into_iter().flatten();
    let members = members.filter(|(name, _)| !OWN.contains(&name.as_str()));
    table.extend(members.map(|(name, value)| (name.as_str().into(), Value::from(value.clone()))));
    Map::new(table)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_script_stands_on_is_not_a_client_s_to_set() {
        let options = json!({"temperature": 0.5, "seed": 7, "stream": false, "n": 1,
            "tools": [], "tool_choice": "none", "response_format": {"type": "json_object"}});
        let options: ChatOptions = serde_json::from_value(options).unwrap();
        let all = serde_json::Value::from(&Value::Map(parameters(Some("m"), &options)));
        assert_eq!(all, json!({"model": "m", "temperature": 0.5, "seed": 7}));
    }
}

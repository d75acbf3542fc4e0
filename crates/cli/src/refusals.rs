//! Parameters in definitions that their model refuses. Always a warning: the request works without
//! them, and a gateway may accept them.

use quillet_agent::AgentDefinition;
use quillet_core::chat::ChatOptions;
use quillet_core::store::{EntryKind, StoreEntry};
use quillet_core::{Diagnostic, Span};
use quillet_llm::models::RefusedParameters;
use quillet_prompt::{Definition, PromptEntry};
use quillet_script::call::CallSettings;
use quillet_script::syntax::Script;
use quillet_yaml::MapEntry;

const CODE: &str = "model.refused_parameter";

/// Names of parameters in files, if they differ from those of requests.
const SPELLINGS: [(&str, &str); 6] = [
    ("top_p", "topP"),
    ("top_k", "topK"),
    ("presence_penalty", "presencePenalty"),
    ("frequency_penalty", "frequencyPenalty"),
    ("stop", "stopSequences"),
    ("stop", "stop_sequences"),
];

/// Returns a warning if the model of a prompt refuses parameters of the prompt.
pub(crate) fn of_prompt(definition: &Definition<PromptEntry>) -> Option<Diagnostic> {
    let entry = definition.usable(EntryKind::Prompt).ok()?;
    let model = entry.prompt.model.as_deref()?;
    found(
        &definition.origin,
        Some(&definition.text),
        model,
        &entry.prompt.options,
    )
}

/// Returns a warning if the model of an agent refuses parameters of the agent.
pub(crate) fn of_agent(entry: &StoreEntry) -> Option<Diagnostic> {
    let agent = AgentDefinition::parse(&entry.origin, &entry.text).ok()?;
    // The text of a YAML file is converted to JSON, so only a JSON file has the same locations.
    let text = entry.origin.ends_with(".json").then_some(&*entry.text);
    found(&entry.origin, text, &agent.model?, &agent.options)
}

/// Returns a warning if the model of a script refuses parameters in its front matter.
pub(crate) fn of_script(script: &Script) -> Option<Diagnostic> {
    // `prompt` overrides `parameters`.
    let sections = ["parameters", "prompt"].into_iter();
    let sections = sections.filter_map(|key| script.config.get(key)?.entries());
    let entries: Vec<&MapEntry> = sections.flatten().collect();
    let settings = entries
        .iter()
        .map(|entry| (entry.name(), entry.value.value()));
    let settings = CallSettings::read(&settings.collect()).0;
    let refused = RefusedParameters::of(&settings.model?, &settings.options)?;
    let first = *refused.names.first()?;
    let mut latest = entries.iter().rev();
    let place = latest.find(|entry| is_named(entry.name(), first));
    let span = place.map_or(script.config.span, |entry| entry.key.span);
    let found = script.source.warning(CODE, refused.message, span);
    Some(found.help(refused.help))
}

fn found(
    source: &str,
    text: Option<&str>,
    model: &str,
    options: &ChatOptions,
) -> Option<Diagnostic> {
    let refused = RefusedParameters::of(model, options)?;
    let name = *refused.names.first()?;
    let place = text.and_then(|text| Some((text, place(text, name)?)));
    let found = Diagnostic::warning(CODE, source, refused.message).help(refused.help);
    Some(match place {
        Some((text, span)) => found.at(text, span),
        None => found,
    })
}

fn is_named(key: &str, name: &str) -> bool {
    key == name || SPELLINGS.contains(&(name, key))
}

/// Finds the first key of a parameter in a definition of any format.
fn place(text: &str, name: &str) -> Option<Span> {
    let other = SPELLINGS.iter().filter(|(ours, _)| *ours == name);
    let spellings = other.map(|(_, theirs)| *theirs).chain([name]);
    let keys = spellings.filter_map(|key| {
        let mut starts = text.match_indices(key).map(|(start, _)| start);
        let start = starts.find(|start| {
            let before = text[..*start].chars().next_back();
            let after = text[start + key.len()..].trim_start_matches(['"', '\'', ' ']);
            before.is_none_or(|c| !c.is_alphanumeric() && c != '_') && after.starts_with(':')
        })?;
        let end = start + key.len();
        Some(Span { start, end })
    });
    keys.min_by_key(|span| span.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_a_parameter_is_found() {
        for (text, name, start) in [
            ("options: {temperature: 0.3}", "temperature", Some(10)),
            (r#"{"topP" : 1}"#, "top_p", Some(2)),
            ("# temperature\ntemperature: 1", "temperature", Some(14)),
            ("my_temperature: 1", "temperature", None),
            ("stop_words: x\nstop: x", "stop", Some(14)),
        ] {
            let found = place(text, name).map(|span| span.start);
            assert_eq!(found, start, "{text}");
        }
    }
}

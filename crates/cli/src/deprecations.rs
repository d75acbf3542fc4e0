//! Deprecated models in definitions and settings. Always a warning: a deprecated model works until
//! its end, and a gateway may offer it longer.

use jiff::civil::Date;
use quillet_agent::AgentDefinition;
use quillet_core::store::{EntryKind, StoreEntry};
use quillet_core::{Diagnostic, Span};
use quillet_llm::models::{ModelDeprecation, ModelFacts};
use quillet_prompt::{Definition, PromptEntry};
use quillet_script::syntax::Script;

const CODE: &str = "model.ends";

/// Returns the deprecation of a model.
pub(crate) fn of_model(model: &str, today: Date) -> Option<ModelDeprecation> {
    ModelFacts::built_in().find(model).deprecation(model, today)
}

/// Returns a warning if the model of a prompt is deprecated.
pub(crate) fn of_prompt(definition: &Definition<PromptEntry>, today: Date) -> Option<Diagnostic> {
    let entry = definition.usable(EntryKind::Prompt).ok()?;
    let model = entry.prompt.model.as_deref()?;
    found(&definition.origin, &definition.text, model, today)
}

/// Returns a warning if the model of an agent is deprecated.
pub(crate) fn of_agent(entry: &StoreEntry, today: Date) -> Option<Diagnostic> {
    let agent = AgentDefinition::parse(&entry.origin, &entry.text).ok()?;
    found(&entry.origin, &entry.text, &agent.model?, today)
}

/// Returns warnings for deprecated models in the front matter of a script.
pub(crate) fn of_script(script: &Script, today: Date) -> Vec<Diagnostic> {
    let settings = ["parameters", "prompt"].into_iter();
    let models = settings.filter_map(|key| script.config.get(key)?.get("model"));
    let ending = |node: &quillet_yaml::Node| {
        let ending = of_model(node.as_str()?, today)?;
        let found = script.source.warning(CODE, ending.message, node.span);
        Some(found.help(ending.help))
    };
    models.filter_map(ending).collect()
}

fn found(source: &str, text: &str, model: &str, today: Date) -> Option<Diagnostic> {
    let ending = of_model(model, today)?;
    let found = Diagnostic::warning(CODE, source, ending.message).help(ending.help);
    Some(match place(text, model) {
        Some(span) => found.at(text, span),
        None => found,
    })
}

/// Finds the model in a definition: in every format a key starting with `model` precedes it.
fn place(text: &str, model: &str) -> Option<Span> {
    // The search starts at the key, because the name can also occur in a comment before it.
    let key = text.find("model")?;
    let start = key + text[key..].find(model)?;
    Some(Span {
        start,
        end: start + model.len(),
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use jiff::civil::date;
    use quillet_script::reader;
    use quillet_script::syntax::ScriptSource;

    use super::*;

    const SOON: &str = "the model gpt-5 ends on 2026-12-11, in 16 days";

    #[test]
    fn the_model_of_a_definition_is_found_with_its_place() {
        let today = date(2026, 11, 25);
        for (text, model, expected) in [
            ("model: gpt-5\n", "gpt-5", Some((SOON, 7))),
            (r#"{"model": "gpt-5"}"#, "gpt-5", Some((SOON, 11))),
            ("# gpt-5\nmodel:\n  id: gpt-5\n", "gpt-5", Some((SOON, 21))),
            ("model: gpt-5.4\n", "gpt-5.4", None),
            ("model: mock\n", "mock", None),
        ] {
            let found = found("x", text, model, today);
            let found = found.map(|found| (found.message, found.span.unwrap().start));
            let expected = expected.map(|(message, start)| (message.to_owned(), start));
            assert_eq!(found, expected, "{text}");
        }
        assert!(found("x", "model: gpt-5", "gpt-5", date(2026, 9, 11)).is_none());
        let elsewhere = found("x", "Hello {{name}}", "gpt-5", today).unwrap();
        assert_eq!(elsewhere.span, None);
    }

    #[test]
    fn agents_and_scripts_name_theirs() {
        let today = date(2026, 11, 25);
        let agent = |text: &str| {
            let entry = StoreEntry::new(
                quillet_core::store::EntryKey::new("a"),
                text.to_owned(),
                "a",
            );
            of_agent(&entry, today).map(|found| found.message)
        };
        assert_eq!(agent("model: gpt-5\n").as_deref(), Some(SOON));
        assert_eq!(agent("model: gpt-5.4\n"), None);
        assert_eq!(agent("instructions: x\n"), None);

        let text = "---\nparameters:\n  model: openai://gpt-5\n---\n- user: hi\n";
        let source = ScriptSource {
            name: "s".to_owned(),
            path: None,
            text: text.into(),
        };
        let script = reader::read(Arc::new(source)).script;
        let found = of_script(&script, today);
        assert_eq!(found.len(), 1);
        let span = found[0].span.unwrap();
        assert_eq!(&text[span.start..span.end], "openai://gpt-5");
    }
}

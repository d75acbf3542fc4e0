//! Limits warnings to one per model, or per model and parameter, however often it is used.

use std::sync::{Arc, Mutex};

use jiff::civil::Date;

use super::deprecation::ModelDeprecation;
use super::facts::ModelInfo;
use super::refusals::RefusedParameters;
use quillet_core::lock::lock;

/// Models that a warning was shown for. Keyed by entry, so the lists have a limited length.
#[derive(Debug, Default)]
pub(super) struct WarnedModels {
    deprecated: Mutex<Vec<Arc<str>>>,
    /// Entries with the parameters that their models refuse.
    refusing: Mutex<Vec<(Arc<str>, &'static str)>>,
}

impl WarnedModels {
    /// Returns the deprecation of a model that was requested as `name`, the first time only.
    pub(super) fn first(
        &self,
        name: &str,
        facts: &ModelInfo,
        today: Date,
    ) -> Option<ModelDeprecation> {
        let mut told = lock(&self.deprecated);
        if told.contains(&facts.id) {
            return None;
        }
        let ending = facts.deprecation(name, today)?;
        told.push(facts.id.clone());
        Some(ending)
    }

    /// Whether no earlier warning for the model had one of these parameters.
    pub(super) fn first_refusal(&self, facts: &ModelInfo, refused: &RefusedParameters) -> bool {
        let mut told = lock(&self.refusing);
        let before = told.len();
        for name in &refused.names {
            if !told
                .iter()
                .any(|(id, known)| *id == facts.id && known == name)
            {
                told.push((facts.id.clone(), name));
            }
        }
        told.len() > before
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;
    use quillet_core::chat::ChatOptions;

    use super::super::ModelFacts;
    use super::*;

    #[test]
    fn an_end_is_told_once_and_not_too_early() {
        let own = r#"[
            {"id": "old", "context": 9, "output": 9, "ends": "2026-12-11"},
            {"id": "new", "context": 9, "output": 9}
        ]"#;
        let facts = ModelFacts::default().with(own).unwrap();
        let told = WarnedModels::default();
        for (model, day, is_told) in [
            ("new", date(2026, 11, 25), false),
            ("old", date(2026, 9, 1), false),
            ("x/old-latest", date(2026, 11, 25), true),
            ("old", date(2026, 11, 25), false),
            ("old", date(2026, 12, 24), false),
        ] {
            let first = told.first(model, &facts.find(model), day);
            assert_eq!(first.is_some(), is_told, "{model} {day}");
        }
    }

    #[test]
    fn a_refused_parameter_is_told_once_per_model() {
        let facts = ModelFacts::built_in();
        let told = WarnedModels::default();
        let heat = ChatOptions {
            temperature: Some(0.5),
            ..ChatOptions::default()
        };
        let both = ChatOptions {
            top_p: Some(0.5),
            ..heat.clone()
        };
        for (model, options, is_told) in [
            ("claude-opus-5-5", &heat, true),
            ("anthropic/claude-opus-5-5", &heat, false),
            ("claude-opus-5-5", &both, true),
            ("claude-opus-5-5", &both, false),
            ("claude-sonnet-5-5", &heat, true),
        ] {
            let refused = RefusedParameters::of(model, options).unwrap();
            let first = told.first_refusal(&facts.find(model), &refused);
            assert_eq!(first, is_told, "{model} {:?}", refused.names);
        }
    }
}

//! Limits deprecation warnings to one per model, however often it is used.

use std::sync::{Arc, Mutex};

use jiff::civil::Date;

use super::deprecation::ModelDeprecation;
use super::facts::ModelInfo;
use quillet_core::lock::lock;

/// Models that a warning was shown for. Keyed by entry, so the list has at most one item per entry.
#[derive(Debug, Default)]
pub(super) struct WarnedModels(Mutex<Vec<Arc<str>>>);

impl WarnedModels {
    /// Returns the deprecation of a model that was requested as `name`, the first time only.
    pub(super) fn first(
        &self,
        name: &str,
        facts: &ModelInfo,
        today: Date,
    ) -> Option<ModelDeprecation> {
        let mut told = lock(&self.0);
        if told.contains(&facts.id) {
            return None;
        }
        let ending = facts.deprecation(name, today)?;
        told.push(facts.id.clone());
        Some(ending)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

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
}

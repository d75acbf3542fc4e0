//! Validation of a definition before it is stored.

use quillet_agent::AgentDefinition;
use quillet_core::history::DefinitionContent;
use quillet_core::store::{EntryKey, EntryKind, StoreEntry};
use quillet_core::{Diagnostic, Severity};

use super::DefinitionService;

impl DefinitionService {
    /// Returns the diagnostics that `quillet check` reports for a definition under this key.
    /// Database connections are checked when they are opened.
    #[must_use]
    pub fn check(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        content: &DefinitionContent,
    ) -> Vec<Diagnostic> {
        let origin = match &*content.file {
            "" => format!("{} {}", kind.name(), key.id()),
            file => file.to_owned(),
        };
        let entry = StoreEntry {
            companion: content.companion.clone(),
            ..StoreEntry::new(key.clone(), content.text.clone(), origin)
        };
        match kind {
            EntryKind::Agent => AgentDefinition::parse(&entry.origin, &entry.text)
                .err()
                .unwrap_or_default(),
            _ => self.prompts.catalogue().check(kind, &entry),
        }
    }
}

/// Whether any of the diagnostics is an error.
pub(super) fn is_broken(found: &[Diagnostic]) -> bool {
    found.iter().any(|found| found.severity == Severity::Error)
}

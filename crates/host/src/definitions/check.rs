//! What is wrong with a definition, before it is kept.

use quillet_agent::AgentDefinition;
use quillet_core::history::DefinitionContent;
use quillet_core::store::{EntryKey, EntryKind, StoreEntry};
use quillet_core::{Diagnostic, Severity};

use super::DefinitionService;

impl DefinitionService {
    /// Everything that `quillet check` says of a definition, were it stored under that key.
    /// Connections of databases are checked where they are opened.
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

/// Whether any of these keeps a definition from being used.
pub(super) fn is_broken(found: &[Diagnostic]) -> bool {
    found.iter().any(|found| found.severity == Severity::Error)
}

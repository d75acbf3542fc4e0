//! Checks definitions that are not in the store yet. Diagnostics have locations in their files.

use std::collections::BTreeMap;
use std::sync::Arc;

use quillet::components;
use quillet::settings::Settings;
use quillet_core::history::label_key;
use quillet_core::store::{EntryKind, Store, StoreEntry};
use quillet_core::{Diagnostic, Exit, Severity};
use quillet_prompt::{Catalogue, CatalogueSnapshot};

use crate::agent_file;
use crate::explain::PromptTemplates;
use crate::failure::CliError;
use crate::overlay::Overlay;
use crate::report::{self, LocatedDiagnostic};
use crate::terminal::{self, Stream};

/// Checks these definitions together as if they were in the store, because each may depend on the
/// others.
///
/// # Errors
/// The store is unavailable, or a setting is invalid.
pub(crate) async fn findings(
    entries: &[(EntryKind, StoreEntry)],
    store: Arc<dyn Store>,
    config: &Settings,
) -> Result<Vec<LocatedDiagnostic>, CliError> {
    let mut over = Overlay::new(store);
    for (kind, entry) in entries {
        over.add(*kind, entry.clone());
        // The labels are hidden, because they refer to existing versions, but the check is about
        // the new ones.
        let place = label_key(*kind, &entry.key);
        over.add(EntryKind::Label, StoreEntry::new(place, "{}", ""));
    }
    // All definitions are checked in one catalogue, because a prompt may call a tool of the same
    // push.
    let catalogue = components::catalogue(config, Arc::new(over))?;
    catalogue.load().await?;
    let snapshot = catalogue.snapshot();
    let others = diagnostics(&snapshot);
    let mut found = Vec::new();
    for (kind, entry) in entries {
        found.extend(match kind {
            EntryKind::Prompt => of_prompt(entry, &catalogue, &snapshot),
            EntryKind::Agent => with_text(entry, agent_file::diagnostics(entry)),
            _ => {
                let known = others.get(&(*kind, entry.key.id()));
                with_text(entry, known.map(|known| known.to_vec()).unwrap_or_default())
            }
        });
    }
    Ok(found)
}

/// Diagnostics of all definitions that are not prompts.
fn diagnostics(snapshot: &CatalogueSnapshot) -> BTreeMap<(EntryKind, String), &[Diagnostic]> {
    let extensions = snapshot.extensions.values();
    let extensions =
        extensions.map(|it| ((EntryKind::Extension, it.id.to_string()), &*it.diagnostics));
    let tools = snapshot.tools.values();
    let tools = tools.map(|it| ((EntryKind::Tool, it.id.to_string()), &*it.diagnostics));
    extensions.chain(tools).collect()
}

fn of_prompt(
    entry: &StoreEntry,
    catalogue: &Catalogue,
    snapshot: &Arc<CatalogueSnapshot>,
) -> Vec<LocatedDiagnostic> {
    let Ok(definition) = snapshot.prompt(&entry.key.id()) else {
        return Vec::new();
    };
    let texts = PromptTemplates::of(definition, false, snapshot);
    let mut found = texts.locate(&definition.diagnostics);
    found.extend(unknown(texts.unknown_names(catalogue, &[])));
    found
}

/// Turns errors about unknown names into warnings, because the names may exist when the prompt is
/// used.
fn unknown(found: Vec<LocatedDiagnostic>) -> impl Iterator<Item = LocatedDiagnostic> {
    found.into_iter().map(|mut finding| {
        finding.diagnostic.severity = Severity::Warning;
        finding
    })
}

fn with_text(entry: &StoreEntry, found: Vec<Diagnostic>) -> Vec<LocatedDiagnostic> {
    let found = found.into_iter().map(|diagnostic| LocatedDiagnostic {
        diagnostic,
        text: Some(entry.text.to_string()),
    });
    found.collect()
}

/// Prints the diagnostics and rejects errors unless they are permitted. `fix` tells the user how to
/// proceed.
///
/// # Errors
/// There are errors, which are already reported.
pub(crate) fn reject_errors(
    found: &[LocatedDiagnostic],
    is_permitted: bool,
    fix: &str,
) -> Result<(), CliError> {
    let colour = Stream::Err.has_colour();
    let shown: Vec<String> = found.iter().map(|one| report::show(one, colour)).collect();
    if !shown.is_empty() {
        terminal::note(shown.join("\n").trim_end());
    }
    if is_permitted || !found.iter().any(LocatedDiagnostic::is_error) {
        return Ok(());
    }
    terminal::note(&format!("nothing was written; {fix}"));
    Err(CliError::Said(Exit::Template))
}

//! `quillet import openai`: imports prompts saved from OpenAI.

use std::collections::BTreeMap;

use quillet::{SavedPrompt, openai_prompts};
use quillet_core::Severity;
use quillet_core::history::{DefinitionContent, VersionSelector};
use quillet_core::store::EntryKind;
use quillet_host::definitions::{DefinitionError, Write};

use super::checked::reject_errors;
use super::store_session::StoreSession;
use crate::failure::CliError;
use crate::report::LocatedDiagnostic;
use crate::source;
use crate::terminal;

/// Reads and checks all prompts before it writes the first one.
pub(super) async fn import(file: &str, work: &StoreSession<'_>) -> Result<(), CliError> {
    let text = source::read(file)?;
    let saved = openai_prompts(source::display_name(file), &text).map_err(|found| {
        let bare = |diagnostic| LocatedDiagnostic {
            diagnostic,
            text: None,
        };
        CliError::Findings(found.into_iter().map(bare).collect())
    })?;
    let found = check(&saved, work).await?;
    reject_errors(&found, false, "fix the errors in the file")?;
    let mut added: BTreeMap<String, usize> = BTreeMap::new();
    for one in &saved {
        let count = added.entry(one.id()).or_default();
        if write(one, work).await? {
            *count += 1;
        }
    }
    let lines = added.iter().map(|(id, count)| match count {
        0 => format!("prompt {id}: already exists\n"),
        1 => format!("prompt {id}: 1 version\n"),
        count => format!("prompt {id}: {count} versions\n"),
    });
    terminal::result(&lines.collect::<String>())?;
    let sum: usize = added.values().sum();
    let place = work.store.describe();
    terminal::note(&format!("{sum} versions imported to {place}"));
    Ok(())
}

/// Returns diagnostics about parts that were not imported, and about the imported prompts.
async fn check(
    saved: &[SavedPrompt],
    work: &StoreSession<'_>,
) -> Result<Vec<LocatedDiagnostic>, CliError> {
    work.definitions.prompts().load().await?;
    let mut found = Vec::new();
    for one in saved {
        let bare = |diagnostic| LocatedDiagnostic {
            diagnostic,
            text: None,
        };
        found.extend(one.findings.iter().cloned().map(bare));
        let key = work.key(EntryKind::Prompt, &one.id()).await?;
        let content = DefinitionContent::new(one.definition.as_str());
        let wrong = work.definitions.check(EntryKind::Prompt, &key, &content);
        let wrong = wrong
            .into_iter()
            .filter(|it| it.severity == Severity::Error);
        found.extend(wrong.map(|diagnostic| LocatedDiagnostic {
            diagnostic,
            text: Some(one.definition.clone()),
        }));
    }
    Ok(found)
}

/// Writes one version unless it exists already. Returns whether it was written.
async fn write(saved: &SavedPrompt, work: &StoreSession<'_>) -> Result<bool, CliError> {
    let id = saved.id();
    let content = DefinitionContent::new(saved.definition.as_str());
    let mark = VersionSelector::Digest(content.digest().to_string());
    match work
        .definitions
        .find(EntryKind::Prompt, &id, Some(&mark))
        .await
    {
        // A version with this content exists already, so a repeated import adds nothing.
        Ok(_) => return Ok(false),
        Err(DefinitionError::Version { .. } | DefinitionError::NotFound { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    let version = saved.version.map(|number| format!(" version {number}"));
    let message = format!("{}{} of OpenAI", saved.alias, version.unwrap_or_default());
    let write = Write {
        content,
        message: &message,
        ..Write::new(EntryKind::Prompt, &id, "")
    };
    Ok(work.write(write).await?.committed.is_new)
}

//! A store opened for version commands, and the definitions that commands select.

use std::sync::Arc;

use quillet::components;
use quillet::settings::Settings;
use quillet_core::history::{CommitResult, LATEST, VersionSelector, WritePrecondition};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreErrorKind};
use quillet_host::definitions::{
    Actor, DefinitionError, DefinitionService, ResolvedVersion, Write, WriteResult,
};

use crate::failure::CliError;
use crate::terminal;

/// Client name in the audit log.
const DOOR: &str = "command line";

/// A store opened for version commands, and the user of these commands.
pub(crate) struct StoreSession<'a> {
    pub(super) config: &'a Settings,
    pub(super) store: Arc<dyn Store>,
    pub(super) definitions: DefinitionService,
    pub(super) actor: Actor,
}

impl<'a> StoreSession<'a> {
    /// Opens the configured store.
    ///
    /// # Errors
    /// No store is configured, or it cannot be opened.
    pub(crate) async fn open(config: &'a Settings) -> Result<Self, CliError> {
        StoreSession::over(components::store(config).await?, config)
    }

    /// Creates a session for an open store.
    ///
    /// # Errors
    /// A setting is invalid.
    pub(crate) fn over(store: Arc<dyn Store>, config: &'a Settings) -> Result<Self, CliError> {
        let service = components::service(config, store.clone(), None, Arc::default())?;
        Ok(StoreSession {
            config,
            store,
            definitions: DefinitionService::new(
                Arc::new(service),
                components::definition_options(config),
            ),
            actor: Actor::all(&user(), DOOR),
        })
    }

    /// Returns the key of an id.
    ///
    /// # Errors
    /// The id is invalid, or the store is unavailable.
    pub(crate) async fn key(&self, kind: EntryKind, id: &str) -> Result<EntryKey, CliError> {
        Ok(self.definitions.key(kind, id).await?)
    }

    /// Writes a definition that was already checked.
    ///
    /// # Errors
    /// The store does not support versions, or the write fails.
    pub(crate) async fn write(&self, write: Write<'_>) -> Result<WriteResult, DefinitionError> {
        // The command line reports diagnostics with locations in files, which the store cannot
        // provide.
        let write = Write {
            broken: true,
            ..write
        };
        self.definitions.write(&self.actor, write).await
    }

    /// Removes a definition and reports it.
    ///
    /// # Errors
    /// The definition does not exist, or the store fails.
    pub(crate) async fn remove(
        &self,
        kind: EntryKind,
        id: &str,
        message: &str,
    ) -> Result<(), CliError> {
        let id = id.replace(':', ".");
        let number = self.gone(kind, &id, message).await?.version.number;
        let place = self.store.describe();
        terminal::note(&format!(
            "{} {id} removed from {place} as version {number}",
            kind.name()
        ));
        Ok(())
    }

    /// Removes a definition, regardless of its content.
    pub(super) async fn gone(
        &self,
        kind: EntryKind,
        id: &str,
        message: &str,
    ) -> Result<CommitResult, CliError> {
        let anything = WritePrecondition::Anything;
        let removed = self
            .definitions
            .remove(&self.actor, kind, id, message, anything);
        Ok(removed.await?)
    }

    /// Resolves `ID[@SELECTOR]`. If the stored text has no version yet, a version is recorded
    /// first.
    ///
    /// # Errors
    /// The id or the selector is invalid, or the store fails.
    pub(super) async fn resolve_name(
        &self,
        kind: EntryKind,
        text: &str,
    ) -> Result<DefinitionRef, CliError> {
        let named = self.unnoted(kind, text).await?;
        self.take_note(kind, std::slice::from_ref(&named.key))
            .await?;
        Ok(named)
    }

    /// Like [`StoreSession::resolve_name`], but without writing to the store.
    async fn unnoted(&self, kind: EntryKind, text: &str) -> Result<DefinitionRef, CliError> {
        let (id, mark) = self.definitions.divide(kind, text).await?;
        let id = id.replace(':', ".");
        let key = self.definitions.key(kind, &id).await?;
        Ok(DefinitionRef {
            kind,
            id,
            key,
            mark,
        })
    }

    /// Like [`StoreSession::resolve_name`], but rejects a version selector.
    pub(super) async fn id(&self, kind: EntryKind, text: &str) -> Result<DefinitionRef, CliError> {
        let named = self.resolve_name(kind, text).await?;
        named.reject_version_selector(text)?;
        Ok(named)
    }

    /// Records stored texts that have no version yet as versions. For a read-only store this only
    /// prints a warning, and the output contains the existing versions.
    async fn take_note(&self, kind: EntryKind, keys: &[EntryKey]) -> Result<(), CliError> {
        match self.definitions.take_note(kind, keys).await {
            // A read-only store must still be readable, so this is only a warning.
            Err(DefinitionError::Store(error)) if error.kind == StoreErrorKind::Refused => {
                terminal::warning(&format!(
                    "cannot record external changes as versions: {error}"
                ));
                Ok(())
            }
            done => Ok(done?),
        }
    }

    /// Resolves the selected version. Without a selector, this is production, or else the latest
    /// version.
    pub(super) async fn resolve_version(
        &self,
        named: &DefinitionRef,
    ) -> Result<ResolvedVersion, CliError> {
        let DefinitionRef { kind, id, mark, .. } = named;
        let found = self.definitions.find(*kind, id, mark.as_ref()).await?;
        Ok(found)
    }

    /// Returns the latest version.
    pub(super) async fn latest(&self, named: &DefinitionRef) -> Result<ResolvedVersion, CliError> {
        let latest = VersionSelector::Label(LATEST.to_owned());
        let found = self.definitions.find(named.kind, &named.id, Some(&latest));
        Ok(found.await?)
    }

    /// Returns the keys of these ids, or all keys of these kinds. Nothing is written.
    pub(super) async fn keys(
        &self,
        kinds: &[EntryKind],
        ids: &[String],
    ) -> Result<Vec<(EntryKind, EntryKey)>, CliError> {
        let mut keys = Vec::new();
        if let [kind, ..] = kinds
            && !ids.is_empty()
        {
            for id in ids {
                let named = self.unnoted(*kind, id).await?;
                named.reject_version_selector(id)?;
                // Fails with a helpful error if the id does not exist.
                self.definitions.versions(*kind, &named.id, None, 1).await?;
                keys.push((*kind, named.key));
            }
            return Ok(keys);
        }
        for kind in kinds {
            let found = self.definitions.keys(*kind).await?;
            keys.extend(found.into_iter().map(|key| (*kind, key)));
        }
        Ok(keys)
    }
}

/// A definition and the selected version.
pub(super) struct DefinitionRef {
    pub(super) kind: EntryKind,
    pub(super) id: String,
    pub(super) key: EntryKey,
    pub(super) mark: Option<VersionSelector>,
}

impl DefinitionRef {
    /// Rejects a selector, for commands that apply to all versions.
    fn reject_version_selector(&self, text: &str) -> Result<(), CliError> {
        match &self.mark {
            None => Ok(()),
            Some(mark) => Err(CliError::Usage(format!(
                "{text:?}: this command works on all versions: omit @{mark}"
            ))),
        }
    }

    /// Returns the selector, or the one for the latest version.
    pub(super) fn mark_or_latest(&self) -> VersionSelector {
        let latest = || VersionSelector::Label(LATEST.to_owned());
        self.mark.clone().unwrap_or_else(latest)
    }
}

/// Parses a version selector without its `@`.
pub(super) fn mark(text: &str) -> Result<VersionSelector, CliError> {
    let text = text.strip_prefix('@').unwrap_or(text);
    let wrong = |why| DefinitionError::Mark {
        text: text.to_owned(),
        why,
    };
    Ok(VersionSelector::parse(text).map_err(wrong)?)
}

/// Returns the name of the system user.
fn user() -> String {
    // `USERNAME` is the name on Windows; cron and containers often set none of them.
    let variables = ["USER", "LOGNAME", "USERNAME"].into_iter();
    let mut named = variables.filter_map(|name| std::env::var(name).ok());
    let named = named.find(|name| !name.trim().is_empty());
    named.unwrap_or_else(|| "somebody".to_owned())
}

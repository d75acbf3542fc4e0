//! A store whose versions are worked on, and the definitions that commands name.

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

/// From where the log says that something was done here.
const DOOR: &str = "command line";

/// A store whose versions are worked on, and who does it.
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
    /// None is configured, or it cannot be opened.
    pub(crate) async fn open(config: &'a Settings) -> Result<Self, CliError> {
        StoreSession::over(components::store(config).await?, config)
    }

    /// On a store that is open.
    ///
    /// # Errors
    /// A setting is wrong.
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

    /// The key of an id.
    ///
    /// # Errors
    /// It is no id, or the store does not answer.
    pub(crate) async fn key(&self, kind: EntryKind, id: &str) -> Result<EntryKey, CliError> {
        Ok(self.definitions.key(kind, id).await?)
    }

    /// Writes a definition that was checked here.
    ///
    /// # Errors
    /// The store keeps no history, or failed.
    pub(crate) async fn write(&self, write: Write<'_>) -> Result<WriteResult, DefinitionError> {
        // The findings of the command line have places in files, which those of a store have not.
        let write = Write {
            broken: true,
            ..write
        };
        self.definitions.write(&self.actor, write).await
    }

    /// Removes a definition, and says so.
    ///
    /// # Errors
    /// There is none of that id; the store failed.
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

    /// Removes a definition, whatever it is.
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

    /// The definition that `ID[@MARK]` names, where what stands in the store is a version.
    ///
    /// # Errors
    /// It is no id, or no mark; the store failed.
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

    /// As [`StoreSession::named`], and nothing is written.
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

    /// As [`StoreSession::named`], where a mark makes no sense.
    pub(super) async fn id(&self, kind: EntryKind, text: &str) -> Result<DefinitionRef, CliError> {
        let named = self.resolve_name(kind, text).await?;
        named.reject_version_selector(text)?;
        Ok(named)
    }

    /// What was written past the history becomes a version, so that it is shown as one. A store
    /// that must not be written is shown as far as its history goes.
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

    /// The version that is meant; without a mark that of production, and else of what stands in
    /// the store.
    pub(super) async fn resolve_version(
        &self,
        named: &DefinitionRef,
    ) -> Result<ResolvedVersion, CliError> {
        let DefinitionRef { kind, id, mark, .. } = named;
        let found = self.definitions.find(*kind, id, mark.as_ref()).await?;
        Ok(found)
    }

    /// What stands in the store.
    pub(super) async fn latest(&self, named: &DefinitionRef) -> Result<ResolvedVersion, CliError> {
        let latest = VersionSelector::Label(LATEST.to_owned());
        let found = self.definitions.find(named.kind, &named.id, Some(&latest));
        Ok(found.await?)
    }

    /// All keys of some kinds, or those of these ids. Nothing is written.
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
                // Says what is wrong with an id that nothing has.
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

/// A definition, and which version of it is meant.
pub(super) struct DefinitionRef {
    pub(super) kind: EntryKind,
    pub(super) id: String,
    pub(super) key: EntryKey,
    pub(super) mark: Option<VersionSelector>,
}

impl DefinitionRef {
    /// Nothing where the definition is meant with all of its versions.
    fn reject_version_selector(&self, text: &str) -> Result<(), CliError> {
        match &self.mark {
            None => Ok(()),
            Some(mark) => Err(CliError::Usage(format!(
                "{text:?}: this command works on all versions: omit @{mark}"
            ))),
        }
    }

    /// The mark, or the one for what stands in the store.
    pub(super) fn mark_or_latest(&self) -> VersionSelector {
        let latest = || VersionSelector::Label(LATEST.to_owned());
        self.mark.clone().unwrap_or_else(latest)
    }
}

/// A mark without its `@`.
pub(super) fn mark(text: &str) -> Result<VersionSelector, CliError> {
    let text = text.strip_prefix('@').unwrap_or(text);
    let wrong = |why| DefinitionError::Mark {
        text: text.to_owned(),
        why,
    };
    Ok(VersionSelector::parse(text).map_err(wrong)?)
}

/// Whoever the system says it is.
fn user() -> String {
    // `USERNAME` is the name on Windows; cron and containers often set none of them.
    let variables = ["USER", "LOGNAME", "USERNAME"].into_iter();
    let mut named = variables.filter_map(|name| std::env::var(name).ok());
    let named = named.find(|name| !name.trim().is_empty());
    named.unwrap_or_else(|| "somebody".to_owned())
}

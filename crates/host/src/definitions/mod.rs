//! Definitions of a store and their histories: permissions, validation, versions, labels and the
//! audit log. Every interface (REST, the APIs for Langfuse and MLflow clients, the command line) is
//! built on [`DefinitionService`], so that all of them enforce the same rules.

mod check;
mod diff;
mod error;
mod history;
mod labels;
mod permissions;
mod permit;
mod push;
mod refusals;
mod watch;
mod write;

use std::sync::Arc;

use quillet_core::history::{
    DefinitionContent, HistoryStore, LabelTarget, Labels, PRODUCTION, STORE, Version,
    VersionSelector,
};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreEntry};
use quillet_core::{clock, nearest};
use quillet_prompt::PromptService;

use refusals::Refusals;

pub use diff::{readable, unified};
pub use error::DefinitionError;
pub use history::{ExportLine, ImportResult};
pub use labels::{LabelChange, Relabel, check_labels};
pub use permissions::{Actor, BadGrant, Grant, Permission, PermissionSet};
pub use push::{PushChange, PushItem, Reason};
pub use write::{Write, WriteResult};

/// Labels that are protected by default.
const PROTECTED: [&str; 1] = [PRODUCTION];

/// Settings of [`DefinitionService`].
#[derive(Clone, Debug)]
pub struct DefinitionOptions {
    /// Labels that only [`Permission::Promote`] may move. Default `production`.
    pub protected_labels: Vec<String>,
}

impl Default for DefinitionOptions {
    fn default() -> Self {
        DefinitionOptions {
            protected_labels: PROTECTED.map(str::to_owned).to_vec(),
        }
    }
}

/// Service for the definitions of a store and their histories. Cheap to clone.
#[derive(Clone, Debug)]
pub struct DefinitionService {
    prompts: Arc<PromptService>,
    options: Arc<DefinitionOptions>,
    refusals: Arc<Refusals>,
}

/// Result of resolving a version selector.
#[derive(Clone, Debug)]
pub struct ResolvedVersion {
    /// The key of the definition.
    pub key: EntryKey,
    /// The version. `None` if the store does not keep a history, or has not recorded the definition
    /// yet.
    pub version: Option<Version>,
    /// Its content.
    pub content: DefinitionContent,
    /// All labels of the definition.
    pub labels: Labels,
}

impl DefinitionService {
    /// Creates the service for the definitions of a prompt service.
    #[must_use]
    pub fn new(prompts: Arc<PromptService>, options: DefinitionOptions) -> Self {
        DefinitionService {
            prompts,
            options: Arc::new(options),
            refusals: Arc::default(),
        }
    }

    /// The prompt service.
    #[must_use]
    pub fn prompts(&self) -> &Arc<PromptService> {
        &self.prompts
    }

    fn store(&self) -> &dyn Store {
        &**self.prompts.catalogue().store()
    }

    fn history(&self) -> Result<&dyn HistoryStore, DefinitionError> {
        let none = || DefinitionError::NoHistory(self.store().describe());
        self.store().history().ok_or_else(none)
    }

    /// Returns the key of an id: the key in the store, a former key, or the id with dots replaced
    /// by colons.
    ///
    /// # Errors
    /// The id is invalid, or the store does not answer.
    pub async fn key(&self, kind: EntryKind, id: &str) -> Result<EntryKey, DefinitionError> {
        // In most ids, dots replace the colons of the key, so one lookup is usually enough.
        let plain = [EntryKey::new(id.replace('.', ":")), EntryKey::new(id)];
        let found = self.store().entries(kind, &plain).await?;
        if let Some(entry) = found.into_iter().flatten().next() {
            return Ok(entry.key);
        }
        let stored = self.store().keys(kind).await?;
        if let Some(key) = stored.into_iter().find(|key| key.id() == id) {
            return Ok(key);
        }
        if let Some(history) = self.store().history() {
            let kept = history.keys(kind).await?;
            if let Some(key) = kept.into_iter().find(|key| key.id() == id) {
                return Ok(key);
            }
        }
        check_id(id)?;
        let [plain, _] = plain;
        Ok(plain)
    }

    /// Splits a string such as `greet.hello@7` into id and version selector. Ids may contain `@`,
    /// so if the whole string is the id of a definition, it is not split.
    ///
    /// # Errors
    /// The version selector is invalid, or the store does not answer.
    pub async fn divide<'a>(
        &self,
        kind: EntryKind,
        text: &'a str,
    ) -> Result<(&'a str, Option<VersionSelector>), DefinitionError> {
        let divided = VersionSelector::split_id(text).filter(|_| kind.has_versions());
        let Some((id, mark)) = divided else {
            return Ok((text, None));
        };
        if self.is_there(kind, text).await? {
            return Ok((text, None));
        }
        let wrong = |why| DefinitionError::Mark {
            text: text.to_owned(),
            why,
        };
        Ok((id, Some(mark.map_err(wrong)?)))
    }

    /// Records versions of these definitions if other programs have written them.
    ///
    /// # Errors
    /// The store does not keep a history, or its history is read-only.
    pub async fn take_note(
        &self,
        kind: EntryKind,
        keys: &[EntryKey],
    ) -> Result<(), DefinitionError> {
        self.history()?.observe(kind, keys, STORE).await?;
        Ok(())
    }

    async fn is_there(&self, kind: EntryKind, id: &str) -> Result<bool, DefinitionError> {
        // Prompts of extensions have no entries of their own.
        if self
            .prompts
            .catalogue()
            .snapshot()
            .prompts
            .get(id)
            .is_some()
            && kind == EntryKind::Prompt
        {
            return Ok(true);
        }
        let keys = [EntryKey::new(id.replace('.', ":")), EntryKey::new(id)];
        let found = self.store().get(kind, &keys).await?;
        Ok(found.iter().any(Option::is_some))
    }

    /// Returns the current entry of the store.
    async fn entry(
        &self,
        kind: EntryKind,
        key: &EntryKey,
    ) -> Result<Option<StoreEntry>, DefinitionError> {
        let keys = std::slice::from_ref(key);
        let entries = self.store().entries(kind, keys).await?;
        Ok(entries.into_iter().flatten().next())
    }

    /// Returns the labels of a definition.
    ///
    /// # Errors
    /// The store does not answer.
    pub async fn labels(&self, kind: EntryKind, key: &EntryKey) -> Result<Labels, DefinitionError> {
        let place = quillet_core::history::label_key(kind, key);
        let found = self
            .store()
            .get(EntryKind::Label, std::slice::from_ref(&place))
            .await?;
        let text = found.into_iter().flatten().next();
        let labels = text.map(|text| Labels::parse(&text));
        labels
            .transpose()
            .map(Option::unwrap_or_default)
            .map_err(|why| DefinitionError::Labels { id: key.id(), why })
    }

    /// Returns the version that a selector refers to; without a selector, the default version for
    /// readers.
    ///
    /// For a weighted label, returns the version with the largest weight.
    ///
    /// # Errors
    /// The definition, label or version does not exist, or the store does not answer.
    pub async fn find(
        &self,
        kind: EntryKind,
        id: &str,
        mark: Option<&VersionSelector>,
    ) -> Result<ResolvedVersion, DefinitionError> {
        let key = self.key(kind, id).await?;
        let labels = self.labels(kind, &key).await?;
        let number = match mark {
            // Without the label, readers get the latest content.
            None => labels.get(PRODUCTION).map(heaviest),
            Some(mark) if mark.is_latest() => None,
            Some(VersionSelector::Number(number)) => Some(*number),
            Some(VersionSelector::Label(name)) => match labels.get(name) {
                Some(target) => Some(heaviest(target)),
                None => return Err(self.no_label(kind, &key, name, &labels).await),
            },
            Some(VersionSelector::Digest(digits)) => {
                let found = self.history()?.find(kind, &key, digits).await?;
                let none = || DefinitionError::version(&key, &format!("sha256:{digits}"), &[]);
                Some(found.ok_or_else(none)?.number)
            }
        };
        let found = match number {
            Some(number) => self.numbered(kind, &key, number).await?,
            None => self.latest(kind, &key).await?,
        };
        let (version, content) = found;
        Ok(ResolvedVersion {
            key,
            version,
            content,
            labels,
        })
    }

    async fn latest(
        &self,
        kind: EntryKind,
        key: &EntryKey,
    ) -> Result<(Option<Version>, DefinitionContent), DefinitionError> {
        let Some(entry) = self.entry(kind, key).await? else {
            return Err(self.absent(kind, key).await);
        };
        let content = DefinitionContent::of(&entry);
        let Some(history) = self.store().history() else {
            return Ok((None, content));
        };
        let newest = history.versions(kind, key, None, 1).await?;
        let digest = content.digest();
        // If the digests differ, another program wrote the content and no version has it yet.
        let version = newest
            .into_iter()
            .find(|one| !one.removed && one.digest == digest);
        Ok((version, content))
    }

    async fn numbered(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        number: u64,
    ) -> Result<(Option<Version>, DefinitionContent), DefinitionError> {
        let history = self.history()?;
        let kept = history
            .load_versions(kind, &[(key.clone(), number)])
            .await?;
        if let Some(kept) = kept.into_iter().flatten().next()
            && let Some(content) = kept.content
        {
            return Ok((Some(kept.version), content));
        }
        // The error tells whether the version or the whole definition is missing.
        let known = history.versions(kind, key, None, 1).await?;
        if known.is_empty() && self.entry(kind, key).await?.is_none() {
            return Err(self.absent(kind, key).await);
        }
        Err(DefinitionError::version(key, &number.to_string(), &known))
    }

    async fn no_label(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        name: &str,
        labels: &Labels,
    ) -> DefinitionError {
        match self.entry(kind, key).await {
            Ok(None) => self.absent(kind, key).await,
            Ok(Some(_)) => DefinitionError::label(key, name, labels),
            Err(error) => error,
        }
    }

    async fn absent(&self, kind: EntryKind, key: &EntryKey) -> DefinitionError {
        // The keys only serve the suggestion; the error is the same without them.
        let keys = self.store().keys(kind).await.unwrap_or_default();
        let known: Vec<String> = keys.iter().map(EntryKey::id).collect();
        let id = key.id();
        DefinitionError::NotFound {
            nearest: nearest(&id, known.iter().map(String::as_str)).map(str::to_owned),
            kind,
            id,
        }
    }

    /// Logs an operation that is already complete. If logging fails, the operation still succeeds,
    /// because its caller would repeat it. The entry then goes to the process's log.
    async fn note_done(&self, actor: &Actor, entry: AuditEntry<'_>) {
        let (action, kind) = (entry.action, entry.kind.map_or("", EntryKind::word));
        let (id, version, label) = (entry.id, entry.version, entry.label);
        if let Err(error) = self.note(actor, entry).await {
            tracing::error!(
                %error, actor = %actor.name, ?action, kind, id, version, label,
                "cannot write to the audit log; the operation itself succeeded"
            );
        }
    }

    async fn note(&self, actor: &Actor, what: AuditEntry<'_>) -> Result<(), DefinitionError> {
        let entry = quillet_core::history::LogEntry {
            number: 0,
            at_ms: clock::millis(),
            who: actor.name.clone(),
            from: actor.from.clone(),
            action: what.action,
            kind: what.kind.map_or("", EntryKind::word).into(),
            id: what.id.into(),
            version: what.version,
            label: what.label.map(Arc::from),
            message: what.message.into(),
        };
        Ok(self.history()?.note(&entry).await?)
    }
}

/// Checks that a text can be the id of a new definition. Existing ids may come from other programs
/// and are not checked.
fn check_id(id: &str) -> Result<(), DefinitionError> {
    let wrong = id.is_empty() || id.chars().any(|c| c.is_control() || c.is_whitespace());
    if wrong || id.split(['.', ':']).any(str::is_empty) {
        return Err(DefinitionError::Id(id.to_owned()));
    }
    Ok(())
}

/// Entry of the audit log.
struct AuditEntry<'a> {
    action: quillet_core::history::Action,
    /// `None` if the entry is not about a single definition.
    kind: Option<EntryKind>,
    id: &'a str,
    version: Option<u64>,
    label: Option<&'a str>,
    message: &'a str,
}

impl AuditEntry<'_> {
    fn refused() -> Self {
        AuditEntry {
            action: quillet_core::history::Action::Refused,
            kind: None,
            id: "",
            version: None,
            label: None,
            message: "",
        }
    }
}

/// Returns the version that has the largest weight in a label's target, or the newest of several
/// such versions.
#[must_use]
pub fn heaviest(target: &LabelTarget) -> u64 {
    match target {
        LabelTarget::Version(number) => *number,
        LabelTarget::Split(split) => split.heaviest(),
    }
}

//! Complete histories: reading, deleting old versions, export and import.

use quillet_core::history::{
    Action, DefinitionContent, HistoryImport, LabelTarget, Labels, LogEntry, LogFilter, Version,
    VersionRecord,
};
use quillet_core::store::{EntryKey, EntryKind};
use serde::{Deserialize, Serialize};

use super::{Actor, DefinitionError, DefinitionService, Permission};

/// Maximum version number that an import accepts. Every JSON reader represents it exactly, and
/// there is room for later versions.
const MOST_NUMBER: u64 = 1 << 52;

/// Number of versions fetched concurrently.
const PAGE: usize = 100;

/// The history of one definition, as one line of JSON.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ExportLine {
    /// The kind, as in [`EntryKind::word`].
    pub kind: String,
    /// The key of the definition, with colons.
    pub key: String,
    /// Labels.
    #[serde(default)]
    pub labels: Labels,
    /// Versions in the order of their numbers.
    pub versions: Vec<VersionRecord>,
}

/// Result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportResult {
    /// The kind of the definition.
    pub kind: EntryKind,
    /// Its id.
    pub id: String,
    /// Number of new versions.
    pub added: usize,
}

impl DefinitionService {
    /// Returns versions below a number, newest first.
    ///
    /// # Errors
    /// The definition has never existed, or the store failed.
    pub async fn versions(
        &self,
        kind: EntryKind,
        id: &str,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<Version>, DefinitionError> {
        let key = self.key(kind, id).await?;
        let history = self.history()?;
        let versions = history.versions(kind, &key, before, limit).await?;
        if !versions.is_empty() || before.is_some() {
            return Ok(versions);
        }
        if self.entry(kind, &key).await?.is_none() {
            return Err(self.absent(kind, &key).await);
        }
        // The definition is in the store, but its versions have not been recorded yet.
        self.take_note(kind, std::slice::from_ref(&key)).await?;
        Ok(history.versions(kind, &key, before, limit).await?)
    }

    /// Returns log entries below a number, newest first.
    ///
    /// # Errors
    /// The store failed.
    pub async fn log(
        &self,
        filter: &LogFilter,
        before: Option<u64>,
        limit: usize,
    ) -> Result<Vec<LogEntry>, DefinitionError> {
        Ok(self.history()?.log(filter, before, limit).await?)
    }

    /// Deletes old versions of a definition, except the newest `keep` versions and versions with
    /// labels.
    ///
    /// # Errors
    /// The actor lacks a permission, or the store failed.
    pub async fn collect(
        &self,
        actor: &Actor,
        kind: EntryKind,
        id: &str,
        keep: usize,
    ) -> Result<Vec<u64>, DefinitionError> {
        self.permit(actor, Permission::Admin, kind, id).await?;
        let key = self.key(kind, id).await?;
        let dropped = self.history()?.collect(kind, &key, keep).await?;
        if !dropped.is_empty() {
            let message = format!("{} versions dropped, {keep} kept", dropped.len());
            self.record(actor, Action::Collect, kind, id, None, &message)
                .await;
        }
        Ok(dropped)
    }

    /// Returns the versions that [`DefinitionService::collect`] would delete.
    ///
    /// # Errors
    /// The store failed.
    pub async fn collectable(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        keep: usize,
    ) -> Result<Vec<u64>, DefinitionError> {
        let labels = self.labels(kind, key).await?;
        let numbers = self.numbers(kind, key).await?;
        // The newest version always stays, even if `keep` is 0.
        let old = numbers.into_iter().rev().skip(keep.max(1));
        Ok(old.filter(|number| !labels.points_at(*number)).collect())
    }

    /// Returns the keys of a kind that have a history or are stored.
    ///
    /// # Errors
    /// The store failed.
    pub async fn keys(&self, kind: EntryKind) -> Result<Vec<EntryKey>, DefinitionError> {
        let mut keys = self.store().keys(kind).await?;
        // Removed definitions have a history, but are no longer stored.
        keys.extend(self.history()?.keys(kind).await?);
        keys.sort();
        keys.dedup();
        Ok(keys)
    }

    /// Returns the complete history of a definition. Current content is recorded as a version
    /// first.
    ///
    /// # Errors
    /// The store failed.
    pub async fn export(
        &self,
        kind: EntryKind,
        key: &EntryKey,
    ) -> Result<ExportLine, DefinitionError> {
        self.take_note(kind, std::slice::from_ref(key)).await?;
        let history = self.history()?;
        let numbers = self.numbers(kind, key).await?;
        let mut versions = Vec::new();
        for numbers in numbers.chunks(PAGE) {
            let wanted: Vec<_> = numbers
                .iter()
                .map(|number| (key.clone(), *number))
                .collect();
            let kept = history.load_versions(kind, &wanted).await?;
            versions.extend(kept.into_iter().flatten());
        }
        Ok(ExportLine {
            kind: kind.word().to_owned(),
            key: key.to_string(),
            labels: self.labels(kind, key).await?,
            versions,
        })
    }

    /// Returns the numbers of all versions, oldest first.
    async fn numbers(&self, kind: EntryKind, key: &EntryKey) -> Result<Vec<u64>, DefinitionError> {
        let (mut numbers, mut before) = (Vec::new(), None);
        loop {
            let page = self.history()?.versions(kind, key, before, PAGE).await?;
            before = page.last().map(|version| version.number);
            numbers.extend(page.iter().map(|version| version.number));
            if page.len() < PAGE {
                break;
            }
        }
        numbers.reverse();
        Ok(numbers)
    }

    /// Imports a history. Repeat an interrupted import to complete it.
    ///
    /// # Errors
    /// The actor lacks a permission, the existing history differs, or a digest does not match its
    /// content.
    pub async fn import(
        &self,
        actor: &Actor,
        line: usize,
        exported: ExportLine,
    ) -> Result<ImportResult, DefinitionError> {
        let wrong = |why: String| DefinitionError::Import { line, why };
        let kind = EntryKind::ALL
            .into_iter()
            .find(|kind| kind.word() == exported.kind);
        let kind = kind.filter(|kind| kind.has_versions());
        let kind = kind.ok_or_else(|| wrong(format!("unknown kind {:?}", exported.kind)))?;
        for kept in &exported.versions {
            let number = kept.version.number;
            if !(1..=MOST_NUMBER).contains(&number) {
                return Err(wrong(format!(
                    "version {number} is out of range: expected 1 to {MOST_NUMBER}"
                )));
            }
            let is = kept.content.as_ref().map(DefinitionContent::digest);
            if is.is_some_and(|is| is != kept.version.digest) {
                return Err(wrong(format!("version {number} does not match its digest")));
            }
        }
        let key = EntryKey::new(exported.key);
        let id = key.id();
        self.permit(actor, Permission::Admin, kind, &id).await?;
        // Read before the import, so that only changed labels are logged.
        let before = self.labels(kind, &key).await?;
        let import = HistoryImport {
            kind,
            key,
            versions: exported.versions,
            labels: exported.labels,
        };
        let added = self.history()?.import(&import).await?;
        if added > 0 {
            let message = format!("{added} versions imported");
            self.record(actor, Action::Import, kind, &id, None, &message)
                .await;
        }
        // Labels are set even if all versions already exist in the history.
        for (name, target) in &import.labels.0 {
            if before.get(name) != Some(target) {
                let number = match target {
                    LabelTarget::Version(number) => Some(*number),
                    LabelTarget::Split(_) => None,
                };
                self.moved(actor, kind, &id, name, number, "imported").await;
            }
        }
        Ok(ImportResult { kind, id, added })
    }
}

//! Writes and removes definitions.

use std::sync::Arc;

use quillet_core::Diagnostic;
use quillet_core::history::{Action, Commit, CommitResult, DefinitionContent, WritePrecondition};
use quillet_core::store::{EntryKey, EntryKind};

use super::check::is_broken;
use super::labels::check_labels;
use super::{Actor, AuditEntry, DefinitionError, DefinitionService, Permission};

/// Definition to write.
#[derive(Clone, Debug)]
pub struct Write<'a> {
    /// Its kind.
    pub kind: EntryKind,
    /// Its id.
    pub id: &'a str,
    /// The new content.
    pub content: DefinitionContent,
    /// Message for the log.
    pub message: &'a str,
    /// Required current content.
    pub expect: WritePrecondition,
    /// Whether unchanged content also becomes a version.
    pub always: bool,
    /// Labels that are moved to the new version.
    pub labels: &'a [String],
    /// Whether an invalid definition is written anyway.
    pub broken: bool,
}

impl<'a> Write<'a> {
    /// Creates a write without a precondition.
    #[must_use]
    pub fn new(kind: EntryKind, id: &'a str, text: impl Into<Arc<str>>) -> Self {
        Write {
            kind,
            id,
            content: DefinitionContent::new(text),
            message: "",
            expect: WritePrecondition::Anything,
            always: false,
            labels: &[],
            broken: false,
        }
    }
}

/// Result of a write.
#[derive(Clone, Debug)]
pub struct WriteResult {
    /// Whether the definition is new.
    pub created: bool,
    /// The version, and whether this write created it.
    pub committed: CommitResult,
    /// Diagnostics of the definition.
    pub diagnostics: Vec<Diagnostic>,
}

impl DefinitionService {
    /// Writes a definition after the same checks as `quillet check`.
    ///
    /// # Errors
    /// The actor lacks a permission, the definition is invalid or was changed concurrently, or the
    /// store failed.
    pub async fn write(
        &self,
        actor: &Actor,
        write: Write<'_>,
    ) -> Result<WriteResult, DefinitionError> {
        let Write { kind, id, .. } = write;
        self.permit(actor, Permission::Write, kind, id).await?;
        self.may_label(actor, kind, id, write.labels.iter().map(String::as_str))
            .await?;
        let key = self.key(kind, id).await?;
        let diagnostics = self.check(kind, &key, &write.content);
        if is_broken(&diagnostics) && !write.broken {
            return Err(DefinitionError::Broken {
                kind,
                id: id.to_owned(),
                diagnostics,
            });
        }
        // Only informs the caller; `expect` in the commit guards against concurrent writes.
        let created = self.entry(kind, &key).await?.is_none();
        let committed = self.commit(actor, key, write).await?;
        Ok(WriteResult {
            created,
            committed,
            diagnostics,
        })
    }

    /// Writes a validated definition and logs the change.
    pub(super) async fn commit(
        &self,
        actor: &Actor,
        key: EntryKey,
        write: Write<'_>,
    ) -> Result<CommitResult, DefinitionError> {
        let Write {
            kind, id, message, ..
        } = write;
        check_labels(write.labels.iter().map(String::as_str))?;
        let commit = Commit {
            message: message.into(),
            expect: write.expect,
            always: write.always,
            labels: write.labels.to_vec(),
            ..Commit::new(kind, key, Some(write.content), &actor.name)
        };
        let committed = self.history()?.commit(&commit).await?;
        let number = committed.version.number;
        if committed.is_new {
            self.record(actor, Action::Write, kind, id, Some(number), message)
                .await;
        }
        // The commit has already moved the labels; this only logs the moves.
        for label in write.labels {
            self.moved(actor, kind, id, label, Some(number), message)
                .await;
        }
        Ok(committed)
    }

    /// Logs a change of a definition. Also used by parts that write definitions themselves, such as
    /// databases. If logging fails, the entry goes to the process's log.
    pub async fn record(
        &self,
        actor: &Actor,
        action: Action,
        kind: EntryKind,
        id: &str,
        version: Option<u64>,
        message: &str,
    ) {
        let entry = AuditEntry {
            action,
            kind: Some(kind),
            id,
            version,
            label: None,
            message,
        };
        self.note_done(actor, entry).await;
    }

    /// Removes a definition and all of its labels. Its versions remain.
    ///
    /// # Errors
    /// Like [`DefinitionService::write`]; also if the definition does not exist.
    pub async fn remove(
        &self,
        actor: &Actor,
        kind: EntryKind,
        id: &str,
        message: &str,
        expect: WritePrecondition,
    ) -> Result<CommitResult, DefinitionError> {
        self.permit(actor, Permission::Write, kind, id).await?;
        let key = self.key(kind, id).await?;
        if self.entry(kind, &key).await?.is_none() {
            return Err(self.absent(kind, &key).await);
        }
        // The labels are removed too, so removing a protected one requires its permission.
        let labels = self.labels(kind, &key).await?;
        self.may_label(actor, kind, id, labels.0.keys().map(String::as_str))
            .await?;
        let commit = Commit {
            message: message.into(),
            expect,
            ..Commit::new(kind, key, None, &actor.name)
        };
        let committed = self.history()?.commit(&commit).await?;
        let number = Some(committed.version.number);
        self.record(actor, Action::Remove, kind, id, number, message)
            .await;
        Ok(committed)
    }
}

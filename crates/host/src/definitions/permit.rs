//! Permission checks, which log rejected requests.

use std::time::Instant;

use quillet_core::store::EntryKind;

use super::refusals::MOST;
use super::{Actor, AuditEntry, DefinitionError, DefinitionService, Permission};

impl DefinitionService {
    /// Checks a permission; a rejection is logged.
    ///
    /// # Errors
    /// [`DefinitionError::Forbidden`].
    pub async fn permit(
        &self,
        actor: &Actor,
        right: Permission,
        kind: EntryKind,
        id: &str,
    ) -> Result<(), DefinitionError> {
        if actor.rights.has(right, id) {
            return Ok(());
        }
        let error = DefinitionError::Forbidden {
            who: actor.name.to_string(),
            right,
            kind,
            id: id.to_owned(),
        };
        self.log_rejection(actor, kind, id, None, &error).await;
        Err(error)
    }

    /// Logs a missing permission for several or unspecified definitions, and returns the error for
    /// the actor. `what` describes the definitions, and `asked` is the request.
    pub async fn forbid(
        &self,
        actor: &Actor,
        right: Permission,
        what: &str,
        asked: &str,
    ) -> String {
        let told = format!(
            "{} does not have the permission {} for {what}",
            actor.name,
            right.name()
        );
        let refused = AuditEntry {
            message: &format!("{told}: {asked}"),
            ..AuditEntry::refused()
        };
        self.refuse(actor, refused).await;
        told
    }

    /// Logs a rejected request for a definition.
    pub(super) async fn log_rejection(
        &self,
        actor: &Actor,
        kind: EntryKind,
        id: &str,
        label: Option<&str>,
        error: &DefinitionError,
    ) {
        let refused = AuditEntry {
            kind: Some(kind),
            id,
            label,
            message: &error.to_string(),
            ..AuditEntry::refused()
        };
        self.refuse(actor, refused).await;
    }

    /// Logs a rejected request. The request stays rejected even if logging fails.
    async fn refuse(&self, actor: &Actor, refused: AuditEntry<'_>) {
        let taken = self.refusals.take(&actor.name, Instant::now());
        // The first rejection of the next period includes the summary, so no timer is needed.
        if taken.left_out > 0 {
            let message = format!(
                "{} more rejected requests; the log lists {MOST} per actor and minute",
                taken.left_out
            );
            let more = AuditEntry {
                message: &message,
                ..AuditEntry::refused()
            };
            self.try_to_note(actor, more).await;
        }
        if taken.is_noted {
            self.try_to_note(actor, refused).await;
        }
    }

    async fn try_to_note(&self, actor: &Actor, refused: AuditEntry<'_>) {
        let message = refused.message;
        if let Err(failed) = self.note(actor, refused).await {
            tracing::warn!(error = %failed, "cannot log a rejected request: {message}");
        }
    }
}

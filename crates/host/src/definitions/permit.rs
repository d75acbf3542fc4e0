//! Asking for a right, and noting that it was not there.

use std::time::Instant;

use quillet_core::store::EntryKind;

use super::refusals::MOST;
use super::{Actor, AuditEntry, DefinitionError, DefinitionService, Permission};

impl DefinitionService {
    /// Nothing if the actor has the right; what was refused is noted in the log.
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
        self.refused(actor, kind, id, None, &error).await;
        Err(error)
    }

    /// Notes that a right was missing for more than one definition, or for whichever: `what` says for
    /// which, `asked` what was asked for. Gives what the actor is told.
    pub async fn forbid(
        &self,
        actor: &Actor,
        right: Permission,
        what: &str,
        asked: &str,
    ) -> String {
        let told = format!(
            "{} does not have the right {} for {what}",
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

    /// Notes that something was refused for a definition.
    pub(super) async fn refused(
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

    /// Notes a refusal. That it was one is not changed by a log that cannot be written.
    async fn refuse(&self, actor: &Actor, refused: AuditEntry<'_>) {
        let taken = self.refusals.take(&actor.name, Instant::now());
        if taken.left_out > 0 {
            let message = format!(
                "{} more refusals; {MOST} of one actor are noted in a minute",
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
            tracing::warn!(error = %failed, "a refusal could not be noted: {message}");
        }
    }
}

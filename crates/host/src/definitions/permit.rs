//! Asking for a right, and noting that it was not there.

use std::time::Instant;

use quillet_core::store::Kind;

use super::refusals::MOST;
use super::{Actor, DefinitionError, Definitions, Noted, Right};

impl Definitions {
    /// Nothing if the actor has the right; what was refused is noted in the log.
    ///
    /// # Errors
    /// [`DefinitionError::Forbidden`].
    pub async fn permit(
        &self,
        actor: &Actor,
        right: Right,
        kind: Kind,
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
    pub async fn forbid(&self, actor: &Actor, right: Right, what: &str, asked: &str) -> String {
        let told = format!(
            "{} does not have the right {} for {what}",
            actor.name,
            right.name()
        );
        let refused = Noted {
            message: &format!("{told}: {asked}"),
            ..Noted::refused()
        };
        self.refuse(actor, refused).await;
        told
    }

    /// Notes that something was refused for a definition.
    pub(super) async fn refused(
        &self,
        actor: &Actor,
        kind: Kind,
        id: &str,
        label: Option<&str>,
        error: &DefinitionError,
    ) {
        let refused = Noted {
            kind: Some(kind),
            id,
            label,
            message: &error.to_string(),
            ..Noted::refused()
        };
        self.refuse(actor, refused).await;
    }

    /// Notes a refusal. That it was one is not changed by a log that cannot be written.
    async fn refuse(&self, actor: &Actor, refused: Noted<'_>) {
        let taken = self.refusals.take(&actor.name, Instant::now());
        if taken.left_out > 0 {
            let message = format!(
                "{} more refusals; {MOST} of one actor are noted in a minute",
                taken.left_out
            );
            let more = Noted {
                message: &message,
                ..Noted::refused()
            };
            self.try_to_note(actor, more).await;
        }
        if taken.is_noted {
            self.try_to_note(actor, refused).await;
        }
    }

    async fn try_to_note(&self, actor: &Actor, refused: Noted<'_>) {
        let message = refused.message;
        if let Err(failed) = self.note(actor, refused).await {
            tracing::warn!(error = %failed, "a refusal could not be noted: {message}");
        }
    }
}

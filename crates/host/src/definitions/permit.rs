//! Asking for a right, and noting that it was not there.

use quillet_core::history::Action;
use quillet_core::store::Kind;

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

    /// Notes that something was refused. That it was is not changed by a log that cannot be
    /// written.
    pub(super) async fn refused(
        &self,
        actor: &Actor,
        kind: Kind,
        id: &str,
        label: Option<&str>,
        error: &DefinitionError,
    ) {
        let noted = Noted {
            action: Action::Refused,
            kind,
            id,
            version: None,
            label,
            message: &error.to_string(),
        };
        if let Err(failed) = self.note(actor, noted).await {
            tracing::warn!(error = %failed, "a refusal could not be noted: {error}");
        }
    }
}

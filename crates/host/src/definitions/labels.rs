//! Moves labels: directly, by promotion or by rollback.

use quillet_core::history::{
    Action, LabelMove, LabelTarget, Labels, LogFilter, Version, VersionSelector, label_error,
};
use quillet_core::store::{EntryKey, EntryKind};

use super::{Actor, AuditEntry, DefinitionError, DefinitionService, Permission, ResolvedVersion};

/// Target of a label.
#[derive(Clone, Debug)]
pub enum LabelChange {
    /// The version that a selector currently refers to.
    At(VersionSelector),
    /// A version, or several with weights.
    Target(LabelTarget),
    /// Removes the label.
    Nowhere,
}

/// Request to move a label.
#[derive(Clone, Debug)]
pub struct Relabel<'a> {
    /// The kind of the definition.
    pub kind: EntryKind,
    /// Its id.
    pub id: &'a str,
    /// The label.
    pub label: &'a str,
    /// The target.
    pub wanted: LabelChange,
    /// Expected current target; `None` accepts any target, and `Some(None)` requires that the label
    /// does not exist.
    pub expect: Option<Option<LabelTarget>>,
    /// Message for the log.
    pub message: &'a str,
}

/// Checks that labels with these names can be set.
///
/// # Errors
/// The first invalid label.
pub fn check_labels<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), DefinitionError> {
    for name in names {
        if let Some(why) = label_error(name) {
            let label = name.to_owned();
            return Err(DefinitionError::LabelName { label, why });
        }
    }
    Ok(())
}

impl DefinitionService {
    /// Checks that the actor may move all of these labels.
    pub(super) async fn may_label(
        &self,
        actor: &Actor,
        kind: EntryKind,
        id: &str,
        mut labels: impl Iterator<Item = &str>,
    ) -> Result<(), DefinitionError> {
        if actor.rights.has(Permission::Promote, id) {
            return Ok(());
        }
        let protected = &self.options.protected_labels;
        let Some(label) = labels.find(|label| protected.iter().any(|one| one == label)) else {
            return Ok(());
        };
        let error = DefinitionError::Protected {
            id: id.to_owned(),
            label: label.to_owned(),
            who: actor.name.to_string(),
        };
        self.log_rejection(actor, kind, id, Some(label), &error)
            .await;
        Err(error)
    }

    /// Moves a label and returns all labels of the definition.
    ///
    /// # Errors
    /// The actor lacks a permission, the version does not exist, the label has another target, or
    /// the store failed.
    pub async fn relabel(
        &self,
        actor: &Actor,
        relabel: Relabel<'_>,
    ) -> Result<Labels, DefinitionError> {
        let Relabel {
            kind, id, label, ..
        } = relabel;
        // The permission promote is enough for protected labels; write is not required.
        if !actor.rights.has(Permission::Promote, id) {
            self.permit(actor, Permission::Write, kind, id).await?;
        }
        self.may_label(actor, kind, id, [label].into_iter()).await?;
        check_labels([label])?;
        if let LabelChange::Target(target) = &relabel.wanted
            && let Some(why) = target.validation_error()
        {
            let label = label.to_owned();
            return Err(DefinitionError::LabelName { label, why });
        }
        let key = self.key(kind, id).await?;
        let to = match relabel.wanted {
            LabelChange::Nowhere => None,
            LabelChange::Target(target) => Some(target),
            LabelChange::At(mark) => {
                Some(LabelTarget::Version(self.number(kind, id, &mark).await?))
            }
        };
        if let Some(why) = to.as_ref().and_then(LabelTarget::validation_error) {
            let label = label.to_owned();
            return Err(DefinitionError::LabelName { label, why });
        }
        // A log entry has one version, so it stays empty for a weighted target.
        let number = match &to {
            Some(LabelTarget::Version(number)) => Some(*number),
            _ => None,
        };
        let moves = [LabelMove {
            name: label.to_owned(),
            to,
            expect: relabel.expect,
        }];
        let labels = self.history()?.relabel(kind, &key, &moves).await?;
        self.moved(actor, kind, id, label, number, relabel.message)
            .await;
        Ok(labels)
    }

    /// Moves either all of these labels of a definition or none, and returns all labels of the
    /// definition.
    ///
    /// # Errors
    /// Like [`DefinitionService::relabel`].
    pub async fn relabel_all(
        &self,
        actor: &Actor,
        kind: EntryKind,
        id: &str,
        moves: &[LabelMove],
        message: &str,
    ) -> Result<Labels, DefinitionError> {
        if !actor.rights.has(Permission::Promote, id) {
            self.permit(actor, Permission::Write, kind, id).await?;
        }
        let names = moves.iter().map(|one| one.name.as_str());
        self.may_label(actor, kind, id, names.clone()).await?;
        check_labels(names)?;
        let key = self.key(kind, id).await?;
        let labels = self.history()?.relabel(kind, &key, moves).await?;
        for LabelMove { name, to, .. } in moves {
            let number = to.as_ref().map(super::heaviest);
            self.moved(actor, kind, id, name, number, message).await;
        }
        Ok(labels)
    }

    /// Returns the version that a selector refers to, like [`DefinitionService::find`]. Stored
    /// content without a version is recorded first.
    ///
    /// # Errors
    /// Like [`DefinitionService::find`].
    pub async fn find_kept(
        &self,
        kind: EntryKind,
        id: &str,
        mark: Option<&VersionSelector>,
    ) -> Result<ResolvedVersion, DefinitionError> {
        let found = self.find(kind, id, mark).await?;
        if found.version.is_some() || self.history().is_err() {
            return Ok(found);
        }
        self.take_note(kind, std::slice::from_ref(&found.key))
            .await?;
        self.find(kind, id, mark).await
    }

    async fn number(
        &self,
        kind: EntryKind,
        id: &str,
        mark: &VersionSelector,
    ) -> Result<u64, DefinitionError> {
        let (_, version) = self.ensure_version(kind, id, mark).await?;
        Ok(version.number)
    }

    /// Returns the version that a selector refers to, and records it if necessary.
    ///
    /// # Errors
    /// Like [`DefinitionService::find`]; also if the store does not keep a history.
    pub async fn ensure_version(
        &self,
        kind: EntryKind,
        id: &str,
        mark: &VersionSelector,
    ) -> Result<(ResolvedVersion, Version), DefinitionError> {
        // Without a history, `find_kept` would succeed with no version, so this fails first.
        self.history()?;
        let found = match self.find_kept(kind, id, Some(mark)).await {
            // The number may belong to content that was just written and is not yet recorded.
            Err(DefinitionError::Version { .. }) => {
                let key = self.key(kind, id).await?;
                self.take_note(kind, std::slice::from_ref(&key)).await?;
                self.find(kind, id, Some(mark)).await?
            }
            found => found?,
        };
        let none = || DefinitionError::version(&found.key, &mark.to_string(), &[]);
        let version = found.version.clone().ok_or_else(none)?;
        Ok((found, version))
    }

    pub(super) async fn moved(
        &self,
        actor: &Actor,
        kind: EntryKind,
        id: &str,
        label: &str,
        version: Option<u64>,
        message: &str,
    ) {
        let entry = AuditEntry {
            action: Action::Label,
            kind: Some(kind),
            id,
            version,
            label: Some(label),
            message,
        };
        self.note_done(actor, entry).await;
    }

    /// Returns the previous version of a label according to the log. If the log has no entry,
    /// returns the version before the current version.
    ///
    /// # Errors
    /// The label does not exist, or has no earlier version.
    pub async fn before(
        &self,
        kind: EntryKind,
        id: &str,
        label: &str,
    ) -> Result<u64, DefinitionError> {
        let key = self.key(kind, id).await?;
        let labels = self.labels(kind, &key).await?;
        let now = labels.get(label).map(super::heaviest);
        let now = now.ok_or_else(|| DefinitionError::label(&key, label, &labels))?;
        let filter = LogFilter {
            kind: Some(kind.word().into()),
            id: Some(id.into()),
            who: None,
        };
        let history = self.history()?;
        let lines = history.log(&filter, None, LOOK_BACK).await?;
        let moved = lines
            .into_iter()
            .filter(|line| line.action == Action::Label && line.label.as_deref() == Some(label));
        let earlier = moved
            .filter_map(|line| line.version)
            .find(|number| *number != now);
        // The log may name a version that was deleted later.
        if let Some(number) = earlier
            && self.is_kept(kind, &key, number).await?
        {
            return Ok(number);
        }
        let older = history.versions(kind, &key, Some(now), LOOK_BACK).await?;
        let older = older.into_iter().find(|version| !version.removed);
        let none = || DefinitionError::version(&key, &format!("before {now}"), &[]);
        Ok(older.ok_or_else(none)?.number)
    }

    async fn is_kept(
        &self,
        kind: EntryKind,
        key: &EntryKey,
        number: u64,
    ) -> Result<bool, DefinitionError> {
        let wanted = [(key.clone(), number)];
        let kept = self.history()?.load_versions(kind, &wanted).await?;
        let kept = kept.into_iter().flatten().next();
        Ok(kept.is_some_and(|kept| kept.content.is_some()))
    }
}

/// Maximum number of log entries or versions to search.
const LOOK_BACK: usize = 1000;

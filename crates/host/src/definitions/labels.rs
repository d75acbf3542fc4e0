//! Moving labels: by hand, promoting, rolling back.

use quillet_core::history::{
    Action, LabelMove, LabelTarget, Labels, LogFilter, Version, VersionSelector, wrong_label,
};
use quillet_core::store::{EntryKey, EntryKind};

use super::{Actor, AuditEntry, DefinitionError, DefinitionService, Permission, ResolvedVersion};

/// Where a label is to go.
#[derive(Clone, Debug)]
pub enum LabelChange {
    /// To the version that a mark names now.
    At(VersionSelector),
    /// To a version, or to several in shares.
    Target(LabelTarget),
    /// Away.
    Nowhere,
}

/// A label that somebody wants moved.
#[derive(Clone, Debug)]
pub struct Relabel<'a> {
    /// The kind of the definition.
    pub kind: EntryKind,
    /// Its id.
    pub id: &'a str,
    /// The label.
    pub label: &'a str,
    /// Where it is to go.
    pub wanted: LabelChange,
    /// Where it has to be now; `None` where that does not matter, `Some(None)` where it must not
    /// be.
    pub expect: Option<Option<LabelTarget>>,
    /// Why.
    pub message: &'a str,
}

/// Nothing if labels of these names can be set.
///
/// # Errors
/// What is wrong with the first that cannot.
pub fn check_labels<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<(), DefinitionError> {
    for name in names {
        if let Some(why) = wrong_label(name) {
            let label = name.to_owned();
            return Err(DefinitionError::LabelName { label, why });
        }
    }
    Ok(())
}

impl DefinitionService {
    /// Nothing if the actor may move all of these labels.
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
        self.refused(actor, kind, id, Some(label), &error).await;
        Err(error)
    }

    /// Moves a label; gives all labels of the definition as they are then.
    ///
    /// # Errors
    /// The actor may not; there is no such version; the label is elsewhere; the store failed.
    pub async fn relabel(
        &self,
        actor: &Actor,
        relabel: Relabel<'_>,
    ) -> Result<Labels, DefinitionError> {
        let Relabel {
            kind, id, label, ..
        } = relabel;
        // Whoever may promote moves protected labels, and needs no right to write for it.
        if !actor.rights.has(Permission::Promote, id) {
            self.permit(actor, Permission::Write, kind, id).await?;
        }
        self.may_label(actor, kind, id, [label].into_iter()).await?;
        check_labels([label])?;
        if let LabelChange::Target(target) = &relabel.wanted
            && let Some(why) = target.wrong()
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
        if let Some(why) = to.as_ref().and_then(LabelTarget::wrong) {
            let label = label.to_owned();
            return Err(DefinitionError::LabelName { label, why });
        }
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

    /// Moves several labels of a definition at once, or none of them; gives all labels as they are
    /// then.
    ///
    /// # Errors
    /// As [`DefinitionService::relabel`].
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

    /// The version that a mark names, as [`DefinitionService::find`]; what stands in the store and is no
    /// version yet becomes one.
    ///
    /// # Errors
    /// As [`DefinitionService::find`].
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

    /// The version that a mark names, which is kept now if it was not yet.
    ///
    /// # Errors
    /// As [`DefinitionService::find`]; the store keeps no history.
    pub async fn ensure_version(
        &self,
        kind: EntryKind,
        id: &str,
        mark: &VersionSelector,
    ) -> Result<(ResolvedVersion, Version), DefinitionError> {
        self.history()?;
        let found = match self.find_kept(kind, id, Some(mark)).await {
            // It may be the number of what somebody wrote a moment ago.
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

    /// The version that a label pointed at before the one of now, as the log has it; else the one
    /// before that.
    ///
    /// # Errors
    /// There is no such label, or nothing before it.
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

/// Lines of the log, or versions, that are looked at for what was before.
const LOOK_BACK: usize = 1000;

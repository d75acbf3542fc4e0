//! Computes changes from the state of a definition. This module does not access Redis.

use quillet_core::history::{
    Commit, CommitResult, DefinitionContent, Labels, STORE, Version, VersionRecord,
    WritePrecondition,
};
use quillet_core::store::{EntryKey, StoreError, StoreErrorKind};

use super::exchange::{CurrentDefinition, DefinitionChange, DefinitionState, KeyWrite};
use crate::history::chain::{check_precondition, next, nothing};
use crate::history::{committed, stored};

/// Builder of a change.
struct ChangeBuilder {
    head: Option<Version>,
    change: DefinitionChange,
}

impl ChangeBuilder {
    fn of(state: &DefinitionState) -> Self {
        ChangeBuilder {
            head: state.head.clone(),
            change: DefinitionChange {
                numbers: state.numbers.clone(),
                ..DefinitionChange::default()
            },
        }
    }

    fn add(&mut self, kept: VersionRecord) {
        self.change.numbers.push(kept.version.number);
        self.head = Some(kept.version.clone());
        self.change.added.push(kept);
    }

    fn push(&mut self, content: Option<DefinitionContent>, author: &str, message: &str) {
        let version = next(self.head.as_ref(), content.as_ref(), author, message);
        self.add(VersionRecord { version, content });
    }

    /// Records the current text as a version, unless it only differs in white space. A value that
    /// is not a text is never recorded.
    fn see(&mut self, state: &DefinitionState, author: &str) {
        let head = self.head.as_ref().filter(|head| !head.removed);
        match &state.now {
            CurrentDefinition::Nothing if head.is_some() => self.push(None, author, ""),
            CurrentDefinition::Other(content, digest)
                if head.is_none_or(|head| head.digest != *digest) =>
            {
                self.push(Some(content.clone()), author, "");
            }
            _ => {}
        }
        let is_new = !state.is_stamped && !matches!(state.now, CurrentDefinition::Broken);
        self.change.stamp = self.head.is_some() && is_new;
    }

    fn point(&mut self, state: &DefinitionState, labels: &Labels) {
        let now = (!labels.0.is_empty()).then(|| labels.to_text());
        self.change.labels = match now {
            now if now == state.labels => KeyWrite::Keep,
            Some(text) => KeyWrite::Set(text.into()),
            None => KeyWrite::Remove,
        };
    }

    /// Deletes all versions except the newest `keep` and those with labels.
    fn bound(&mut self, keep: usize, labels: &Labels) {
        let old = self.change.numbers.below(None).skip(keep.max(1));
        self.change.dropped = old.filter(|number| !labels.points_at(*number)).collect();
        for number in &self.change.dropped {
            self.change.numbers.remove(*number);
        }
    }
}

/// Records the current text as a version; `None` if nothing needs to change.
pub(crate) fn observe(
    state: &DefinitionState,
    key: &EntryKey,
    author: &str,
    keep: usize,
) -> Option<DefinitionChange> {
    let mut draft = ChangeBuilder::of(state);
    draft.see(state, author);
    // If the labels are invalid, it is unknown which versions are needed, so none is deleted.
    if let Ok(labels) = stored(key, state.labels.as_deref()) {
        draft.bound(keep, &labels);
    }
    let is_new = draft.change.stamp || !draft.change.added.is_empty();
    is_new.then_some(draft.change)
}

/// Writes a definition, records it as a version and moves labels to it.
pub(crate) fn commit(
    state: &DefinitionState,
    commit: &Commit,
    keep: usize,
) -> Result<(DefinitionChange, CommitResult), StoreError> {
    let is_broken = matches!(state.now, CurrentDefinition::Broken);
    let is = state.digest();
    if is_broken && commit.expect != WritePrecondition::Anything {
        let message = format!(
            "{}: the stored value is no longer a string",
            commit.key.id()
        );
        return Err(StoreError::new(StoreErrorKind::Conflict, message));
    }
    check_precondition(state.head.as_ref(), is, commit)?;
    let mut draft = ChangeBuilder::of(state);
    draft.see(state, STORE);
    let same = match (&commit.content, is) {
        (None, None) => !is_broken,
        (Some(wanted), Some(is)) => !commit.always && wanted.digest() == is,
        _ => false,
    };
    if !same {
        draft.push(commit.content.clone(), &commit.author, &commit.message);
    }
    let version = draft.head.clone().ok_or_else(|| nothing(&commit.key))?;
    let labels = committed(commit, state.labels.as_deref(), version.number)?;
    draft.change.definition = match &commit.content {
        Some(content) => KeyWrite::Set(content.text.clone()),
        None => KeyWrite::Remove,
    };
    draft.change.stamp = true;
    draft.point(state, &labels);
    draft.bound(keep, &labels);
    let done = CommitResult {
        version,
        is_new: !same,
        labels,
    };
    Ok((draft.change, done))
}

/// Returns a change without any effect.
pub(crate) fn nothing_new(state: &DefinitionState) -> DefinitionChange {
    ChangeBuilder::of(state).change
}

/// Returns a change that sets the labels.
pub(crate) fn relabel(state: &DefinitionState, labels: &Labels) -> DefinitionChange {
    let mut draft = ChangeBuilder::of(state);
    draft.point(state, labels);
    draft.change
}

/// Returns a change that deletes old versions.
pub(crate) fn collect(
    state: &DefinitionState,
    key: &EntryKey,
    keep: usize,
) -> Result<DefinitionChange, StoreError> {
    let mut draft = ChangeBuilder::of(state);
    draft.bound(keep, &stored(key, state.labels.as_deref())?);
    Ok(draft.change)
}

/// Returns a change that adds imported versions after the existing ones.
pub(crate) fn import(
    state: &DefinitionState,
    added: Vec<VersionRecord>,
    labels: &Labels,
) -> DefinitionChange {
    let mut draft = ChangeBuilder::of(state);
    let newest = added.last().map(|kept| kept.content.clone());
    let newest_is_written = newest.is_some();
    added.into_iter().for_each(|kept| draft.add(kept));
    draft.change.definition = match newest {
        None => KeyWrite::Keep,
        Some(None) => KeyWrite::Remove,
        Some(Some(content)) => KeyWrite::Set(content.text),
    };
    draft.change.stamp = newest_is_written;
    draft.point(state, labels);
    draft.change
}

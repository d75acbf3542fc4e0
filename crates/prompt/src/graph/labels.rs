//! Labels and selected versions in the dependency graph, and the effects of their changes.

use std::ops::Bound;
use std::sync::Arc;

use quillet_core::history::{DefinitionContent, Labels};
use quillet_core::store::EntryKey;

use super::{Contents, DefinitionGraph, DirtyIds, PromptVersions};
use crate::build::Builder;
use crate::snapshot::{CatalogueSnapshot, StoredLocation};
use crate::versions::{LabelledVersions, VersionPin, VersionedPrompt};

impl DefinitionGraph {
    /// Sets the labels of prompts with the versions that they point to, and returns the new
    /// snapshot. An empty set removes a prompt's labels.
    pub(crate) fn label(
        &mut self,
        builder: &Builder,
        before: &CatalogueSnapshot,
        labels: Vec<(EntryKey, Labels, Contents)>,
    ) -> CatalogueSnapshot {
        let mut next = before.clone();
        let mut touched = DirtyIds::default();
        for (key, labels, contents) in labels {
            let id = self.id_of(&key);
            if labels.0.is_empty() {
                self.labels.remove(&id);
            } else {
                let versions = self.read_versions(builder, &next, &id, &key, contents);
                self.labels.insert(id.clone(), (labels, versions));
            }
            touched.prompts.insert(id);
        }
        self.make(builder, &mut next, touched);
        next
    }

    fn read_versions(
        &self,
        builder: &Builder,
        next: &CatalogueSnapshot,
        id: &Arc<str>,
        key: &EntryKey,
        contents: Contents,
    ) -> PromptVersions {
        let known = self.labels.get(id).map(|(_, versions)| versions);
        let placed = next.places.get(id);
        let folder = placed.and_then(|placed| placed.folder.as_ref());
        let now = self.direct.get(id).and_then(|same| same.last());
        let origin = now.map_or_else(|| id.clone(), |direct| direct.origin.clone());
        let read = |(number, content): (u64, Option<DefinitionContent>)| {
            let again = known
                .and_then(|known| known.get(&number))
                .filter(|it| it.read.is_ok());
            // Versions never change, so a valid parsed version is reused. A version that failed to
            // parse is parsed again.
            let version = match (again, content) {
                (Some(version), _) => version.clone(),
                (None, Some(content)) => Arc::new(VersionedPrompt::read(
                    builder, id, key, &origin, folder, number, content,
                )),
                (None, None) => Arc::new(VersionedPrompt::absent(id, &origin, number)),
            };
            (number, version)
        };
        contents.into_iter().map(read).collect()
    }

    /// Keys of the prompts that have labels.
    pub(crate) fn labelled(&self) -> Vec<EntryKey> {
        let key = |id: &Arc<str>| {
            let direct = self.direct.get(id).and_then(|same| same.last());
            direct.map_or_else(
                || EntryKey::new(id.replace('.', ":")),
                |direct| direct.key.clone(),
            )
        };
        self.labels.keys().map(key).collect()
    }

    /// Versions that templates refer to and that were not looked up yet.
    pub(crate) fn unpinned(&self) -> Vec<VersionPin> {
        let pins = self.unpinned.iter();
        pins.filter(|pin| self.direct.contains_key(&pin.id))
            .cloned()
            .collect()
    }

    /// Adds versions that templates refer to, and returns the new snapshot.
    pub(crate) fn pin(
        &mut self,
        builder: &Builder,
        before: &CatalogueSnapshot,
        pins: Vec<(VersionPin, Option<VersionedPrompt>)>,
    ) -> CatalogueSnapshot {
        let mut next = before.clone();
        let mut touched = DirtyIds::default();
        for (pin, version) in pins {
            let id: Arc<str> = format!("{}@{}", pin.id, pin.mark).into();
            let version = version.map(Arc::new);
            if let Some(version) = &version {
                next.pinned.insert(id.clone(), version.clone());
            }
            self.pinned.insert(id.clone(), version);
            // The pin is removed even if its version does not exist; otherwise the lookup would
            // never end.
            self.unpinned.remove(&pin);
            let seekers = self.seekers.get(&id).into_iter().flatten();
            touched.prompts.extend(seekers.cloned());
        }
        self.make(builder, &mut next, touched);
        next
    }

    /// Ids with version selectors that were looked up for this prompt.
    pub(super) fn marked(&self, id: &str) -> Vec<Arc<str>> {
        let begin = format!("{id}@");
        let from = (Bound::Included(begin.as_str()), Bound::Unbounded);
        let marked = self.seekers.range::<str, _>(from).map(|(other, _)| other);
        let marked = marked.take_while(|other| other.starts_with(&begin));
        marked.cloned().collect()
    }

    /// Updates the snapshot's labels and storage location of a prompt.
    pub(super) fn describe(&self, next: &mut CatalogueSnapshot, id: &Arc<str>) {
        let direct = self.direct.get(id).and_then(|same| same.last());
        let Some(direct) = direct else {
            next.labelled.remove(id);
            next.places.remove(id);
            return;
        };
        let placed = StoredLocation {
            key: direct.key.clone(),
            folder: direct.entry.as_ref().and_then(|entry| entry.folder.clone()),
        };
        let is_usual = placed.folder.is_none()
            && placed.key.as_str().replace(':', ".") == **id
            // `key_of` converts dots to colons, so a key that contains dots must be recorded.
            && !placed.key.as_str().contains('.');
        if is_usual {
            next.places.remove(id);
        } else {
            next.places.insert(id.clone(), placed);
        }
        match self.labels.get(id) {
            None => drop(next.labelled.remove(id)),
            Some((labels, versions)) => {
                let labelled = LabelledVersions {
                    labels: labels.clone(),
                    versions: versions.clone(),
                    latest: Arc::new(direct.to_version()),
                };
                next.labelled.insert(id.clone(), Arc::new(labelled));
            }
        }
    }
}

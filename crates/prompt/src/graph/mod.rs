//! Dependency graph of a store's definitions. Converts store changes to snapshot changes.
//!
//! The work is proportional to the change. An entry is read only when it changes. A prompt is
//! rebuilt only when its own definition changes, or one that its templates looked up, whether the
//! lookup found it or not.

mod labels;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::PathBuf;
use std::sync::Arc;

use quillet_core::history::{DefinitionContent, LabelTarget, Labels, PRODUCTION, VersionSelector};
use quillet_core::store::{EntryKey, EntryKind, StoreEntry};
use quillet_core::tool::Tool;
use smallvec::SmallVec;

use crate::build::{Builder, Candidate, is_file, path};
use crate::checked::CheckResult;
use crate::definition::Prompt;
use crate::loader::{PromptLoader, Prompts};
use crate::snapshot::{CatalogueSnapshot, Definition, DefinitionState, PromptOrigin};
use crate::table::ChunkedTable;
use crate::tool_registry::{EntryChange, ToolRegistry};
use crate::versions::{VersionPin, VersionedPrompt};

/// Versions of a prompt by number.
type PromptVersions = BTreeMap<u64, Arc<VersionedPrompt>>;
/// Stored versions by number; `None` if a version does not exist.
pub(crate) type Contents = BTreeMap<u64, Option<DefinitionContent>>;

/// Entries of a store with their dependencies.
#[derive(Debug, Default)]
pub(crate) struct DefinitionGraph {
    /// Extensions by id. Several keys can map to one id; the greatest key takes precedence.
    extensions: BTreeMap<Arc<str>, BTreeMap<EntryKey, StoreEntry>>,
    /// Prompts that are stored as separate entries, by id.
    direct: ChunkedTable<SmallVec<[RegisteredPrompt; 1]>>,
    /// Prompts of extensions by id, with the extensions that provide each and its index there.
    provided: BTreeMap<Arc<str>, BTreeMap<Arc<str>, usize>>,
    /// Dependents of an id: definitions that looked it up, whether it existed or not.
    seekers: BTreeMap<Arc<str>, BTreeSet<Arc<str>>>,
    /// Ids that each definition looked up.
    sought: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// Prompt files in folders. They are read again when files that they refer to may have changed.
    files: BTreeSet<(Arc<str>, EntryKey)>,
    /// Files that are data of other files, and therefore not reported as invalid prompts.
    data: BTreeSet<(Arc<str>, EntryKey)>,
    /// Labels of prompts by id, with the versions that they point to.
    labels: BTreeMap<Arc<str>, (Labels, PromptVersions)>,
    /// Versions that templates select by number or digest, by id with selector; `None` if a version
    /// does not exist.
    pinned: BTreeMap<Arc<str>, Option<Arc<VersionedPrompt>>>,
    /// Selected versions that were not looked up yet.
    unpinned: BTreeSet<VersionPin>,
    pub(crate) tools: ToolRegistry,
}

/// A prompt that is stored as a separate entry.
#[derive(Clone, Debug)]
struct RegisteredPrompt {
    key: EntryKey,
    origin: Arc<str>,
    text: Arc<str>,
    /// The whole entry, if it contains more than the text.
    entry: Option<Box<StoreEntry>>,
    read: CheckResult<Arc<Prompt>>,
    /// Files that it refers to.
    refers: Option<Box<[PathBuf]>>,
}

/// Ids of definitions to rebuild.
#[derive(Debug, Default)]
struct DirtyIds {
    extensions: BTreeSet<Arc<str>>,
    prompts: BTreeSet<Arc<str>>,
}

impl DefinitionGraph {
    /// Applies changes of one kind and returns the new snapshot.
    pub(crate) fn change(
        &mut self,
        builder: &Builder,
        before: &CatalogueSnapshot,
        kind: EntryKind,
        changes: Vec<EntryChange>,
    ) -> CatalogueSnapshot {
        let mut next = before.clone();
        let mut touched = DirtyIds::default();
        match kind {
            EntryKind::Tool => self.tools.change(builder, &mut next, changes),
            EntryKind::Extension => {
                for (key, entry) in changes {
                    let id: Arc<str> = key.id().into();
                    put(&mut self.extensions, &id, key, entry);
                    touched.extensions.insert(id);
                }
            }
            EntryKind::Prompt => {
                for (key, entry) in changes {
                    touched.prompts.extend(self.put_prompt(builder, key, entry));
                }
            }
            // `label` applies labels together with their versions; the other kinds do not affect
            // prompts.
            EntryKind::Environ | EntryKind::Agent | EntryKind::Database | EntryKind::Label => {}
        }
        self.make(builder, &mut next, touched);
        next
    }

    /// Replaces all entries of a kind and returns the new snapshot.
    pub(crate) fn replace(
        &mut self,
        builder: &Builder,
        before: &CatalogueSnapshot,
        kind: EntryKind,
        entries: Vec<StoreEntry>,
    ) -> CatalogueSnapshot {
        let changes = self.differences(kind, entries);
        let mut next = self.change(builder, before, kind, changes);
        // An unchanged entry may refer to a file that changed.
        if kind == EntryKind::Prompt && !self.files.is_empty() {
            let touched = DirtyIds {
                prompts: self.read_files(builder),
                ..DirtyIds::default()
            };
            self.make(builder, &mut next, touched);
        }
        next
    }

    /// Replaces the tools of an owner that are not in the store.
    pub(crate) fn offer(
        &mut self,
        before: &CatalogueSnapshot,
        owner: &'static str,
        tools: Vec<Arc<dyn Tool>>,
    ) -> CatalogueSnapshot {
        let mut next = before.clone();
        self.tools.offer(&mut next, owner, tools);
        next
    }

    /// Whether prompts come from a folder, where an entry may contain more than a text.
    pub(crate) fn has_files(&self) -> bool {
        !self.files.is_empty()
    }

    /// Compares these entries with the current ones and returns the differences.
    fn differences(&self, kind: EntryKind, entries: Vec<StoreEntry>) -> Vec<EntryChange> {
        let mut gone: BTreeSet<EntryKey> = self.keys(kind);
        let mut changes = Vec::new();
        for entry in entries {
            gone.remove(&entry.key);
            if !self.holds(kind, &entry) {
                changes.push((entry.key.clone(), Some(entry)));
            }
        }
        changes.extend(gone.into_iter().map(|key| (key, None)));
        changes
    }

    fn keys(&self, kind: EntryKind) -> BTreeSet<EntryKey> {
        match kind {
            EntryKind::Prompt => {
                let all = self.direct.values().flatten();
                all.map(|direct| direct.key.clone()).collect()
            }
            EntryKind::Extension => {
                let all = self.extensions.values().flat_map(BTreeMap::keys);
                all.cloned().collect()
            }
            EntryKind::Tool => self.tools.keys(),
            EntryKind::Environ | EntryKind::Agent | EntryKind::Database | EntryKind::Label => {
                BTreeSet::new()
            }
        }
    }

    fn holds(&self, kind: EntryKind, entry: &StoreEntry) -> bool {
        let id = entry.key.id();
        match kind {
            EntryKind::Prompt => {
                let mut same = self.direct.get(&id).into_iter().flatten();
                same.any(|direct| direct.is(entry))
            }
            EntryKind::Extension => {
                let same = self.extensions.get(&*id);
                same.and_then(|same| same.get(&entry.key)) == Some(entry)
            }
            EntryKind::Tool => self.tools.holds(&id, entry),
            EntryKind::Environ | EntryKind::Agent | EntryKind::Database | EntryKind::Label => true,
        }
    }

    /// Returns the id of a key, shared with the prompt that has it.
    fn id_of(&self, key: &EntryKey) -> Arc<str> {
        let id = key.id();
        match self.direct.get_key_value(&id) {
            Some((id, _)) => id.clone(),
            None => id.into(),
        }
    }

    /// Records a prompt and returns the affected ids.
    fn put_prompt(
        &mut self,
        builder: &Builder,
        key: EntryKey,
        entry: Option<StoreEntry>,
    ) -> Option<Arc<str>> {
        let id = self.id_of(&key);
        let at = (id.clone(), key);
        self.files.remove(&at);
        self.data.remove(&at);
        let (_, key) = at;
        let mut same = self.direct.get(&id).cloned().unwrap_or_default();
        same.retain(|direct| direct.key != key);
        if let Some(entry) = entry {
            if entry.folder.is_some() {
                self.files.insert((id.clone(), key.clone()));
            }
            // Sorted by key, because the greatest key of an id takes precedence.
            let place = same.partition_point(|direct| direct.key < key);
            same.insert(place, RegisteredPrompt::read(builder, &id, entry));
        }
        if same.is_empty() {
            drop(self.direct.remove(&id))
        } else {
            drop(self.direct.insert(id.clone(), same))
        }
        Some(id)
    }

    /// Reads prompt files again, because the files that they refer to may have changed. Returns the
    /// ids of the prompts that differ.
    fn read_files(&mut self, builder: &Builder) -> BTreeSet<Arc<str>> {
        let mut touched = BTreeSet::new();
        let mut referred: BTreeSet<PathBuf> = BTreeSet::new();
        for (id, key) in &self.files {
            let mut same = self.direct.get(id).cloned().unwrap_or_default();
            let Some(direct) = same.iter_mut().find(|direct| direct.key == *key) else {
                continue;
            };
            if let Some(now) = direct.reparse(builder, id) {
                let is_same = now.says_the_same(direct);
                // References can change even if the prompt stays equal.
                direct.refers.clone_from(&now.refers);
                if !is_same {
                    *direct = now;
                    touched.insert(id.clone());
                }
            }
            referred.extend(direct.refers.iter().flatten().cloned());
            self.direct.insert(id.clone(), same);
        }
        let is_data = |(id, key): &&(Arc<str>, EntryKey)| {
            let mut same = self.direct.get(id).into_iter().flatten();
            same.any(|direct| direct.key == *key && direct.is_data(&referred))
        };
        let data: BTreeSet<(Arc<str>, EntryKey)> =
            self.files.iter().filter(is_data).cloned().collect();
        let moved = data.symmetric_difference(&self.data);
        touched.extend(moved.map(|(id, _)| id.clone()));
        self.data = data;
        touched
    }

    /// Rebuilds the changed definitions and their dependents.
    fn make(&mut self, builder: &Builder, next: &mut CatalogueSnapshot, mut touched: DirtyIds) {
        for id in std::mem::take(&mut touched.extensions) {
            touched.prompts.extend(self.make_extension(next, id));
        }
        // A version that was missing before may exist now.
        let marked = touched.prompts.iter().flat_map(|id| self.marked(id));
        let marked: Vec<Arc<str>> = marked.collect();
        for id in marked {
            if let Some(None) = self.pinned.get(&id) {
                self.pinned.remove(&id);
            }
        }
        let all = self.followers(next, &touched.prompts);
        for id in all {
            self.make_prompt(builder, next, id);
        }
    }

    /// Rebuilds an extension. Returns the ids of its old and new prompts.
    fn make_extension(&mut self, next: &mut CatalogueSnapshot, id: Arc<str>) -> BTreeSet<Arc<str>> {
        let known = next.extensions.get(&id);
        let had: BTreeSet<Arc<str>> = known.into_iter().flat_map(|it| provided_by(it)).collect();
        for prompt in &had {
            if let Some(by) = self.provided.get_mut(prompt) {
                by.remove(&id);
                if by.is_empty() {
                    self.provided.remove(prompt);
                }
            }
        }
        let Some((_, entry)) = self.extensions.get(&id).and_then(BTreeMap::last_key_value) else {
            next.extensions.remove(&id);
            return had;
        };
        let made = Arc::new(crate::build::extension(&id, entry));
        let mut all = had;
        if let DefinitionState::Valid(extension) = &made.state {
            for (place, (prompt, _)) in extension.prompts.iter().enumerate() {
                let prompt: Arc<str> = prompt.as_str().into();
                let by = self.provided.entry(prompt.clone()).or_default();
                // If an extension has several prompts with one id, the first takes precedence.
                by.entry(id.clone()).or_insert(place);
                all.insert(prompt);
            }
        }
        crate::build::report("extension", &made);
        next.extensions.insert(id, made);
        all
    }

    /// Returns these prompts and all that looked up one of them.
    fn followers(
        &self,
        next: &CatalogueSnapshot,
        touched: &BTreeSet<Arc<str>>,
    ) -> BTreeSet<Arc<str>> {
        let mut all = touched.clone();
        for id in touched {
            all.extend(self.seekers.get(id).into_iter().flatten().cloned());
            for marked in self.marked(id) {
                all.extend(self.seekers.get(&marked).into_iter().flatten().cloned());
            }
            // A partial `a._b` affects every prompt in its folder, such as `a.c`, but not `a.c.d`.
            for (at, _) in id.match_indices("._") {
                let Some(folder) = id.get(..=at) else {
                    continue;
                };
                let beside = next.prompts.beginning_with(folder).map(|(other, _)| other);
                let beside = beside.filter(|other| !other[folder.len()..].contains('.'));
                all.extend(beside.cloned());
            }
        }
        all
    }

    fn make_prompt(&mut self, builder: &Builder, next: &mut CatalogueSnapshot, id: Arc<str>) {
        self.describe(next, &id);
        // Old dependencies are removed first, because the new text may call other prompts.
        for other in self.sought.remove(&id).unwrap_or_default() {
            if let Some(seekers) = self.seekers.get_mut(&other) {
                seekers.remove(&id);
                if seekers.is_empty() {
                    self.seekers.remove(&other);
                }
            }
        }
        let known = KnownPrompts {
            stock: self,
            snapshot: next,
            drawn: Cell::new(false),
        };
        let Some(candidate) = known.candidate(&id) else {
            next.prompts.remove(&id);
            return;
        };
        let shelf = PromptLoader::new(&known);
        let mut made = builder.prompt(&id, &candidate, &shelf);
        let sought = shelf.into_sought();
        if let DefinitionState::Valid(entry) = &mut made.state {
            entry.drawn = known.drawn.get();
        }
        let made = Arc::new(made);
        for other in &sought {
            let seekers = self.seekers.entry(other.clone()).or_default();
            seekers.insert(id.clone());
            // Failed lookups are in `pinned` too, so they are not repeated.
            if other.contains('@') && !self.pinned.contains_key(other) {
                self.unpinned.extend(VersionPin::of(other));
            }
        }
        if !sought.is_empty() {
            self.sought.insert(id.clone(), sought);
        }
        crate::build::report("prompt", &made);
        next.prompts.insert(id, made);
    }
}

/// Adds, replaces or removes the entry of a key.
fn put(
    entries: &mut BTreeMap<Arc<str>, BTreeMap<EntryKey, StoreEntry>>,
    id: &Arc<str>,
    key: EntryKey,
    entry: Option<StoreEntry>,
) {
    match entry {
        Some(entry) => {
            let same = entries.entry(id.clone()).or_default();
            same.insert(key, entry);
        }
        None => {
            let Some(same) = entries.get_mut(id) else {
                return;
            };
            same.remove(&key);
            if same.is_empty() {
                entries.remove(id);
            }
        }
    }
}

fn provided_by(definition: &Definition<Arc<crate::Extension>>) -> impl Iterator<Item = Arc<str>> {
    let extension = match &definition.state {
        DefinitionState::Valid(extension) => Some(extension),
        DefinitionState::Invalid => None,
    };
    let prompts = extension.into_iter().flat_map(|it| &it.prompts);
    prompts.map(|(id, _)| Arc::from(id.as_str()))
}

impl RegisteredPrompt {
    fn read(builder: &Builder, id: &Arc<str>, entry: StoreEntry) -> Self {
        let (read, refers) = builder.read(id, &entry);
        let is_plain =
            entry.folder.is_none() && entry.companion.is_none() && entry.problem.is_none();
        RegisteredPrompt {
            key: entry.key.clone(),
            origin: entry.origin.clone(),
            text: entry.text.clone(),
            entry: (!is_plain).then(|| Box::new(entry)),
            read,
            refers: (!refers.is_empty()).then(|| refers.into()),
        }
    }

    /// Parses the prompt again if its entry contains more than the text.
    fn reparse(&self, builder: &Builder, id: &Arc<str>) -> Option<Self> {
        let entry = self.entry.as_deref().filter(|entry| is_file(entry))?;
        Some(RegisteredPrompt::read(builder, id, entry.clone()))
    }

    fn is(&self, other: &StoreEntry) -> bool {
        match &self.entry {
            Some(entry) => **entry == *other,
            None => {
                let is_plain =
                    other.folder.is_none() && other.companion.is_none() && other.problem.is_none();
                let same = self.key == other.key && self.origin == other.origin;
                is_plain && same && self.text == other.text
            }
        }
    }

    /// Whether two prompts parsed from the same entry are equal, including resolved references.
    fn says_the_same(&self, other: &Self) -> bool {
        match (&self.read, &other.read) {
            (Ok((one, found)), Ok((other, known))) => found == known && one.says_the_same(other),
            (Err(found), Err(known)) => found == known,
            _ => false,
        }
    }

    /// Converts the prompt to a version without a number.
    fn to_version(&self) -> VersionedPrompt {
        VersionedPrompt {
            number: None,
            origin: self.origin.clone(),
            text: self.text.clone(),
            read: self.read.clone(),
        }
    }

    fn is_data(&self, referred: &BTreeSet<PathBuf>) -> bool {
        let own = self.entry.as_deref().and_then(path);
        self.read.is_err() && own.is_some_and(|own| referred.contains(&own))
    }
}

/// All existing prompts, valid or not.
struct KnownPrompts<'a> {
    stock: &'a DefinitionGraph,
    /// Snapshot with the current extensions. Its labels may be from before this change.
    snapshot: &'a CatalogueSnapshot,
    /// Whether a weighted label was resolved.
    drawn: Cell<bool>,
}

impl<'a> KnownPrompts<'a> {
    /// Resolves an id, with or without a version selector.
    fn candidate(&self, id: &str) -> Option<Candidate<'a>> {
        if let Some(usual) = self.usual(id) {
            return Some(usual);
        }
        let (base, mark) = VersionSelector::split_id(id)?;
        let mark = mark.ok()?;
        // Deleting a prompt also deletes all of its versions.
        let latest = self.latest(base)?;
        match mark {
            _ if mark.is_latest() => Some(latest),
            VersionSelector::Label(label) => {
                let (labels, versions) = self.stock.labels.get(base)?;
                let target = labels.get(&label)?;
                Some(versions.get(&self.chosen(target))?.candidate())
            }
            VersionSelector::Number(_) | VersionSelector::Digest(_) => {
                let version = self.stock.pinned.get(id)?.as_ref()?;
                Some(version.candidate())
            }
        }
    }

    /// Resolves an id without a version selector: `production` if set, else the stored definition.
    fn usual(&self, id: &str) -> Option<Candidate<'a>> {
        let latest = self.latest(id)?;
        let production = self.stock.labels.get(id).and_then(|(labels, versions)| {
            let target = labels.get(PRODUCTION)?;
            versions.get(&self.chosen(target))
        });
        Some(production.map_or(latest, |version| version.candidate()))
    }

    /// Version of a label. A weighted label resolves to the version with the largest weight.
    fn chosen(&self, target: &LabelTarget) -> u64 {
        match target {
            LabelTarget::Version(number) => *number,
            LabelTarget::Split(split) => {
                self.drawn.set(true);
                split.heaviest()
            }
        }
    }

    /// Returns the stored definition. A separate prompt takes precedence over prompts of
    /// extensions, which are ordered by extension id.
    fn latest(&self, id: &str) -> Option<Candidate<'a>> {
        self.direct(id).or_else(|| self.provided(id))
    }

    fn direct(&self, id: &str) -> Option<Candidate<'a>> {
        let (id, same) = self.stock.direct.get_key_value(id)?;
        let is_data = |direct: &&RegisteredPrompt| {
            !self.stock.data.is_empty()
                && self.stock.data.contains(&(id.clone(), direct.key.clone()))
        };
        let direct = same.iter().rev().find(|direct| !is_data(direct))?;
        Some(Candidate {
            origin: PromptOrigin::Direct,
            place: &direct.origin,
            text: &direct.text,
            read: match &direct.read {
                Ok((prompt, found)) => Ok((&**prompt, found)),
                Err(found) => Err(found),
            },
            shared: direct.read.as_ref().ok().map(|(prompt, _)| prompt),
            version: None,
        })
    }

    fn provided(&self, id: &str) -> Option<Candidate<'a>> {
        let (extension, place) = self.stock.provided.get(id)?.first_key_value()?;
        let definition = self.snapshot.extensions.get(extension)?;
        let DefinitionState::Valid(extension) = &definition.state else {
            return None;
        };
        let (_, read) = extension.prompts.get(*place)?;
        Some(Candidate {
            origin: PromptOrigin::Extension,
            place: &definition.origin,
            text: &definition.text,
            read: match read {
                Ok((prompt, found)) => Ok((prompt, found)),
                Err(found) => Err(found),
            },
            shared: None,
            version: None,
        })
    }
}

impl Prompts for KnownPrompts<'_> {
    fn is_there(&self, id: &str) -> bool {
        self.candidate(id).is_some()
    }

    fn prompt(&self, id: &str) -> Option<&Prompt> {
        self.candidate(id)?.read.ok().map(|(prompt, _)| prompt)
    }

    fn beginning_with(&self, text: &str) -> BTreeSet<Arc<str>> {
        let direct = self.stock.direct.beginning_with(text).map(|(id, _)| id);
        let from = (Bound::Included(text), Bound::Unbounded);
        let provided = self.stock.provided.range::<str, _>(from).map(|(id, _)| id);
        let provided = provided.take_while(|id| id.starts_with(text));
        direct.chain(provided).cloned().collect()
    }
}

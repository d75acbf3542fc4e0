//! The source texts that a prompt is compiled from.

use std::hash::{BuildHasher, Hash, Hasher};
use std::sync::Arc;

use crate::definition::Prompt;

/// All inputs that determine the compiled form of a prompt. Compared by content; the hash is
/// computed once.
#[derive(Debug)]
pub(crate) struct SourceSet {
    pub(crate) prompt: Arc<Prompt>,
    /// Templates of other prompts.
    called: Box<[CalledTemplate]>,
    hash: u64,
}

/// A template of another prompt.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CalledTemplate {
    /// The name used to call it.
    pub(crate) name: Arc<str>,
    pub(crate) text: Arc<str>,
    /// Id of the prompt that contains it.
    pub(crate) owner: Arc<str>,
}

impl SourceSet {
    pub(crate) fn new(prompt: &Arc<Prompt>, called: &[CalledTemplate]) -> Self {
        let key = (
            &prompt.id,
            &prompt.format,
            prompt.missing,
            prompt.messages,
            &prompt.trusted,
            prompt.trusted_results,
            prompt.templates(),
            called,
        );
        SourceSet {
            // Computed once: every render looks up a set, and hashing reads all texts.
            hash: foldhash::quality::FixedState::default().hash_one(key),
            prompt: prompt.clone(),
            called: called.into(),
        }
    }

    /// Returns the id of the prompt that contains this source.
    pub(crate) fn owner(&self, source: &str) -> Option<&str> {
        let own = self.prompt.templates();
        if own.iter().any(|(name, _)| name == source) {
            return Some(&self.prompt.id);
        }
        let called = self.called.iter().find(|known| &*known.name == source);
        called.map(|called| &*called.owner)
    }

    /// Returns name and text of a source by its index in the compiled set.
    pub(crate) fn text(&self, source: usize) -> Option<(String, &str)> {
        let mut own = self.prompt.templates();
        if source < own.len() {
            let (name, text) = own.swap_remove(source);
            return Some((name, text));
        }
        let called = self.called.get(source - own.len())?;
        Some((called.name.to_string(), &called.text))
    }

    /// Returns the texts of all sources.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let own = self.prompt.templates().into_iter();
        let own = own.map(|(_, text)| &**text);
        own.chain(self.called().map(|(_, text)| text))
    }

    /// Returns the ids of other prompts in the set, without duplicates.
    pub(crate) fn owners(&self) -> Vec<&str> {
        let mut owners: Vec<&str> = Vec::new();
        for source in &self.called {
            if !owners.contains(&&*source.owner) {
                owners.push(&source.owner);
            }
        }
        owners
    }

    /// Returns names and texts of the templates from other prompts.
    pub(crate) fn called(&self) -> impl Iterator<Item = (&str, &str)> {
        self.called
            .iter()
            .map(|source| (&*source.name, &*source.text))
    }

    fn has(&self, other: &Prompt) -> bool {
        let one = &*self.prompt;
        one.id == other.id
            && one.format == other.format
            && one.missing == other.missing
            && one.messages == other.messages
            && one.trusted == other.trusted
            && one.trusted_results == other.trusted_results
            && one.body == other.body
    }
}

impl PartialEq for SourceSet {
    fn eq(&self, other: &Self) -> bool {
        let same =
            || self.hash == other.hash && self.called == other.called && self.has(&other.prompt);
        // Usually both are the same set, and no text needs to be compared.
        std::ptr::eq(self, other) || same()
    }
}

impl Eq for SourceSet {}

impl Hash for SourceSet {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

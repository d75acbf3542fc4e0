//! The prompts that one request sees.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quillet_core::history::{LATEST, PRODUCTION, TrafficSplit, VersionSelector};

use super::labelled::ResolvedLabel;
use super::{LabelledVersions, VersionPin, VersionedPrompt};
use crate::build::Candidate;
use crate::definition::Prompt;
use crate::loader::Prompts;
use crate::snapshot::{CatalogueSnapshot, Definition, DefinitionState, PromptEntry};

/// Versions that were fetched for a request; `None` if a version does not exist.
pub(super) type FetchedVersions = BTreeMap<VersionPin, Option<Arc<VersionedPrompt>>>;

/// Outcome of a split that influenced the request's version.
#[derive(Clone, Debug)]
pub(super) struct SplitDraw {
    pub(super) split: TrafficSplit,
    /// The definition and label of the split.
    pub(super) salt: String,
    pub(super) number: u64,
}

/// Returns the key of a request that determines the outcome of a split.
pub(super) type KeyOf<'a> = &'a dyn Fn(&TrafficSplit) -> String;

/// The prompts of a snapshot that one request sees under a label.
pub(super) struct LabelView<'a> {
    pub(super) snapshot: &'a CatalogueSnapshot,
    /// Preferred label for prompts without a version selector.
    pub(super) label: Option<&'a str>,
    pub(super) pins: &'a FetchedVersions,
    pub(super) key_of: KeyOf<'a>,
    pub(super) drawn: RefCell<Vec<SplitDraw>>,
    /// Pins that were looked up but are not fetched yet.
    pub(super) missing: RefCell<BTreeSet<VersionPin>>,
    /// Whether a default version replaces a pin that is not fetched. This is enough to check a text
    /// without rendering it.
    pub(super) stands_in: bool,
}

/// Result of resolving an id.
pub(super) enum PromptMatch<'a> {
    /// A parsed version.
    Kept(&'a VersionedPrompt),
    /// A definition that the catalogue has already built.
    Built(&'a Definition<PromptEntry>),
}

impl<'a> LabelView<'a> {
    /// Creates the view of a request under a label, with the pins that were fetched.
    pub(super) fn new(
        snapshot: &'a CatalogueSnapshot,
        label: Option<&'a str>,
        pins: &'a FetchedVersions,
        key_of: KeyOf<'a>,
    ) -> Self {
        LabelView {
            snapshot,
            label,
            pins,
            key_of,
            drawn: RefCell::default(),
            missing: RefCell::default(),
            stands_in: false,
        }
    }

    /// Resolves an id, with or without a version selector.
    pub(super) fn find(&self, id: &str) -> Option<PromptMatch<'a>> {
        // A key may contain `@`.
        if self.snapshot.prompts.contains_key(id) {
            return self.within(id, self.label);
        }
        let (base, mark) = VersionSelector::split_id(id)?;
        self.marked(base, &mark.ok()?)
    }

    /// Resolves an id with this version selector. Returns `None` if there is no such version.
    pub(super) fn marked(&self, id: &str, mark: &VersionSelector) -> Option<PromptMatch<'a>> {
        let built = self.snapshot.prompts.get(id)?;
        match mark {
            VersionSelector::Label(label) if label == LATEST => self.within(id, Some(LATEST)),
            VersionSelector::Label(label) => {
                let labelled = self.snapshot.labelled.get(id)?;
                labelled
                    .resolve_label(label)
                    .and_then(|at| self.version(id, labelled, at, label))
            }
            VersionSelector::Number(_) | VersionSelector::Digest(_) => {
                let pin = VersionPin {
                    id: built.id.clone(),
                    mark: mark.clone(),
                };
                let known = self.snapshot.pinned.get(&format!("{id}@{mark}"));
                if let Some(version) = known {
                    return Some(PromptMatch::Kept(version));
                }
                match self.pins.get(&pin) {
                    Some(version) => version.as_deref().map(PromptMatch::Kept),
                    None if self.stands_in => self.within(id, None),
                    None => {
                        self.missing.borrow_mut().insert(pin);
                        None
                    }
                }
            }
        }
    }

    /// Resolves an id under a label: the label's version, or else the default version.
    fn within(&self, id: &str, label: Option<&str>) -> Option<PromptMatch<'a>> {
        let usual = self
            .snapshot
            .prompts
            .get(id)
            .map(|built| PromptMatch::Built(built));
        let Some(labelled) = self.snapshot.labelled.get(id) else {
            return usual;
        };
        if label == Some(LATEST) {
            return Some(PromptMatch::Kept(&labelled.latest));
        }
        let wished = label.and_then(|label| Some((labelled.resolve_label(label)?, label)));
        let normal = || Some((labelled.resolve_label(PRODUCTION)?, PRODUCTION));
        // A prompt without the requested label falls back to `production`, so that calls to other
        // prompts work.
        match wished.or_else(normal) {
            Some((at, label)) => self.version(id, labelled, at, label),
            None => usual,
        }
    }

    fn version(
        &self,
        id: &str,
        labelled: &'a LabelledVersions,
        at: ResolvedLabel<'a>,
        label: &str,
    ) -> Option<PromptMatch<'a>> {
        let split = match at {
            ResolvedLabel::One(version) => return Some(PromptMatch::Kept(version)),
            ResolvedLabel::Drawn(split) => split,
        };
        let salt = format!("{id}@{label}");
        let number = split.select_version(&salt, &(self.key_of)(split));
        // Recorded even if the version is missing, because the result depends on the outcome either
        // way.
        self.drawn.borrow_mut().push(SplitDraw {
            split: split.clone(),
            salt,
            number,
        });
        labelled
            .versions
            .get(&number)
            .map(|version| PromptMatch::Kept(version))
    }
}

impl<'a> PromptMatch<'a> {
    pub(super) fn candidate(&self) -> Candidate<'a> {
        match self {
            PromptMatch::Kept(version) => version.candidate(),
            PromptMatch::Built(definition) => {
                let (prompt, origin, version) = match &definition.state {
                    DefinitionState::Valid(entry) => {
                        (Some(&entry.prompt), entry.origin, entry.version)
                    }
                    DefinitionState::Invalid => (None, crate::PromptOrigin::Direct, None),
                };
                let found = &definition.diagnostics[..];
                Candidate {
                    origin,
                    place: &definition.origin,
                    text: &definition.text,
                    read: prompt.map(|prompt| (&**prompt, found)).ok_or(found),
                    shared: prompt,
                    version,
                }
            }
        }
    }
}

impl Prompts for LabelView<'_> {
    fn is_there(&self, id: &str) -> bool {
        self.find(id).is_some()
    }

    fn prompt(&self, id: &str) -> Option<&Prompt> {
        match self.find(id)? {
            PromptMatch::Kept(version) => version.read.as_ref().ok().map(|(prompt, _)| &**prompt),
            PromptMatch::Built(definition) => match &definition.state {
                DefinitionState::Valid(entry) => Some(&entry.prompt),
                DefinitionState::Invalid => None,
            },
        }
    }

    fn beginning_with(&self, text: &str) -> BTreeSet<Arc<str>> {
        self.snapshot.beginning_with(text)
    }
}

//! Prompts as one request sees them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use quillet_core::history::{LATEST, Mark, PRODUCTION, Split};

use super::labelled::At;
use super::{KeptPrompt, Labelled, Pin};
use crate::build::Candidate;
use crate::definition::Prompt;
use crate::shelf::Prompts;
use crate::snapshot::{Definition, PromptEntry, Snapshot, State};

/// Versions that were fetched for a request; `None` for one that is not there.
pub(super) type Pins = BTreeMap<Pin, Option<Arc<KeptPrompt>>>;

/// A draw that took part in what a request got.
#[derive(Clone, Debug)]
pub(super) struct Drawn {
    pub(super) split: Split,
    /// The definition and the label that the draw is of.
    pub(super) salt: String,
    pub(super) number: u64,
}

/// Says which key of a request decides a split.
pub(super) type KeyOf<'a> = &'a dyn Fn(&Split) -> String;

/// The prompts of a snapshot under a label, for one request.
pub(super) struct View<'a> {
    pub(super) snapshot: &'a Snapshot,
    /// The label within which prompts without a mark are looked for first.
    pub(super) label: Option<&'a str>,
    pub(super) pins: &'a Pins,
    pub(super) key_of: KeyOf<'a>,
    pub(super) drawn: RefCell<Vec<Drawn>>,
    /// Pins that were looked for and are not fetched yet.
    pub(super) missing: RefCell<BTreeSet<Pin>>,
    /// Whether what readers get who name no version stands in for a pin that is not fetched: for
    /// those who want to know whether a text is right, and not what it says.
    pub(super) stands_in: bool,
}

/// What an id leads to.
pub(super) enum Found<'a> {
    /// A version that was read.
    Kept(&'a KeptPrompt),
    /// What the catalogue has built of it.
    Built(&'a Definition<PromptEntry>),
}

impl<'a> View<'a> {
    /// The prompts as a request sees them within a label, with these pins.
    pub(super) fn new(
        snapshot: &'a Snapshot,
        label: Option<&'a str>,
        pins: &'a Pins,
        key_of: KeyOf<'a>,
    ) -> Self {
        View {
            snapshot,
            label,
            pins,
            key_of,
            drawn: RefCell::default(),
            missing: RefCell::default(),
            stands_in: false,
        }
    }

    /// What an id leads to, with a mark or without.
    pub(super) fn find(&self, id: &str) -> Option<Found<'a>> {
        // A key may have the sign in itself.
        if self.snapshot.prompts.contains_key(id) {
            return self.within(id, self.label);
        }
        let (base, mark) = Mark::divide(id)?;
        self.marked(base, &mark.ok()?)
    }

    /// What an id without a mark leads to under a mark; nothing where the prompt does not have it.
    pub(super) fn marked(&self, id: &str, mark: &Mark) -> Option<Found<'a>> {
        let built = self.snapshot.prompts.get(id)?;
        match mark {
            Mark::Label(label) if label == LATEST => self.within(id, Some(LATEST)),
            Mark::Label(label) => {
                let labelled = self.snapshot.labelled.get(id)?;
                labelled
                    .at(label)
                    .and_then(|at| self.version(id, labelled, at, label))
            }
            Mark::Number(_) | Mark::Digest(_) => {
                let pin = Pin {
                    id: built.id.clone(),
                    mark: mark.clone(),
                };
                let known = self.snapshot.pinned.get(&format!("{id}@{mark}"));
                if let Some(version) = known {
                    return Some(Found::Kept(version));
                }
                match self.pins.get(&pin) {
                    Some(version) => version.as_deref().map(Found::Kept),
                    None if self.stands_in => self.within(id, None),
                    None => {
                        self.missing.borrow_mut().insert(pin);
                        None
                    }
                }
            }
        }
    }

    /// What an id leads to within a label: that of the label, else what readers get who name none.
    fn within(&self, id: &str, label: Option<&str>) -> Option<Found<'a>> {
        let usual = self
            .snapshot
            .prompts
            .get(id)
            .map(|built| Found::Built(built));
        let Some(labelled) = self.snapshot.labelled.get(id) else {
            return usual;
        };
        if label == Some(LATEST) {
            return Some(Found::Kept(&labelled.latest));
        }
        let wished = label.and_then(|label| Some((labelled.at(label)?, label)));
        let normal = || Some((labelled.at(PRODUCTION)?, PRODUCTION));
        match wished.or_else(normal) {
            Some((at, label)) => self.version(id, labelled, at, label),
            None => usual,
        }
    }

    fn version(
        &self,
        id: &str,
        labelled: &'a Labelled,
        at: At<'a>,
        label: &str,
    ) -> Option<Found<'a>> {
        let split = match at {
            At::One(version) => return Some(Found::Kept(version)),
            At::Drawn(split) => split,
        };
        let salt = format!("{id}@{label}");
        let number = split.draw(&salt, &(self.key_of)(split));
        self.drawn.borrow_mut().push(Drawn {
            split: split.clone(),
            salt,
            number,
        });
        labelled
            .versions
            .get(&number)
            .map(|version| Found::Kept(version))
    }
}

impl<'a> Found<'a> {
    pub(super) fn candidate(&self) -> Candidate<'a> {
        match self {
            Found::Kept(version) => version.candidate(),
            Found::Built(definition) => {
                let (prompt, origin, version) = match &definition.state {
                    State::Valid(entry) => (Some(&entry.prompt), entry.origin, entry.version),
                    State::Invalid => (None, crate::Origin::Direct, None),
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

impl Prompts for View<'_> {
    fn is_there(&self, id: &str) -> bool {
        self.find(id).is_some()
    }

    fn prompt(&self, id: &str) -> Option<&Prompt> {
        match self.find(id)? {
            Found::Kept(version) => version.read.as_ref().ok().map(|(prompt, _)| &**prompt),
            Found::Built(definition) => match &definition.state {
                State::Valid(entry) => Some(&entry.prompt),
                State::Invalid => None,
            },
        }
    }

    fn beginning_with(&self, text: &str) -> BTreeSet<Arc<str>> {
        self.snapshot.beginning_with(text)
    }
}

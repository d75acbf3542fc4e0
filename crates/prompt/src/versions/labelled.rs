//! What the labels of a prompt name.

use std::collections::BTreeMap;
use std::sync::Arc;

use quillet_core::history::{Labels, Split, Target};

use super::KeptPrompt;

/// The labels of one prompt, with the versions that they name.
#[derive(Clone, Debug)]
pub(crate) struct Labelled {
    pub(crate) labels: Labels,
    /// By number.
    pub(crate) versions: BTreeMap<u64, Arc<KeptPrompt>>,
    /// What stands in the store.
    pub(crate) latest: Arc<KeptPrompt>,
}

/// Where a label leads.
#[derive(Clone, Copy)]
pub(crate) enum At<'a> {
    /// To one version.
    One(&'a Arc<KeptPrompt>),
    /// To one of several, by a draw.
    Drawn(&'a Split),
}

impl Labelled {
    /// Where a label leads; `None` if the prompt does not have it.
    pub(crate) fn at(&self, label: &str) -> Option<At<'_>> {
        match self.labels.get(label)? {
            Target::Version(number) => self.versions.get(number).map(At::One),
            Target::Split(split) => Some(At::Drawn(split)),
        }
    }
}

//! Versions that the labels of a prompt point to.

use std::collections::BTreeMap;
use std::sync::Arc;

use quillet_core::history::{LabelTarget, Labels, TrafficSplit};

use super::VersionedPrompt;

/// The labels of one prompt, with the versions that they point to.
#[derive(Clone, Debug)]
pub(crate) struct LabelledVersions {
    pub(crate) labels: Labels,
    /// Versions by number.
    pub(crate) versions: BTreeMap<u64, Arc<VersionedPrompt>>,
    /// The stored definition.
    pub(crate) latest: Arc<VersionedPrompt>,
}

/// Target of a label.
#[derive(Clone, Copy)]
pub(crate) enum ResolvedLabel<'a> {
    /// A single version.
    One(&'a Arc<VersionedPrompt>),
    /// Several weighted versions.
    Drawn(&'a TrafficSplit),
}

impl LabelledVersions {
    /// Resolves a label. Returns `None` if the prompt does not have it.
    pub(crate) fn resolve_label(&self, label: &str) -> Option<ResolvedLabel<'_>> {
        match self.labels.get(label)? {
            LabelTarget::Version(number) => self.versions.get(number).map(ResolvedLabel::One),
            LabelTarget::Split(split) => Some(ResolvedLabel::Drawn(split)),
        }
    }
}

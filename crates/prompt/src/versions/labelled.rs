//! Versions that the labels of a prompt point to.

use std::collections::BTreeMap;
use std::sync::Arc;

use quillet_core::history::{LabelTarget, Labels, TrafficSplit};

use super::VersionedPrompt;

/// The labels of one prompt, with the versions that they name.
#[derive(Clone, Debug)]
pub(crate) struct LabelledVersions {
    pub(crate) labels: Labels,
    /// By number.
    pub(crate) versions: BTreeMap<u64, Arc<VersionedPrompt>>,
    /// What stands in the store.
    pub(crate) latest: Arc<VersionedPrompt>,
}

/// Where a label leads.
#[derive(Clone, Copy)]
pub(crate) enum ResolvedLabel<'a> {
    /// To one version.
    One(&'a Arc<VersionedPrompt>),
    /// To one of several, by a draw.
    Drawn(&'a TrafficSplit),
}

impl LabelledVersions {
    /// Where a label leads; `None` if the prompt does not have it.
    pub(crate) fn resolve_label(&self, label: &str) -> Option<ResolvedLabel<'_>> {
        match self.labels.get(label)? {
            LabelTarget::Version(number) => self.versions.get(number).map(ResolvedLabel::One),
            LabelTarget::Split(split) => Some(ResolvedLabel::Drawn(split)),
        }
    }
}

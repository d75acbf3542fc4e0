//! One version of a prompt.

use std::sync::Arc;

use quillet_core::history::VersionSelector;

use crate::checked::CheckResult;
use crate::definition::Prompt;

/// A version that an id selects by number or digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VersionPin {
    /// The id without its selector.
    pub(crate) id: Arc<str>,
    /// A number or a digest.
    pub(crate) mark: VersionSelector,
}

impl VersionPin {
    /// Parses an id that selects a version by number or digest.
    pub(crate) fn of(id: &str) -> Option<Self> {
        let (id, mark) = VersionSelector::split_id(id)?;
        let mark = mark
            .ok()
            .filter(|mark| !matches!(mark, VersionSelector::Label(_)))?;
        Some(VersionPin {
            id: id.into(),
            mark,
        })
    }
}

/// A parsed version of a prompt.
#[derive(Clone, Debug)]
pub(crate) struct VersionedPrompt {
    /// `None` for the stored definition, whose number only the history contains.
    pub(crate) number: Option<u64>,
    pub(crate) origin: Arc<str>,
    pub(crate) text: Arc<str>,
    pub(crate) read: CheckResult<Arc<Prompt>>,
}

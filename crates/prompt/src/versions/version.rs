//! One version of a prompt.

use std::sync::Arc;

use quillet_core::history::VersionSelector;

use crate::checked::CheckResult;
use crate::definition::Prompt;

/// A version of a prompt that an id names by number or digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VersionPin {
    /// The id, without its mark.
    pub(crate) id: Arc<str>,
    /// A number or a digest.
    pub(crate) mark: VersionSelector,
}

impl VersionPin {
    /// What an id pins, if it pins anything.
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

/// A version of a prompt, as the catalogue reads it.
#[derive(Clone, Debug)]
pub(crate) struct VersionedPrompt {
    /// `None` for what stands in the store, whose number only the history knows.
    pub(crate) number: Option<u64>,
    pub(crate) origin: Arc<str>,
    pub(crate) text: Arc<str>,
    pub(crate) read: CheckResult<Arc<Prompt>>,
}

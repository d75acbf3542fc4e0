//! One version of a prompt.

use std::sync::Arc;

use quillet_core::history::Mark;

use crate::checked::Checked;
use crate::definition::Prompt;

/// A version of a prompt that an id names by number or digest.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pin {
    /// The id, without its mark.
    pub(crate) id: Arc<str>,
    /// A number or a digest.
    pub(crate) mark: Mark,
}

impl Pin {
    /// What an id pins, if it pins anything.
    pub(crate) fn of(id: &str) -> Option<Self> {
        let (id, mark) = Mark::divide(id)?;
        let mark = mark.ok().filter(|mark| !matches!(mark, Mark::Label(_)))?;
        Some(Pin {
            id: id.into(),
            mark,
        })
    }
}

/// A version of a prompt, as the catalogue reads it.
#[derive(Clone, Debug)]
pub(crate) struct KeptPrompt {
    /// `None` for what stands in the store, whose number only the history knows.
    pub(crate) number: Option<u64>,
    pub(crate) origin: Arc<str>,
    pub(crate) text: Arc<str>,
    pub(crate) read: Checked<Arc<Prompt>>,
}

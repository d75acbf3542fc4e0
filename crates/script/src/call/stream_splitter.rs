//! Splits streamed text into the visible answer and the thinking.

use crate::answer::{SplitAnswer, Splitter, ThinkingSettings};

/// The visible part of a delta.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct VisibleDelta {
    pub(super) answer: String,
    pub(super) thinking: String,
}

impl From<SplitAnswer> for VisibleDelta {
    fn from(split: SplitAnswer) -> Self {
        VisibleDelta {
            answer: split.answer,
            thinking: split.thinking,
        }
    }
}

/// Splits the text of a model into answer and thinking, and accumulates both.
#[derive(Debug)]
pub(super) struct StreamSplitter {
    splitter: Splitter,
    collected: SplitAnswer,
}

impl StreamSplitter {
    pub(super) fn new(thinking: &ThinkingSettings) -> Self {
        StreamSplitter {
            splitter: Splitter::new(thinking),
            collected: SplitAnswer::default(),
        }
    }

    /// Adds a delta and returns its visible part.
    pub(super) fn text(&mut self, delta: &str) -> VisibleDelta {
        let split = self.splitter.push(delta);
        self.keep(&split);
        VisibleDelta::from(split)
    }

    fn keep(&mut self, split: &SplitAnswer) {
        self.collected.answer.push_str(&split.answer);
        self.collected.thinking.push_str(&split.thinking);
    }

    /// Returns the text that was held back, and the accumulated text.
    pub(super) fn finish(self) -> (VisibleDelta, SplitAnswer) {
        let rest = self.splitter.finish();
        let mut collected = self.collected;
        collected.answer.push_str(&rest.answer);
        collected.thinking.push_str(&rest.thinking);
        (VisibleDelta::from(rest), collected)
    }
}

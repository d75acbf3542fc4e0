//! Splits a streamed answer into thinking and text.

use std::ops::Range;

use super::markers::MarkerScanner;
use super::pairs::{AnswerPart, TagPairs};
use super::{ThinkingMode, ThinkingSettings, ThinkingTag};
use crate::pattern::Regex;

/// An answer split into thinking and text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitAnswer {
    /// The thinking.
    pub thinking: String,
    /// The answer.
    pub answer: String,
}

impl SplitAnswer {
    fn add(&mut self, part: AnswerPart, text: &str) {
        match part {
            AnswerPart::Thinking => self.thinking.push_str(text),
            AnswerPart::Answer => self.answer.push_str(text),
        }
    }
}

/// Splits a streamed answer. The combined result is the same for any division into chunks.
#[derive(Debug)]
pub struct Splitter {
    by: SplitMethod,
    /// Whether white space around the answer is removed: if thinking is, or may be, taken out of
    /// it.
    trims: bool,
    said: bool,
    /// White space at the end of the answer so far, or between two parts of it.
    blanks: String,
}

#[derive(Debug)]
enum SplitMethod {
    /// Tags or headings in the text.
    Marks(Box<MarkerPair>),
    /// Patterns by the author, which need the whole text.
    Patterns(Box<Patterns>),
}

#[derive(Debug)]
struct MarkerPair {
    thinking: TagPairs,
    answer: Option<TagPairs>,
    heads: Option<MarkerScanner>,
    /// Text outside the answer's tag pair. It becomes the answer if there is no pair.
    outside: String,
}

#[derive(Debug)]
struct Patterns {
    text: String,
    thinking: Option<Regex>,
    answer: Option<Regex>,
}

impl Splitter {
    /// Creates a splitter for an answer that was requested with these settings.
    #[must_use]
    pub fn new(thinking: &ThinkingSettings) -> Self {
        let by = match (&thinking.think_regex, &thinking.answer_regex) {
            (None, None) => SplitMethod::Marks(Box::new(MarkerPair::new(thinking))),
            // Patterns need the whole text. They are ignored in mode `off`, so that the answer can
            // be streamed.
            _ if thinking.mode == ThinkingMode::Off => {
                SplitMethod::Marks(Box::new(MarkerPair::new(thinking)))
            }
            (think, answer) => SplitMethod::Patterns(Box::new(Patterns {
                text: String::new(),
                thinking: think.as_deref().and_then(compiled),
                answer: answer.as_deref().and_then(compiled),
            })),
        };
        Splitter {
            by,
            trims: thinking.mode != ThinkingMode::Off,
            said: false,
            blanks: String::new(),
        }
    }

    /// Adds a chunk and returns the parts that are certain to be thinking or text.
    pub fn push(&mut self, piece: &str) -> SplitAnswer {
        let split = match &mut self.by {
            SplitMethod::Marks(marks) => marks.push(piece),
            SplitMethod::Patterns(patterns) => {
                patterns.text.push_str(piece);
                SplitAnswer::default()
            }
        };
        self.trim(split)
    }

    /// Ends the answer and returns the text that was held back.
    pub fn finish(mut self) -> SplitAnswer {
        let split = match &mut self.by {
            SplitMethod::Marks(marks) => marks.finish(),
            SplitMethod::Patterns(patterns) => patterns.split(),
        };
        let mut split = self.trim(split);
        if !self.trims {
            split.answer.push_str(&self.blanks);
        }
        split
    }

    /// Holds back trailing white space and drops leading white space. In mode `off` thinking can
    /// only precede the answer, so the parts of a chunk stay in order.
    fn trim(&mut self, mut split: SplitAnswer) -> SplitAnswer {
        // A model that thinks without being asked leaves white space before its answer.
        self.trims |= !split.thinking.trim().is_empty();
        // White space is counted only once, so that a long sequence of it is not scanned again for
        // each chunk.
        if split.answer.trim().is_empty() {
            self.blanks.push_str(&split.answer);
            split.answer.clear();
            return split;
        }
        let mut answer = std::mem::take(&mut self.blanks);
        answer.push_str(&split.answer);
        if !self.said && self.trims {
            answer.drain(..answer.len() - answer.trim_start().len());
        }
        self.blanks = answer.split_off(answer.trim_end().len());
        self.said |= !answer.is_empty();
        split.answer = answer;
        split
    }
}

impl MarkerPair {
    fn new(thinking: &ThinkingSettings) -> Self {
        let on = thinking.mode != ThinkingMode::Off;
        let tagged = matches!(thinking.mode, ThinkingMode::First | ThinkingMode::Deep);
        let pairs = match &thinking.think {
            ThinkingTag::Pair(open, close) if tagged => TagPairs::anywhere(open, close),
            // Some models write this tag without being asked to think.
            _ => TagPairs::at_start("<think>", "</think>"),
        };
        let answer = match &thinking.answer {
            ThinkingTag::Pair(open, close) if tagged => Some(TagPairs::anywhere(open, close)),
            _ => None,
        };
        let heads = (on && answer.is_none()).then(|| MarkerScanner::new(thinking, tagged));
        MarkerPair {
            thinking: pairs,
            answer,
            heads,
            outside: String::new(),
        }
    }

    fn push(&mut self, piece: &str) -> SplitAnswer {
        let parts = self.thinking.push(piece);
        self.sort(parts)
    }

    fn sort(&mut self, parts: Vec<(AnswerPart, String)>) -> SplitAnswer {
        let mut split = SplitAnswer::default();
        for (part, text) in parts {
            match (part, &mut self.answer, &mut self.heads) {
                (AnswerPart::Thinking, ..) => split.thinking.push_str(&text),
                (AnswerPart::Answer, Some(answer), _) => {
                    let inner = answer.push(&text);
                    self.outside.push_str(&inside(inner, &mut split));
                }
                (AnswerPart::Answer, None, Some(heads)) => {
                    for (part, text) in heads.push(&text) {
                        split.add(part, &text);
                    }
                }
                (AnswerPart::Answer, None, None) => split.answer.push_str(&text),
            }
        }
        split
    }

    fn finish(&mut self) -> SplitAnswer {
        let parts = self.thinking.finish();
        let mut split = self.sort(parts);
        if let Some(answer) = &mut self.answer {
            let inner = answer.finish();
            self.outside.push_str(&inside(inner, &mut split));
            let outside = std::mem::take(&mut self.outside);
            // Without the tag pair the model ignored the instructions, so its whole text is the
            // answer.
            if answer.found() {
                split.thinking.push_str(&outside)
            } else {
                split.answer.push_str(&outside)
            }
        }
        if let Some(heads) = &mut self.heads {
            for (part, text) in heads.finish() {
                split.add(part, &text);
            }
        }
        split
    }
}

/// Appends the text inside the answer's pair to the answer. Returns the other text.
fn inside(parts: Vec<(AnswerPart, String)>, split: &mut SplitAnswer) -> String {
    let mut outside = String::new();
    for (part, text) in parts {
        match part {
            // `TagPairs` reports text inside a pair as thinking, but here the pair marks the
            // answer.
            AnswerPart::Thinking => split.answer.push_str(&text),
            AnswerPart::Answer => outside.push_str(&text),
        }
    }
    outside
}

impl Patterns {
    /// Returns the first match of each pattern: its first group, or else the whole match. Without a
    /// pattern for the answer, the answer is the text outside the thinking.
    fn split(&self) -> SplitAnswer {
        let text = &self.text;
        let thinking = self.thinking.as_ref().and_then(|found| find(found, text));
        let answer = self.answer.as_ref().and_then(|found| find(found, text));
        let rest = match (&answer, &thinking) {
            (Some((_, answer)), _) => answer.clone(),
            (None, Some((whole, _))) => {
                let before = text.get(..whole.start).unwrap_or_default();
                let after = text.get(whole.end..).unwrap_or_default();
                format!("{before}{after}")
            }
            (None, None) => text.clone(),
        };
        SplitAnswer {
            thinking: thinking.map(|(_, text)| text).unwrap_or_default(),
            answer: rest,
        }
    }
}

/// The pattern is valid, because it was checked when the settings were read.
fn compiled(pattern: &str) -> Option<Regex> {
    super::pattern(pattern).ok()
}

/// A search that exceeds the backtracking limit counts as no match.
fn find(pattern: &Regex, text: &str) -> Option<(Range<usize>, String)> {
    let found = pattern.captures(text).ok()??;
    Some((found.range(0)?, found.main().to_owned()))
}

//! An answer taken apart into what was thought and what is said, as it comes.

use std::ops::Range;

use super::markers::MarkerScanner;
use super::pairs::{AnswerPart, TagPairs};
use super::{ThinkingMode, ThinkingSettings, ThinkingTag};
use crate::pattern::Regex;

/// An answer split into thinking and text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SplitAnswer {
    /// What was thought.
    pub thinking: String,
    /// What is said.
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

/// Takes an answer apart. What it gives for all pieces together does not depend on where they
/// are cut; a whole answer is one piece.
#[derive(Debug)]
pub struct Splitter {
    by: SplitMethod,
    /// Whether white space around the answer goes: where thinking is taken out of it, or may be.
    trims: bool,
    said: bool,
    /// White space that ends the answer, or stands between two parts of it.
    blanks: String,
}

#[derive(Debug)]
enum SplitMethod {
    /// Tags in the text.
    Marks(Box<MarkerPair>),
    /// A pattern of the author: it needs the whole text.
    Patterns(Box<Patterns>),
}

#[derive(Debug)]
struct MarkerPair {
    thinking: TagPairs,
    answer: Option<TagPairs>,
    heads: Option<MarkerScanner>,
    /// What stands outside of the answer's pair, for an answer without one.
    outside: String,
}

#[derive(Debug)]
struct Patterns {
    text: String,
    thinking: Option<Regex>,
    answer: Option<Regex>,
}

impl Splitter {
    /// Takes apart the answer of a model that was asked to think like this.
    #[must_use]
    pub fn new(thinking: &ThinkingSettings) -> Self {
        let by = match (&thinking.think_regex, &thinking.answer_regex) {
            (None, None) => SplitMethod::Marks(Box::new(MarkerPair::new(thinking))),
            // Patterns need the whole text. In mode `off` they do not apply, so the answer can
            // stream.
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

    /// What a piece adds.
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

    /// What was held back, when the answer is over.
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

    /// Holds back white space at the end, and drops it at the start. In mode `off` thinking can
    /// only come before the answer, so that what a piece holds of both is in order.
    fn trim(&mut self, mut split: SplitAnswer) -> SplitAnswer {
        // A model that thinks unasked leaves blanks before its answer; those go too.
        self.trims |= !split.thinking.trim().is_empty();
        // Blanks alone are not looked at again, however many come.
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
            // Some models think like this at nobody's word.
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
            // Without the pair the model ignored the form, so all that it said is the answer.
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

/// Puts what is in the answer's pair into the answer; gives the rest.
fn inside(parts: Vec<(AnswerPart, String)>, split: &mut SplitAnswer) -> String {
    let mut outside = String::new();
    for (part, text) in parts {
        match part {
            // A pair's inside is called thinking there; this pair is the answer's.
            AnswerPart::Thinking => split.answer.push_str(&text),
            AnswerPart::Answer => outside.push_str(&text),
        }
    }
    outside
}

impl Patterns {
    /// The first match of each pattern: its first group, else all of it. Without a pattern for
    /// the answer, that is what the thinking leaves.
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

/// Patterns were checked when the settings were read.
fn compiled(pattern: &str) -> Option<Regex> {
    super::pattern(pattern).ok()
}

/// A search that goes back too often finds nothing.
fn find(pattern: &Regex, text: &str) -> Option<(Range<usize>, String)> {
    let found = pattern.captures(text).ok()??;
    Some((found.range(0)?, found.main().to_owned()))
}

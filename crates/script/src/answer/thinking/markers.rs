//! Finds headings such as `Think:` and `Answer:` in streamed text.

use super::pairs::AnswerPart;
use super::{ThinkingMode, ThinkingSettings, ThinkingTag};

// Maximum length of a heading. A possible heading is held back from the stream, so the wait must be
// limited.
const LONGEST: usize = 80;

/// Spellings that models use for the default headings.
const THINK: [&str; 7] = [
    "think",
    "thinking",
    "thoughts",
    "reasoning",
    "思考",
    "思考过程",
    "推理过程",
];
const ANSWER: [&str; 5] = ["answer", "final answer", "回答", "答案", "最终答案"];

/// Finds headings at the start of lines.
#[derive(Debug)]
pub(super) struct MarkerScanner {
    heads: Vec<(AnswerPart, String)>,
    /// The part that the current text belongs to; `None` before the first heading.
    part: Option<AnswerPart>,
    /// Start of a line that may still become a heading; `None` within any other line.
    line: Option<String>,
    /// Whether the text follows a heading; emphasis marks and white space are then skipped.
    after_head: bool,
    /// Text before the first heading, whose part is not known yet.
    unknown: String,
}

/// Classification of the start of a line.
enum LineVerdict {
    Plain,
    Maybe,
    Head(AnswerPart),
}

impl MarkerScanner {
    pub(super) fn new(thinking: &ThinkingSettings, tagged: bool) -> Self {
        let default = ThinkingSettings::default();
        // Mode `last` supports only the default headings.
        let (think, answer) = if tagged {
            (&thinking.think, &thinking.answer)
        } else {
            (&default.think, &default.answer)
        };
        let mut heads = names(AnswerPart::Thinking, think, &THINK);
        heads.extend(names(AnswerPart::Answer, answer, &ANSWER));
        let pairs = matches!(think, ThinkingTag::Pair(..));
        MarkerScanner {
            heads,
            // If the answer comes first or tag pairs mark the thinking, text before a heading
            // belongs to the answer and can be streamed immediately.
            part: (thinking.mode == ThinkingMode::Last || pairs).then_some(AnswerPart::Answer),
            line: Some(String::new()),
            after_head: false,
            unknown: String::new(),
        }
    }

    pub(super) fn push(&mut self, text: &str) -> Vec<(AnswerPart, String)> {
        let mut parts = Vec::new();
        for c in text.chars() {
            self.take(c, &mut parts);
        }
        parts
    }

    pub(super) fn finish(&mut self) -> Vec<(AnswerPart, String)> {
        let mut parts = Vec::new();
        if let Some(line) = self.line.take() {
            self.push_part(&line, &mut parts);
        }
        let unknown = std::mem::take(&mut self.unknown);
        if !unknown.is_empty() {
            // Without any heading the model ignored the instructions, so all of its text is the
            // answer.
            parts.insert(0, (AnswerPart::Answer, unknown));
        }
        parts
    }

    fn take(&mut self, c: char, parts: &mut Vec<(AnswerPart, String)>) {
        if self.after_head && matches!(c, '*' | '_' | ' ') {
            return;
        }
        self.after_head = false;
        // A heading cannot start in the middle of a line, so its characters are forwarded
        // immediately.
        let Some(mut line) = self.line.take() else {
            self.push_part(c.encode_utf8(&mut [0; 4]), parts);
            self.line = (c == '\n').then(String::new);
            return;
        };
        line.push(c);
        match self.judge(&line) {
            LineVerdict::Maybe => self.line = Some(line),
            LineVerdict::Head(part) => self.switch(part, c == '\n', parts),
            LineVerdict::Plain => {
                self.push_part(&line, parts);
                self.line = (c == '\n').then(String::new);
            }
        }
    }

    fn switch(&mut self, part: AnswerPart, line_over: bool, parts: &mut Vec<(AnswerPart, String)>) {
        let unknown = std::mem::take(&mut self.unknown);
        if !unknown.is_empty() {
            // Text before the first heading is a preface and must not be part of the answer.
            parts.push((AnswerPart::Thinking, unknown));
        }
        self.part = Some(part);
        self.after_head = true;
        self.line = line_over.then(String::new);
    }

    /// Appends text, merging adjacent parts of the same kind.
    fn push_part(&mut self, text: &str, parts: &mut Vec<(AnswerPart, String)>) {
        let Some(part) = self.part else {
            self.unknown.push_str(text);
            return;
        };
        match parts.last_mut() {
            Some((last, said)) if *last == part => said.push_str(text),
            _ => parts.push((part, text.to_owned())),
        }
    }

    fn judge(&self, line: &str) -> LineVerdict {
        let said = line.trim_start_matches(['#', '*', '_', '>', '-', ' ', '\t']);
        let dressed = said.len() < line.trim_start().len();
        if line.len() > LONGEST || line == "\n" {
            return LineVerdict::Plain;
        }
        if said.is_empty() {
            return LineVerdict::Maybe;
        }
        let said = said.to_lowercase();
        let mut verdict = LineVerdict::Plain;
        for (part, head) in &self.heads {
            if head.starts_with(&said) {
                verdict = LineVerdict::Maybe;
            }
            let Some(rest) = said.strip_prefix(head.as_str()) else {
                continue;
            };
            let rest = rest.trim_start_matches(['*', '_', ' ']);
            match rest.chars().next() {
                None => verdict = LineVerdict::Maybe,
                Some(':' | '：') => return LineVerdict::Head(*part),
                // `## Answer` alone is a heading. A bare line `Answer` may be ordinary text.
                Some('\n') if dressed => return LineVerdict::Head(*part),
                Some(_) => {}
            }
        }
        verdict
    }
}

/// Returns the spellings of a tag. The default tag also has synonyms.
fn names(part: AnswerPart, tag: &ThinkingTag, others: &[&str]) -> Vec<(AnswerPart, String)> {
    let ThinkingTag::Head(head) = tag else {
        return Vec::new();
    };
    let head = head.trim_end_matches([':', '：']).to_lowercase();
    let mut names = vec![(part, head.clone())];
    // The default headings have synonyms. A heading that the author sets must match exactly.
    if others.contains(&head.as_str()) {
        names.extend(others.iter().map(|name| (part, (*name).to_owned())));
    }
    names
}

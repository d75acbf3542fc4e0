//! Lines such as `Think:` and `Answer:` that say what follows, in a text that comes in pieces.

use super::pairs::AnswerPart;
use super::{ThinkingMode, ThinkingSettings, ThinkingTag};

// A possible heading is held back from the stream, so the wait has to be bounded.
/// Longest line that may still become a heading.
const LONGEST: usize = 80;

/// What models write for the default headings.
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

/// Looks for headings at the beginnings of lines.
#[derive(Debug)]
pub(super) struct MarkerScanner {
    heads: Vec<(AnswerPart, String)>,
    /// What the text is a part of now; unknown before the first heading.
    part: Option<AnswerPart>,
    /// The beginning of a line that may become a heading; nothing inside of a plain line.
    line: Option<String>,
    /// Behind a heading: marks of emphasis and blanks do not count.
    after_head: bool,
    /// What came before anybody knew what it is.
    unknown: String,
}

/// What the beginning of a line is.
enum LineVerdict {
    Plain,
    Maybe,
    Head(AnswerPart),
}

impl MarkerScanner {
    pub(super) fn new(thinking: &ThinkingSettings, tagged: bool) -> Self {
        let default = ThinkingSettings::default();
        // Mode `last` knows the default headings only.
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
            // Where the answer comes first, or pairs mark the thinking, text before a heading is
            // answer. It can be streamed without waiting.
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
            // No heading came: the model ignored the form, so all of its text is the answer.
            parts.insert(0, (AnswerPart::Answer, unknown));
        }
        parts
    }

    fn take(&mut self, c: char, parts: &mut Vec<(AnswerPart, String)>) {
        if self.after_head && matches!(c, '*' | '_' | ' ') {
            return;
        }
        self.after_head = false;
        // No heading begins in the middle of a line, so its characters pass without delay.
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
            // What precedes the first heading is a preface and must not get into the answer.
            parts.push((AnswerPart::Thinking, unknown));
        }
        self.part = Some(part);
        self.after_head = true;
        self.line = line_over.then(String::new);
    }

    /// Neighbouring pieces of one part are one.
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
                // `## Answer` alone is a heading; a bare line `Answer` may be ordinary text.
                Some('\n') if dressed => return LineVerdict::Head(*part),
                Some(_) => {}
            }
        }
        verdict
    }
}

/// What a tag is called in a text; the default's other names, too.
fn names(part: AnswerPart, tag: &ThinkingTag, others: &[&str]) -> Vec<(AnswerPart, String)> {
    let ThinkingTag::Head(head) = tag else {
        return Vec::new();
    };
    let head = head.trim_end_matches([':', '：']).to_lowercase();
    let mut names = vec![(part, head.clone())];
    // Synonyms hold for the usual headings only; an author's own word is matched as written.
    if others.contains(&head.as_str()) {
        names.extend(others.iter().map(|name| (part, (*name).to_owned())));
    }
    names
}

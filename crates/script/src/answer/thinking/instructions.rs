//! Instructions that ask a model to think.

use super::{ThinkingMode, ThinkingSettings, ThinkingTag};

impl ThinkingSettings {
    /// Returns the part of the system message about thinking, or `None` in mode `off`.
    #[must_use]
    pub fn instruction(&self) -> Option<String> {
        let think = self.place(&self.think, "Think", "your reasoning");
        let answer = self.place(&self.answer, "Answer", "your answer");
        let steps = match self.steps {
            Some(1) => " in one step".to_owned(),
            Some(steps) => format!(" in at most {steps} numbered steps"),
            None => String::new(),
        };
        let text = match self.mode {
            ThinkingMode::Off => return None,
            ThinkingMode::Last => format!(
                "Give your answer first, complete and on its own. Then begin a new line with \
                 `Think:` and give the reasons for it{steps}. The reader of the answer does not \
                 see the reasons."
            ),
            ThinkingMode::First => format!(
                "Think before you answer{steps}. First write {think}: what is asked, what you \
                 know, and what follows from it. Then write {answer}, complete and on its own: \
                 its reader does not see the reasoning."
            ),
            ThinkingMode::Deep => format!(
                "Think hard before you answer{steps}. First write {think}: say in your own words \
                 what is asked, part it into smaller questions, work through each, look for \
                 mistakes and for other readings, and start over where you find any. Go on until \
                 nothing is in doubt. Then write {answer}, complete and on its own: its reader \
                 does not see the reasoning."
            ),
        };
        Some(text)
    }

    fn place(&self, tag: &ThinkingTag, default: &str, what: &str) -> String {
        match tag {
            ThinkingTag::Pair(open, close) => format!("{what} between `{open}` and `{close}`"),
            ThinkingTag::Head(head) => {
                let head = if head.is_empty() { default } else { head };
                let head = head.trim_end_matches([':', '：']);
                format!("{what} below a line that begins with `{head}:`")
            }
        }
    }

    /// Returns the instruction that asks the model to review its answer once more (`depth`).
    #[must_use]
    pub fn again(&self) -> &'static str {
        "Look at your answer again as somebody who doubts it: check each step and each fact, and \
         try to prove it wrong. Then give the final answer in the same form as before; if nothing \
         was wrong, give the same answer again."
    }
}

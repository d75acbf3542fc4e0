//! `shouldThink`: asks a model to think, and separates its thinking from its answer.

mod instructions;
mod markers;
mod pairs;
mod split;

use quillet_core::{Map, Value, nearest};

use crate::pattern::{Regex, RegexError};

pub use split::{SplitAnswer, Splitter};

/// When and how a model is asked to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ThinkingMode {
    /// It is not asked to think.
    #[default]
    Off,
    /// It answers first, then gives its reasons.
    Last,
    /// It thinks first, then answers.
    First,
    /// It thinks in steps, questions its conclusions, then answers.
    Deep,
}

impl ThinkingMode {
    /// Parses a mode name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "off" | "none" => Some(ThinkingMode::Off),
            "last" => Some(ThinkingMode::Last),
            "first" => Some(ThinkingMode::First),
            "deep" => Some(ThinkingMode::Deep),
            _ => None,
        }
    }
}

/// Tag that marks the thinking or the answer in a model's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThinkingTag {
    /// A heading: `Think:`.
    Head(String),
    /// A tag pair: `<think>` and `</think>`.
    Pair(String, String),
}

/// Thinking settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThinkingSettings {
    /// The mode.
    pub mode: ThinkingMode,
    /// Whether the thinking is streamed. Default: yes.
    pub visible: Option<bool>,
    /// Number of rounds in which the model reviews its own answer. The default is 1, which means no
    /// review.
    pub depth: u32,
    /// Maximum number of reasoning steps to request; `None` for no limit.
    pub steps: Option<u32>,
    /// Tag that marks the thinking.
    pub think: ThinkingTag,
    /// Tag that marks the answer.
    pub answer: ThinkingTag,
    /// Regular expression that matches the thinking, instead of the tag.
    pub think_regex: Option<String>,
    /// Regular expression that matches the answer, instead of the tag.
    pub answer_regex: Option<String>,
}

impl Default for ThinkingSettings {
    fn default() -> Self {
        ThinkingSettings {
            mode: ThinkingMode::Off,
            visible: None,
            depth: 1,
            steps: None,
            think: ThinkingTag::Head("Think".to_owned()),
            answer: ThinkingTag::Head("Answer".to_owned()),
            think_regex: None,
            answer_regex: None,
        }
    }
}

/// Maximum number of rounds.
const MOST_ROUNDS: i64 = 16;

impl ThinkingSettings {
    /// Parses `shouldThink`, which is `true` (for mode `last`), a mode name, or an object. Also
    /// returns the problems. Invalid settings have no effect.
    #[must_use]
    pub fn read(value: Option<&Value>) -> (ThinkingSettings, Vec<String>) {
        let mut problems = Vec::new();
        let mut thinking = ThinkingSettings::default();
        match value {
            None | Some(Value::Null | Value::Bool(false)) => {}
            Some(Value::Bool(true)) => thinking.mode = ThinkingMode::Last,
            Some(Value::Str(name)) => thinking.mode = mode(name, &mut problems),
            Some(Value::Map(map)) => thinking.read_map(map, &mut problems),
            Some(other) => problems.push(format!(
                "shouldThink is ignored: expected true, off, last, first, deep or an object, not \
                {}",
                other.kind()
            )),
        }
        (thinking, problems)
    }

    fn read_map(&mut self, map: &Map, problems: &mut Vec<String>) {
        self.mode = match map.get("mode") {
            None | Some(Value::Null | Value::Bool(true)) => ThinkingMode::Last,
            Some(Value::Str(name)) => mode(name, problems),
            Some(_) => ThinkingMode::Off,
        };
        if let Some(Value::Bool(visible)) = map.get("visible") {
            self.visible = Some(*visible);
        }
        let count = |name: &str| match map.get(name) {
            // Each round of `depth` is another request to the model, so a large number is reduced.
            Some(Value::Int(count)) => u32::try_from((*count).clamp(1, MOST_ROUNDS)).ok(),
            _ => None,
        };
        self.depth = count("depth").unwrap_or(1);
        self.steps = count("steps");
        self.read_tags(map, problems);
        self.read_patterns(map, problems);
        let unknown = map.table().keys().filter(|name| !NAMES.contains(&&***name));
        problems.extend(unknown.map(|name| {
            let near = nearest(name, NAMES).map(|near| format!(" (did you mean {near}?)"));
            format!("unknown key shouldThink.{name}{}", near.unwrap_or_default())
        }));
    }

    fn read_tags(&mut self, map: &Map, problems: &mut Vec<String>) {
        for (name, tag) in [
            ("thinkTag", &mut self.think),
            ("answerTag", &mut self.answer),
        ] {
            match read_tag(map.get(name)) {
                Ok(Some(given)) => *tag = given,
                Ok(None) => {}
                Err(()) => problems.push(format!(
                    "shouldThink.{name} must be a string, or a list of an opening and a closing \
                    string"
                )),
            }
        }
    }

    fn read_patterns(&mut self, map: &Map, problems: &mut Vec<String>) {
        for (name, regex) in [
            ("thinkRegex", &mut self.think_regex),
            ("answerRegex", &mut self.answer_regex),
        ] {
            let Some(given) = map.get(name).and_then(Value::as_str) else {
                continue;
            };
            match pattern(given) {
                Ok(_) => *regex = Some(given.to_owned()),
                Err(error) => problems.push(format!("shouldThink.{name}: {error}")),
            }
        }
    }
}

const NAMES: [&str; 8] = [
    "mode",
    "visible",
    "depth",
    "steps",
    "thinkTag",
    "answerTag",
    "thinkRegex",
    "answerRegex",
];

fn mode(name: &str, problems: &mut Vec<String>) -> ThinkingMode {
    ThinkingMode::parse(name).unwrap_or_else(|| {
        problems.push(format!(
            "unknown shouldThink mode {name:?}: use off, last, first or deep"
        ));
        ThinkingMode::Off
    })
}

fn read_tag(value: Option<&Value>) -> Result<Option<ThinkingTag>, ()> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Str(head)) if !head.trim().is_empty() => {
            Ok(Some(ThinkingTag::Head(head.trim().to_owned())))
        }
        Some(Value::List(items)) => match items.as_slice() {
            [Value::Str(open), Value::Str(close)] if !open.is_empty() && !close.is_empty() => {
                Ok(Some(ThinkingTag::Pair(open.to_string(), close.to_string())))
            }
            _ => Err(()),
        },
        Some(_) => Err(()),
    }
}

/// Compiles a pattern: `/…/flags`, or without slashes. `.` also matches line breaks, because
/// thinking usually has many lines.
fn pattern(text: &str) -> Result<Regex, RegexError> {
    let slashed = text
        .strip_prefix('/')
        .and_then(|rest| rest.rsplit_once('/'));
    let (inside, flags) = slashed.unwrap_or((text, ""));
    let flags: String = flags.chars().filter(|flag| *flag != 's').collect();
    Regex::compile(inside, &format!("{flags}s"))
}

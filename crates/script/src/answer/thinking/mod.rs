//! `shouldThink`: a model that is told to think, and its answer taken apart.

mod instructions;
mod markers;
mod pairs;
mod split;

use quillet_core::{Map, Value, nearest};

use crate::pattern::{Regex, RegexError};

pub use split::{SplitAnswer, Splitter};

/// When a model is asked to think.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ThinkingMode {
    /// Not at our word.
    #[default]
    Off,
    /// It answers, then gives its reasons.
    Last,
    /// It thinks, then answers.
    First,
    /// It thinks in steps, doubts itself, then answers.
    Deep,
}

impl ThinkingMode {
    /// The mode of a name.
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

/// What marks thinking or answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ThinkingTag {
    /// A heading: `Think:`.
    Head(String),
    /// A pair: `<think>` and `</think>`.
    Pair(String, String),
}

/// Settings of thinking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThinkingSettings {
    /// When.
    pub mode: ThinkingMode,
    /// Whether the thinking is shown while it comes; yes where nobody says.
    pub visible: Option<bool>,
    /// Rounds in which it looks at its own answer again. Default 1: no second look.
    pub depth: u32,
    /// Most steps that it is asked for; any number where `None`.
    pub steps: Option<u32>,
    /// What marks the thinking.
    pub think: ThinkingTag,
    /// What marks the answer.
    pub answer: ThinkingTag,
    /// A regular expression that finds the thinking, instead of the tag.
    pub think_regex: Option<String>,
    /// A regular expression that finds the answer, instead of the tag.
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

/// Most rounds that can be asked for.
const MOST_ROUNDS: i64 = 16;

impl ThinkingSettings {
    /// Reads `shouldThink`: `true` (mode `last`), a mode's name, or an object. Gives what is
    /// wrong with it, too; what is wrong has no effect.
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
            // Each round of `depth` is one more request to the model, so a large number is cut.
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

/// A pattern as authors write it: `/…/flags`, or without the slashes. `.` is any character,
/// since thoughts have many lines.
fn pattern(text: &str) -> Result<Regex, RegexError> {
    let slashed = text
        .strip_prefix('/')
        .and_then(|rest| rest.rsplit_once('/'));
    let (inside, flags) = slashed.unwrap_or((text, ""));
    let flags: String = flags.chars().filter(|flag| *flag != 's').collect();
    Regex::compile(inside, &format!("{flags}s"))
}

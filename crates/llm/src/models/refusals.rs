//! Parameters that models refuse, by the rules in `refusals.json`. The provider answers 400 to them
//! or ignores them, so they are removed from each request, and the caller is warned.
//!
//! A rule applies to ids with the rules of the model table: an id that ends in `-` or `.` is a
//! family, any other id is a model and its versions. The longest id counts. Rules of one family
//! differ in the generation from which they apply; the newest one that the model has reached counts.
//! A name without a generation (`claude-opus-latest`) has the newest.

use std::fmt;
use std::sync::LazyLock;

use quillet_core::chat::{ChatOptions, EXTRA_BODY, REFUSABLE_PARAMETERS};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::name;

/// Version of a family: (4, 7) for `claude-opus-4-7`.
type Generation = (u32, u32);

/// Rule for models.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RefusalRule {
    ids: Vec<String>,
    /// The first generation that the rule applies to.
    #[serde(default)]
    since: Generation,
    #[serde(default)]
    refuses: Vec<String>,
    /// Refused unless the reasoning effort is `none`.
    #[serde(default)]
    refuses_reasoning: Vec<String>,
    /// Reasoning effort of a request that does not set one, if it is known.
    #[serde(default)]
    effort: Option<String>,
}

static RULES: LazyLock<Vec<RefusalRule>> = LazyLock::new(|| {
    // A test checks that the file is valid.
    serde_json::from_str(include_str!("refusals.json")).unwrap_or_default()
});

/// Parameters of a request that its model refuses. Quillet does not send them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedParameters {
    /// Names of the parameters.
    pub names: Vec<&'static str>,
    /// The model and the parameters.
    pub message: String,
    /// The recommended action.
    pub help: String,
}

impl RefusedParameters {
    /// Returns the parameters that the model refuses and that the options set outside of
    /// `extra_body`, or `None`.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::chat::ChatOptions;
    /// use quillet_llm::models::RefusedParameters;
    ///
    /// let options = ChatOptions { temperature: Some(0.3), ..ChatOptions::default() };
    /// let refused = RefusedParameters::of("anthropic/claude-opus-5-5", &options).unwrap();
    /// assert_eq!(refused.names, ["temperature"]);
    /// assert_eq!(RefusedParameters::of("claude-opus-4-6", &options), None);
    /// ```
    #[must_use]
    pub fn of(model: &str, options: &ChatOptions) -> Option<Self> {
        let rule = RefusalRule::of(model)?;
        let explicit = options.extra.get(EXTRA_BODY).and_then(Value::as_object);
        let is_explicit = |name: &&str| {
            options.forced.contains(name) || explicit.is_some_and(|body| body.contains_key(*name))
        };
        let names: Vec<&'static str> = REFUSABLE_PARAMETERS
            .into_iter()
            .filter(|name| rule.refuses(name, options))
            .filter(|name| is_set(options, name) && !is_explicit(name))
            .collect();
        if names.is_empty() {
            return None;
        }
        let listed = listed(&names);
        let them = if names.len() == 1 { "it" } else { "them" };
        Some(RefusedParameters {
            message: format!(
                "the model {model} does not accept {listed}, so Quillet does not send {them}"
            ),
            help: format!("remove {listed}; to send {them} anyway, move {them} to extra_body"),
            names,
        })
    }
}

impl fmt::Display for RefusedParameters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

/// Whether the model may refuse one of these parameters, depending on its reasoning effort.
pub(crate) fn may_refuse(model: &str, names: &[&str]) -> bool {
    let rule = RefusalRule::of(model);
    rule.is_some_and(|rule| {
        let mut all = rule.refuses.iter().chain(&rule.refuses_reasoning);
        all.any(|refused| names.contains(&refused.as_str()))
    })
}

/// Removes the parameters that the model refuses. Parameters in `extra_body` replace those outside
/// and are never removed.
pub(crate) fn remove_refused(model: &str, options: &mut ChatOptions) {
    if let Some(refused) = RefusedParameters::of(model, options) {
        for name in refused.names {
            set(options, name, None);
        }
    }
    for name in std::mem::take(&mut options.forced) {
        if let Some(value) = options.extra.remove(name) {
            set(options, name, Some(value));
        }
    }
    let Some(Value::Object(body)) = options.extra.get_mut(EXTRA_BODY) else {
        return;
    };
    let explicit: Vec<(&str, Value)> = REFUSABLE_PARAMETERS
        .into_iter()
        .filter_map(|name| Some((name, body.remove(name)?)))
        .collect();
    // Some servers have a member `extra_body` of their own.
    if body.is_empty() {
        options.extra.remove(EXTRA_BODY);
    }
    for (name, value) in explicit {
        set(options, name, Some(value));
    }
}

impl RefusalRule {
    fn of(model: &str) -> Option<&'static Self> {
        let name = name::bare(model);
        let generation = generation(name);
        let rules = RULES.iter().filter_map(|rule| {
            let fitting = rule.ids.iter().filter(|id| is_id_of(id, name));
            Some((fitting.map(String::len).max()?, rule))
        });
        let reached = rules.filter(|(_, rule)| generation.is_none_or(|own| own >= rule.since));
        let best = reached.max_by_key(|(length, rule)| (*length, rule.since));
        best.map(|(_, rule)| rule)
    }

    fn refuses(&self, name: &str, options: &ChatOptions) -> bool {
        let has = |names: &[String]| names.iter().any(|refused| refused == name);
        let effort = effort(options).or(self.effort.as_deref());
        has(&self.refuses) || (effort != Some("none") && has(&self.refuses_reasoning))
    }
}

fn is_id_of(id: &str, name: &str) -> bool {
    name.split_at_checked(id.len())
        .is_some_and(|(begin, rest)| {
            let is_complete = name::is_family(id) || rest.is_empty() || name::is_version(rest);
            begin.eq_ignore_ascii_case(id) && is_complete
        })
}

/// Returns the first number in a name and the number directly after it: (4, 7) for
/// `claude-opus-4-7` and `claude-4.7-opus`, (4, 0) for `gpt-4o`.
fn generation(name: &str) -> Option<Generation> {
    let number = |word: &str| {
        let end = word.find(|c: char| !c.is_ascii_digit());
        let digits = &word[..end.unwrap_or(word.len())];
        // A date is not a version.
        digits.parse().ok().filter(|_| digits.len() < 3)
    };
    let mut numbers = name.split(['-', '.', '@', ':']).map(number);
    let major = numbers.by_ref().flatten().next()?;
    Some((major, numbers.next().flatten().unwrap_or(0)))
}

/// Returns the reasoning effort of the request, also in the form of the Responses API.
fn effort(options: &ChatOptions) -> Option<&str> {
    let nested = || options.extra.get("reasoning")?.get("effort")?.as_str();
    options.reasoning_effort.as_deref().or_else(nested)
}

fn is_set(options: &ChatOptions, name: &str) -> bool {
    match name {
        "temperature" => options.temperature.is_some(),
        "top_p" => options.top_p.is_some(),
        "presence_penalty" => options.presence_penalty.is_some(),
        "frequency_penalty" => options.frequency_penalty.is_some(),
        "stop" => options.stop.is_some(),
        name => names_in(&options.extra, name).next().is_some(),
    }
}

fn set(options: &mut ChatOptions, name: &str, value: Option<Value>) {
    let number = || value.as_ref().and_then(Value::as_f64);
    match name {
        "temperature" => options.temperature = number(),
        "top_p" => options.top_p = number(),
        "presence_penalty" => options.presence_penalty = number(),
        "frequency_penalty" => options.frequency_penalty = number(),
        "stop" => options.stop = value,
        name => {
            let given: Vec<&str> = names_in(&options.extra, name).collect();
            for name in given {
                options.extra.remove(name);
            }
            let value = value.map(|value| (name.to_owned(), value));
            options.extra.extend(value);
        }
    }
}

/// Returns the names under which the extra members set a parameter; Gemini has its own for `top_k`.
fn names_in<'a>(extra: &Map<String, Value>, name: &'a str) -> impl Iterator<Item = &'a str> {
    let gemini = (name == "top_k").then_some("topK");
    let names = [Some(name), gemini].into_iter().flatten();
    names.filter(|name| extra.contains_key(*name))
}

/// Joins names for a sentence: `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [most @ .., last] if !most.is_empty() => format!("{} and {last}", most.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_names_known_parameters() {
        assert!(!RULES.is_empty(), "refusals.json is invalid");
        for rule in RULES.iter() {
            assert!(!rule.ids.is_empty());
            for name in rule.refuses.iter().chain(&rule.refuses_reasoning) {
                assert!(REFUSABLE_PARAMETERS.contains(&name.as_str()), "{name}");
            }
        }
    }

    #[test]
    fn generations_are_read_from_names() {
        for (name, expected) in [
            ("claude-3-7-sonnet-20250219", Some((3, 7))),
            ("claude-opus-4-20250514", Some((4, 0))),
            ("claude-4.7-opus", Some((4, 7))),
            ("claude-haiku-5-5-20261001-v1:0", Some((5, 5))),
            ("claude-opus-latest", None),
            ("gpt-4o-mini", Some((4, 0))),
            ("gpt-5-2025-08-07", Some((5, 0))),
            ("gpt-6.1-sol", Some((6, 1))),
            ("gemini-3-flash-preview-05-20", Some((3, 0))),
            ("gemini-3.8-flash", Some((3, 8))),
            ("gemini-flash-latest", None),
        ] {
            assert_eq!(generation(name), expected, "{name}");
        }
    }
}

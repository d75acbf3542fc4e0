//! Reads the parameters of a script: options for the provider, and settings of the engine.

use std::sync::OnceLock;
use std::time::Duration;

use quillet_core::chat::{ChatOptions, EXTRA_BODY, REFUSABLE_PARAMETERS};
use quillet_core::{Map, Value, nearest};
use serde_json::Value as Json;

use super::constraint::Constraint;
use super::reading::ParameterReader;
use crate::answer::{AnswerFormat, ThinkingSettings};

/// Default maximum number of turns with tool calls per answer.
const TOOL_ROUNDS: u32 = 30;

/// Default timeout of an answer.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Maximum timeout: one day.
const LONGEST: Duration = Duration::from_secs(86_400);
/// Maximum number of stop texts in the OpenAI Chat API. If there are more, the engine applies them
/// itself.
const MOST_STOPS: usize = 4;

/// Settings of a model's answer. Only these settings are sent to a provider, never variables of a
/// script.
#[derive(Clone, Debug, PartialEq)]
pub struct CallSettings {
    /// Options for the provider.
    pub options: ChatOptions,
    /// The model name, or `provider://model`, for [`crate::host::ModelSource`].
    pub model: Option<String>,
    /// `stream`: whether the answer is streamed; `None` leaves the decision to the engine.
    pub stream: Option<bool>,
    /// `continueOnLengthLimit`: whether an answer that reached the token limit is continued.
    pub continues: bool,
    /// `maxRetry`: maximum number of times an answer is continued. Default 7.
    pub retries: u32,
    /// `maxToolRounds`: maximum number of turns per answer in which the model calls tools. After
    /// the last of these turns, the model gets one turn without tools. Default 30.
    pub tool_rounds: u32,
    /// `minTailRepeatCount`: number of repetitions at the end of an answer after which the answer
    /// is truncated. Default 7; 0 disables the check.
    pub repeats: usize,
    /// `timeout`: maximum time for one answer. Default 120 s.
    pub timeout: Duration,
    /// `idleTimeout`: maximum time without output from the model. Defaults to `timeout`.
    pub idle: Duration,
    /// All strings that end an answer.
    pub stops: Vec<String>,
    /// `shouldThink`.
    pub thinking: ThinkingSettings,
    /// `memoized`: whether a cached answer to an equal request may be used.
    pub memoized: Option<bool>,
    /// `add_generation_prompt`. Default yes.
    pub add_generation_prompt: bool,
    /// `response_format.type`, if not text.
    pub format: Option<AnswerFormat>,
    /// `response_format.conversionScope`: whether the text before and after an answer in the same
    /// message is parsed together with the answer. The default is yes (`message`).
    pub whole_message: bool,
    /// `forceJson`: whether an unreadable answer is an error. If `None`, `output` and the format
    /// decide.
    pub force_json: Option<bool>,
    /// `strictOutput`: whether a value that violates its schema is an error. Default no.
    pub strict_output: bool,
    /// `naturalOutput`: whether `{{output}}` is in natural language. Default yes.
    pub natural_output: bool,
    /// `autoBuildOutputPrompt`: whether the prompt describes `output` to the model. Default yes.
    pub output_prompt: bool,
}

impl Default for CallSettings {
    fn default() -> Self {
        CallSettings {
            options: ChatOptions {
                max_tokens: Some(2048),
                ..ChatOptions::default()
            },
            model: None,
            stream: None,
            continues: false,
            retries: 7,
            tool_rounds: TOOL_ROUNDS,
            repeats: 7,
            timeout: TIMEOUT,
            idle: TIMEOUT,
            stops: Vec::new(),
            thinking: ThinkingSettings::default(),
            memoized: None,
            add_generation_prompt: true,
            format: None,
            whole_message: true,
            force_json: None,
            strict_output: false,
            natural_output: true,
            output_prompt: true,
        }
    }
}

/// Settings that scripts can also set outside of `parameters`, at the top level of the front matter
/// or in `prompt`. These values are the defaults when parameters are merged.
pub const OUTSIDE_PARAMETERS: [&str; 7] = [
    "stop_words",
    "completion_delimiter",
    "add_generation_prompt",
    "forceJson",
    "shouldThink",
    "response_format",
    "autoBuildOutputPrompt",
];

/// Options that some local servers accept and hosted APIs reject.
const LOCAL_ONLY: [&str; 5] = ["top_k", "min_p", "repeat_penalty", "mirostat", "typical_p"];

/// Settings that are not looked up by name here: objects, and settings for handling an answer.
const BESIDE: [&str; 15] = [
    "SystemTemplate",
    "apiKey",
    "apiUrl",
    "api_key",
    "keepOrginal",
    "keepOriginal",
    "keepThinking",
    "llmReturnResult",
    "llmStream",
    "provider",
    "pushMessage",
    "response_format",
    "shouldAppendResponse",
    "shouldThink",
    "stop",
];

impl CallSettings {
    /// Returns the setting that a misspelled name probably means. Returns `None` for valid
    /// settings, and for names that do not resemble any setting.
    #[must_use]
    pub fn meant(name: &str) -> Option<&'static str> {
        static NAMES: OnceLock<Vec<&'static str>> = OnceLock::new();
        let names = NAMES.get_or_init(|| {
            let nothing = Map::default();
            let mut given = ParameterReader::new(&nothing);
            let _ = options(&mut given);
            let mut settings = CallSettings::default();
            settings.read_engine(&mut given);
            settings.read_stops(&mut given);
            given.asked.extend(BESIDE);
            given.asked.extend(LOCAL_ONLY);
            given.asked
        });
        if names.contains(&name) {
            None
        } else {
            nearest(name, names.iter().copied())
        }
    }

    /// Reads merged parameters (`parameters` < `prompt` < arguments of the call). Names that are
    /// not settings are treated as variables and ignored. Also returns warnings for the author.
    #[must_use]
    pub fn read(parameters: &Map) -> (CallSettings, Vec<String>) {
        let mut given = ParameterReader::new(parameters);
        let mut settings = CallSettings {
            options: options(&mut given),
            ..CallSettings::default()
        };
        settings.read_engine(&mut given);
        settings.read_stops(&mut given);
        settings.read_format(&mut given);
        let (thinking, problems) = ThinkingSettings::read(parameters.get("shouldThink"));
        settings.thinking = thinking;
        let mut warnings = given.warnings;
        warnings.extend(problems);
        (settings, warnings)
    }

    fn read_engine(&mut self, given: &mut ParameterReader<'_>) {
        self.model = given.text(&["model"]);
        self.stream = given.flag(&["stream"]);
        self.memoized = given.flag(&["memoized"]);
        self.force_json = given.flag(&["forceJson", "force_json"]);
        let flags: [(&mut bool, &[&str]); 5] = [
            (&mut self.continues, &["continueOnLengthLimit"]),
            (&mut self.add_generation_prompt, &["add_generation_prompt"]),
            (&mut self.strict_output, &["strictOutput"]),
            (&mut self.natural_output, &["naturalOutput"]),
            (&mut self.output_prompt, &["autoBuildOutputPrompt"]),
        ];
        for (flag, names) in flags {
            *flag = given.flag(names).unwrap_or(*flag);
        }
        let retries = given.count(&["maxRetry"]).unwrap_or(7);
        self.retries = u32::try_from(retries).unwrap_or(u32::MAX);
        if let Some(rounds) = given.count(&["maxToolRounds"]) {
            self.tool_rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
        }
        let repeats = given.count(&["minTailRepeatCount"]).unwrap_or(7);
        self.repeats = usize::try_from(repeats).unwrap_or(usize::MAX);
        self.timeout = milliseconds(given.count(&["timeout"]), TIMEOUT);
        self.idle = milliseconds(given.count(&["idleTimeout"]), self.timeout);
        if given.map.get("SystemTemplate").is_some() {
            given.warn("SystemTemplate has no effect: models receive messages, not raw text");
        }
        for name in LOCAL_ONLY {
            if given.map.get(name).is_some() {
                given.warn(format!(
                    "{name} is not sent because most providers reject it: move it to \
                    parameters.extra_body for a provider that accepts it"
                ));
            }
        }
    }

    fn read_stops(&mut self, given: &mut ParameterReader<'_>) {
        let mut stops = given.texts(&["stop_words", "stop"]);
        stops.extend(given.text(&["completion_delimiter"]));
        stops.retain(|stop| !stop.is_empty());
        let mut seen = std::collections::HashSet::new();
        stops.retain(|stop| seen.insert(stop.clone()));
        if !stops.is_empty() {
            let sent: Vec<&String> = stops.iter().take(MOST_STOPS).collect();
            self.options.stop = Some(serde_json::json!(sent));
        }
        self.stops = stops;
    }

    fn read_format(&mut self, given: &mut ParameterReader<'_>) {
        let Some(format) = given.map.get("response_format") else {
            return;
        };
        let kind = match format {
            Value::Map(map) => map.get("type").and_then(Value::as_str),
            Value::Str(name) => Some(&**name),
            other => {
                let kind = other.kind();
                given.warn(format!(
                    "response_format must be an object with a type, not {kind}"
                ));
                None
            }
        };
        match kind {
            None | Some("text") => {}
            Some(name) => match AnswerFormat::parse(name) {
                Some(format) => self.format = Some(format),
                None => given.warn(format!(
                    "unknown response_format.type {name:?}: the answer stays text; use text, \
                    json, yaml or nobj"
                )),
            },
        }
        let scope = format
            .get_path(&["conversionScope"])
            .and_then(Value::as_str);
        self.whole_message = scope != Some("response");
    }

    /// Returns the form that `output` and these settings require. With a format and a schema, or
    /// with `forceJson`, an unreadable answer is an error. With only a format, an unreadable answer
    /// is kept as text.
    #[must_use]
    pub fn constraint(&self, output: Option<&Value>) -> Option<Constraint> {
        let force = self.force_json;
        let format = self
            .format
            .or((force == Some(true)).then_some(AnswerFormat::Json))?;
        Some(match output {
            Some(schema) => Constraint::Schema {
                schema: schema.into(),
                format,
                force: force.unwrap_or(true),
            },
            None => Constraint::Format {
                format,
                force: force.unwrap_or(false),
            },
        })
    }
}

fn options(given: &mut ParameterReader<'_>) -> ChatOptions {
    let mut options = ChatOptions {
        temperature: given.number(&["temperature"]),
        top_p: given.number(&["top_p", "topP"]),
        max_tokens: max_tokens(given),
        frequency_penalty: given.number(&["frequency_penalty", "frequencyPenalty"]),
        presence_penalty: given.number(&["presence_penalty", "presencePenalty"]),
        reasoning_effort: given.text(&["reasoning_effort"]),
        ..ChatOptions::default()
    };
    if let Some(seed) = given.count(&["seed"]) {
        options.extra.insert("seed".to_owned(), seed.into());
    }
    for name in ["logit_bias", EXTRA_BODY] {
        let Some(value) = given.object(name) else {
            continue;
        };
        match (name, Json::from(&Value::Map(value.clone()))) {
            (EXTRA_BODY, Json::Object(fields)) => {
                let refusable = REFUSABLE_PARAMETERS.into_iter();
                options.forced = refusable
                    .filter(|name| fields.contains_key(*name))
                    .collect();
                options.extra.extend(fields);
            }
            (_, fields) => {
                options.extra.insert(name.to_owned(), fields);
            }
        }
    }
    options
}

/// Local servers accept -1 as no limit, which is expressed by not sending the option.
fn max_tokens(given: &mut ParameterReader<'_>) -> Option<u64> {
    match given.number(&["max_tokens", "maxTokens", "max_completion_tokens"]) {
        None => Some(2048),
        Some(count) if count < 1.0 => None,
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        Some(count) => Some(count as u64),
    }
}

/// Converts milliseconds; 0 means the maximum timeout.
fn milliseconds(given: Option<u64>, default: Duration) -> Duration {
    match given {
        None => default,
        Some(0) => LONGEST,
        Some(time) => Duration::from_millis(time).min(LONGEST),
    }
}

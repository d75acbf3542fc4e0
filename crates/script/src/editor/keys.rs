//! The front matter keys that the engine defines, and their values.
//!
//! This table is used for hovers, completion and the JSON Schema in `schemas/`. Other keys are
//! variables.

/// A front matter key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigKey {
    /// The full name: the enclosing keys and the key itself, separated by dots.
    pub path: &'static str,
    /// The allowed values; empty if there is no fixed set.
    pub values: &'static [&'static str],
    /// Its description.
    pub doc: &'static str,
}

/// Returns the key at a path, such as `["parameters", "temperature"]`.
#[must_use]
pub fn key(path: &[&str]) -> Option<&'static ConfigKey> {
    let path = path.join(".");
    KEYS.iter().find(|key| key.path == path)
}

/// Returns the keys directly below a path. An empty path stands for the front matter itself.
pub fn below(path: &[&str]) -> impl Iterator<Item = &'static ConfigKey> {
    let parent = path.join(".");
    KEYS.iter()
        .filter(move |key| match key.path.rsplit_once('.') {
            Some((above, _)) => above == parent,
            None => parent.is_empty(),
        })
}

impl ConfigKey {
    /// Returns the key's own name, without the enclosing keys.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.path.rsplit('.').next().unwrap_or(self.path)
    }
}

const fn key_of(path: &'static str, doc: &'static str) -> ConfigKey {
    ConfigKey {
        path,
        values: &[],
        doc,
    }
}

const fn one_of(
    path: &'static str,
    values: &'static [&'static str],
    doc: &'static str,
) -> ConfigKey {
    ConfigKey { path, values, doc }
}

const YES_NO: &[&str] = &["true", "false"];

/// All keys, in alphabetical order.
pub const KEYS: &[ConfigKey] = &[
    key_of(
        "ProtectedStartup",
        "Front matter keys that a caller cannot set; narrows the default list.",
    ),
    key_of(
        "SystemNotesTitle",
        "The title of the notes in a structured system message; `Notes:` by default.",
    ),
    key_of(
        "SystemOutputTitle",
        "The title of the output in a structured system message; must contain `{{type}}`.",
    ),
    key_of(
        "SystemTemplate",
        "The system template of a model; only backends without a chat interface use it.",
    ),
    key_of("_hash", "A fingerprint of the script."),
    key_of(
        "_id",
        "The script's id; its file name without `.ai.yaml` by default.",
    ),
    one_of(
        "add_generation_prompt",
        YES_NO,
        "Whether the assistant's turn is started for the model; true by default.",
    ),
    key_of(
        "ask",
        "Tools that need approval: patterns, for calls of the script and of its model.",
    ),
    one_of(
        "autoBuildOutputPrompt",
        YES_NO,
        "Whether the model receives a description of `output`; true by default.",
    ),
    one_of(
        "autoRunLLMIfPromptAvailable",
        YES_NO,
        "Whether the model answers unanswered messages at the end; true by default.",
    ),
    key_of(
        "completion_delimiter",
        "A text that ends an answer; the model is instructed to write it.",
    ),
    key_of("contentType", "The kind of the file: `script`."),
    key_of(
        "description",
        "The purpose of the script, shown to models that can call it as a tool.",
    ),
    one_of(
        "disableLlmRequest",
        YES_NO,
        "Whether the event `llmRequest` is suppressed; false by default.",
    ),
    key_of(
        "export",
        "Names that a package exports to importing scripts.",
    ),
    key_of(
        "extends",
        "Scripts from which this one inherits: an id or a list.",
    ),
    one_of(
        "forceJson",
        YES_NO,
        "Whether an answer must be JSON; by default if both `response_format` and `output` are set.",
    ),
    one_of(
        "formatStringStrategy",
        &["Deferred", "Immediate", "Raw"],
        "When templates are rendered: before a model call, immediately, or never.",
    ),
    key_of(
        "import",
        "Modules and scripts to import functions from: a string, a list, or an object of names.",
    ),
    key_of(
        "input",
        "The inputs of the script: a list of names and objects.",
    ),
    one_of(
        "keepOriginal",
        &["true", "false"],
        "Whether the result includes the original answer: true for `_original`, or a field name.",
    ),
    one_of(
        "keepThinking",
        &["true", "false"],
        "Whether the result includes the thinking: true for `_thinking`, or a field name.",
    ),
    key_of(
        "llmReturnResult",
        "The field of the model's answer that is the result; `.` is the whole answer.",
    ),
    one_of(
        "llmStream",
        YES_NO,
        "Whether answers stream; true by default.",
    ),
    key_of("modelPattern", "Models for which the script was written."),
    key_of("name", "The name of the script or of its character."),
    key_of("on", "Listeners: a list of events and callbacks."),
    key_of("output", "The result: a JSON Schema or its fields."),
    key_of("parameters", "Parameters of the model and of its requests."),
    one_of(
        "parameters.continueOnLengthLimit",
        YES_NO,
        "Whether an answer truncated by its token limit is continued in another call; false by default.",
    ),
    key_of(
        "parameters.extra_body",
        "Fields that are sent to the provider unchanged.",
    ),
    key_of(
        "parameters.frequency_penalty",
        "Penalty for tokens by how often they occurred.",
    ),
    key_of(
        "parameters.idleTimeout",
        "Maximum milliseconds between two events of the model.",
    ),
    key_of("parameters.logit_bias", "Biases of tokens, by token id."),
    key_of(
        "parameters.maxRetry",
        "How often an answer may be continued; 7 by default.",
    ),
    key_of(
        "parameters.maxToolRounds",
        "Maximum turns of tool calls for an answer; 30 by default.",
    ),
    key_of(
        "parameters.max_tokens",
        "Maximum tokens of an answer; 2048 by default.",
    ),
    one_of(
        "parameters.memoized",
        YES_NO,
        "Whether a cached answer may be reused.",
    ),
    key_of(
        "parameters.minTailRepeatCount",
        "How often the end of an answer may repeat before it is cut; 7 by default, 0 disables this.",
    ),
    key_of(
        "parameters.model",
        "The model: `gpt-6-sol`, `openai://gpt-6-sol`.",
    ),
    one_of(
        "parameters.naturalOutput",
        YES_NO,
        "Whether `{{output}}` is prose (the default) or JSON.",
    ),
    key_of(
        "parameters.presence_penalty",
        "Penalty for tokens that occurred at all.",
    ),
    one_of(
        "parameters.reasoning_effort",
        &["minimal", "low", "medium", "high"],
        "The reasoning effort of the model.",
    ),
    key_of(
        "parameters.response_format",
        "The format of the answer, and which part of it is read.",
    ),
    one_of(
        "parameters.response_format.conversionScope",
        &["message", "response"],
        "Whether the whole assistant message is read, or only the answer; the message by default.",
    ),
    one_of(
        "parameters.response_format.type",
        &["text", "json", "json_object", "json_schema", "yaml", "nobj"],
        "The format of the answer; text by default.",
    ),
    key_of("parameters.seed", "The seed of the model's sampling."),
    key_of(
        "parameters.stop_words",
        "Texts that end an answer: a list, or separated by commas.",
    ),
    one_of(
        "parameters.stream",
        YES_NO,
        "Whether answers stream; overrides `llmStream`.",
    ),
    one_of(
        "parameters.strictOutput",
        YES_NO,
        "Whether a result that does not match `output` is an error; false by default.",
    ),
    key_of("parameters.temperature", "Randomness, 0 to 2."),
    key_of(
        "parameters.timeout",
        "Timeout of an answer in milliseconds; 120000 by default.",
    ),
    key_of(
        "parameters.top_p",
        "The probability mass of tokens to sample from, 0 to 1.",
    ),
    key_of(
        "permissions",
        "What the model may call: `ai.call` is a list of patterns, `!` denies.",
    ),
    key_of("permissions.ai", "Permissions of the model."),
    key_of(
        "prompt",
        "Variables of the prompt; they override those of the front matter.",
    ),
    key_of("prompt.messages", "Messages before those of the body."),
    key_of(
        "response_format",
        "The format of the answer, and which part of it is read.",
    ),
    one_of(
        "response_format.conversionScope",
        &["message", "response"],
        "Whether the whole assistant message is read, or only the answer; the message by default.",
    ),
    one_of(
        "response_format.type",
        &["text", "json", "json_object", "json_schema", "yaml", "nobj"],
        "The format of the answer; text by default.",
    ),
    key_of(
        "roles",
        "Participants of a group chat: names and their scripts.",
    ),
    one_of(
        "runSelfBeforeInitModule",
        YES_NO,
        "Whether an imported script runs before its `$initializeModule`; false by default.",
    ),
    one_of(
        "shouldThink",
        &["true", "false", "off", "last", "first", "deep"],
        "Whether and when the model is instructed to think.",
    ),
    key_of(
        "shouldThink.answerRegex",
        "A regular expression that finds the answer, instead of the tag.",
    ),
    key_of(
        "shouldThink.answerTag",
        "The tag of the answer: a heading, or a list of an opening and a closing text.",
    ),
    key_of(
        "shouldThink.depth",
        "Rounds in which the model reviews its own answer, 1 to 16; 1 by default.",
    ),
    one_of(
        "shouldThink.mode",
        &["off", "last", "first", "deep"],
        "When the model thinks.",
    ),
    key_of("shouldThink.steps", "Maximum number of thinking steps."),
    key_of(
        "shouldThink.thinkRegex",
        "A regular expression that finds the thinking, instead of the tag.",
    ),
    key_of(
        "shouldThink.thinkTag",
        "The tag of the thinking: a heading, or a list of an opening and a closing text.",
    ),
    one_of(
        "shouldThink.visible",
        YES_NO,
        "Whether the thinking is streamed.",
    ),
    key_of(
        "stop_words",
        "Texts that end an answer: a list, or separated by commas.",
    ),
    one_of(
        "templateFormat",
        &["hf", "golang", "fstring"],
        "The format of templates; `hf` (Jinja) by default.",
    ),
    key_of("test", "Settings for `quillet test`: `skip`, `only`."),
    key_of("title", "The display name of the script."),
    key_of("tools", "Scripts and tools that the model may call."),
    one_of(
        "type",
        &["script", "char", "lib", "type"],
        "The type of the script, or the script of a type that it inherits from.",
    ),
];

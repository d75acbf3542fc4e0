//! Keys of the front matter that mean something to the engine, and what they take.
//!
//! One table for hovers, completion and the JSON Schema in `schemas/`. Other keys are variables.

/// A key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConfigKey {
    /// Its name, behind those of the keys that it stands in, with dots between.
    pub path: &'static str,
    /// Values to choose from; empty where there is no such choice.
    pub values: &'static [&'static str],
    /// What it is for.
    pub doc: &'static str,
}

/// The key of a path: `["parameters", "temperature"]`.
#[must_use]
pub fn key(path: &[&str]) -> Option<&'static ConfigKey> {
    let path = path.join(".");
    KEYS.iter().find(|key| key.path == path)
}

/// The keys right below a path; those of the front matter itself for an empty one.
pub fn below(path: &[&str]) -> impl Iterator<Item = &'static ConfigKey> {
    let parent = path.join(".");
    KEYS.iter()
        .filter(move |key| match key.path.rsplit_once('.') {
            Some((above, _)) => above == parent,
            None => parent.is_empty(),
        })
}

impl ConfigKey {
    /// Its own name.
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

/// All of them, in alphabetical order.
pub const KEYS: &[ConfigKey] = &[
    key_of(
        "ProtectedStartup",
        "Keys of the front matter that a caller may not set; narrows the usual list.",
    ),
    key_of(
        "SystemNotesTitle",
        "The title of the notes in a structured system message; `Notes:` by default.",
    ),
    key_of(
        "SystemOutputTitle",
        "The title of the output in a structured system message; must have `{{type}}` in it.",
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
        "Whether the assistant's turn is begun for the model; true by default.",
    ),
    key_of(
        "ask",
        "Tools that are not called before somebody has agreed: patterns, of the script's own calls and of its model's.",
    ),
    one_of(
        "autoBuildOutputPrompt",
        YES_NO,
        "Whether the model is told about `output`; true by default.",
    ),
    one_of(
        "autoRunLLMIfPromptAvailable",
        YES_NO,
        "Whether the model is asked at the end where messages were left unanswered; true by default.",
    ),
    key_of(
        "completion_delimiter",
        "A text that ends an answer, and that the model is told of.",
    ),
    key_of("contentType", "What the file is: `script`."),
    key_of(
        "description",
        "What the script does: told to whoever may call it as a tool.",
    ),
    one_of(
        "disableLlmRequest",
        YES_NO,
        "Whether the event `llmRequest` is left out; false by default.",
    ),
    key_of("export", "What a package gives to scripts that import it."),
    key_of(
        "extends",
        "Scripts that this one takes everything over from: an id, or a list.",
    ),
    one_of(
        "forceJson",
        YES_NO,
        "Whether an answer has to be JSON; by default it has to where `response_format` and `output` say so.",
    ),
    one_of(
        "formatStringStrategy",
        &["Deferred", "Immediate", "Raw"],
        "When templates are filled in: when a model is asked, at once, or never.",
    ),
    key_of(
        "import",
        "Modules and scripts whose functions are taken: a text, a list, or an object of names.",
    ),
    key_of(
        "input",
        "What the script takes: a list of names and objects.",
    ),
    one_of(
        "keepOriginal",
        &["true", "false"],
        "Whether the result keeps the model's own words: true for `_original`, or the field's name.",
    ),
    one_of(
        "keepThinking",
        &["true", "false"],
        "Whether the result keeps what the model thought: true for `_thinking`, or the field's name.",
    ),
    key_of(
        "llmReturnResult",
        "Which field of the model's answer is the result; `.` is all of it.",
    ),
    one_of(
        "llmStream",
        YES_NO,
        "Whether answers stream; true by default.",
    ),
    key_of("modelPattern", "Models that the script was made for."),
    key_of(
        "name",
        "The name of the script, or of the character that it plays.",
    ),
    key_of("on", "Listeners: a list of events and what is called."),
    key_of(
        "output",
        "What the result is: a JSON Schema, or its fields.",
    ),
    key_of(
        "parameters",
        "Parameters of the model, and of how it is asked.",
    ),
    one_of(
        "parameters.continueOnLengthLimit",
        YES_NO,
        "Whether an answer that was cut at its length goes on in another call; false by default.",
    ),
    key_of(
        "parameters.extra_body",
        "Fields that are sent to the provider as they are.",
    ),
    key_of(
        "parameters.frequency_penalty",
        "How much words that came often are avoided.",
    ),
    key_of(
        "parameters.idleTimeout",
        "Milliseconds in which nothing may come from the model.",
    ),
    key_of(
        "parameters.logit_bias",
        "Biases of tokens, by their numbers.",
    ),
    key_of(
        "parameters.maxRetry",
        "How often an answer may be continued; 7 by default.",
    ),
    key_of(
        "parameters.maxToolRounds",
        "Turns in which the model may call tools on the way to an answer; 30 by default.",
    ),
    key_of(
        "parameters.max_tokens",
        "Most tokens of an answer; 2048 by default.",
    ),
    one_of(
        "parameters.memoized",
        YES_NO,
        "Whether an answer that was given before may be taken again.",
    ),
    key_of(
        "parameters.minTailRepeatCount",
        "How often an answer's end may repeat before it is cut; 7 by default, 0 is never.",
    ),
    key_of(
        "parameters.model",
        "The model: `gpt-6-sol`, `openai://gpt-6-sol`.",
    ),
    one_of(
        "parameters.naturalOutput",
        YES_NO,
        "Whether `{{output}}` is words; true by default, else JSON.",
    ),
    key_of(
        "parameters.presence_penalty",
        "How much words that came at all are avoided.",
    ),
    one_of(
        "parameters.reasoning_effort",
        &["minimal", "low", "medium", "high"],
        "How much a reasoning model thinks.",
    ),
    key_of(
        "parameters.response_format",
        "How the answer is written, and what of it is read.",
    ),
    one_of(
        "parameters.response_format.conversionScope",
        &["message", "response"],
        "Whether all of the assistant's message is read, or the answer alone; the message by default.",
    ),
    one_of(
        "parameters.response_format.type",
        &["text", "json", "json_object", "json_schema", "yaml", "nobj"],
        "How the answer is written; text by default.",
    ),
    key_of(
        "parameters.seed",
        "Where the model's random choices start from.",
    ),
    key_of(
        "parameters.stop_words",
        "Texts that end an answer: a list, or with commas between.",
    ),
    one_of(
        "parameters.stream",
        YES_NO,
        "Whether answers stream; wins over `llmStream`.",
    ),
    one_of(
        "parameters.strictOutput",
        YES_NO,
        "Whether a result that breaks `output` is an error; false by default.",
    ),
    key_of("parameters.temperature", "Randomness, 0 to 2."),
    key_of(
        "parameters.timeout",
        "Milliseconds for an answer; 120000 by default.",
    ),
    key_of(
        "parameters.top_p",
        "The part of the likeliest words that are chosen from, 0 to 1.",
    ),
    key_of(
        "permissions",
        "What the model may call: `ai.call` is a list of patterns, `!` denies.",
    ),
    key_of("permissions.ai", "What the model itself may do."),
    key_of(
        "prompt",
        "Variables of the prompt; they win over those of the front matter.",
    ),
    key_of("prompt.messages", "Messages before those of the body."),
    key_of(
        "response_format",
        "How the answer is written, and what of it is read.",
    ),
    one_of(
        "response_format.conversionScope",
        &["message", "response"],
        "Whether all of the assistant's message is read, or the answer alone; the message by default.",
    ),
    one_of(
        "response_format.type",
        &["text", "json", "json_object", "json_schema", "yaml", "nobj"],
        "How the answer is written; text by default.",
    ),
    key_of(
        "roles",
        "Who takes part in a group chat: names and their scripts.",
    ),
    one_of(
        "runSelfBeforeInitModule",
        YES_NO,
        "Whether an imported script runs before its `$initializeModule`; false by default.",
    ),
    one_of(
        "shouldThink",
        &["true", "false", "off", "last", "first", "deep"],
        "Whether the model is told to think, and when.",
    ),
    key_of(
        "shouldThink.answerRegex",
        "What finds the answer, in place of the tag.",
    ),
    key_of(
        "shouldThink.answerTag",
        "What marks the answer: a heading, or a list of what begins and what ends it.",
    ),
    key_of(
        "shouldThink.depth",
        "Rounds in which the model looks at its own answer again, 1 to 16; 1 by default.",
    ),
    one_of(
        "shouldThink.mode",
        &["off", "last", "first", "deep"],
        "When the model thinks.",
    ),
    key_of("shouldThink.steps", "Most steps that it is asked for."),
    key_of(
        "shouldThink.thinkRegex",
        "What finds the thinking, in place of the tag.",
    ),
    key_of(
        "shouldThink.thinkTag",
        "What marks the thinking: a heading, or a list of what begins and what ends it.",
    ),
    one_of(
        "shouldThink.visible",
        YES_NO,
        "Whether the thinking is shown while it comes.",
    ),
    key_of(
        "stop_words",
        "Texts that end an answer: a list, or with commas between.",
    ),
    one_of(
        "templateFormat",
        &["hf", "golang", "fstring"],
        "The format of templates; `hf` (Jinja) by default.",
    ),
    key_of("test", "Settings for `quillet test`: `skip`, `only`."),
    key_of("title", "What the script is called where it is shown."),
    key_of("tools", "Scripts and tools that the model may call."),
    one_of(
        "type",
        &["script", "char", "lib", "type"],
        "What the script is, or the script of a type that it inherits from.",
    ),
];

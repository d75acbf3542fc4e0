//! Agents as they are stored (`Kind::Agent`): a JSON or YAML object of a model,
//! instructions, tools, skills and limits. Names of fields are in camelCase or in
//! snake_case.
//!
//! ```yaml
//! description: Answers questions about orders
//! model: gpt-6-sol
//! instructions: You are the support of a shop.
//! tools: ["orders_*", "!orders_delete"]
//! skills: [refunds, {name: shipping, preload: true}]
//! limits: {maxToolCalls: 8, toolTimeout: 20}
//! budget: {runUsd: 0.20, dayUsd: 5}
//! options: {temperature: 0.2}
//! features: {webSearch: true}
//! ```

mod fields;
mod unknown_names;

use std::time::Duration;

use quillet_core::budget::BudgetLimits;
use quillet_core::chat::ChatOptions;
use quillet_core::{Diagnostic, Span, nearest};
use quillet_yaml::{Node, NodeData, Options};
use serde_json::{Map, Value as Json, json};

use crate::{Permissions, RunLimits};
use fields::{DefinitionDiagnostics, ObjectFields};

pub use unknown_names::KnownNames;

const FIELDS: &[&str] = &[
    "name",
    "description",
    "metadata",
    "model",
    "modelType",
    "apiFormat",
    "contextWindow",
    "maxOutputTokens",
    "system",
    "instructions",
    "prompt",
    "variables",
    "tools",
    "ask",
    "mcpServers",
    "skills",
    "limits",
    "budget",
    "options",
    "modelSettings",
    "features",
];
const LIMITS: &[&str] = &[
    "maxToolCalls",
    "maxConcurrentCalls",
    "toolTimeout",
    "toolTimeoutSeconds",
    "runTimeout",
    "runTimeoutSeconds",
    "resultTokens",
    "repeatedCalls",
    "attachmentCharacters",
];
const BUDGET: &[&str] = &["dayUsd", "dayTokens", "runUsd", "runTokens", "runS"];
const SKILL: &[&str] = &["name", "preload"];
const FEATURES: &[&str] = &[
    "deepThinking",
    "clarification",
    "webSearch",
    "searchEngine",
    "silentExit",
    "messageCompression",
    "summarize",
];
/// Options under the names that the wire has for them; all others go as they are.
const OPTIONS: &[(&str, &str)] = &[
    ("topP", "top_p"),
    ("maxTokens", "max_tokens"),
    ("frequencyPenalty", "frequency_penalty"),
    ("presencePenalty", "presence_penalty"),
    ("toolChoice", "tool_choice"),
    ("parallelToolCalls", "parallel_tool_calls"),
    ("responseFormat", "response_format"),
    ("reasoningEffort", "reasoning_effort"),
];

/// Options that bound what is called: what is nearly one of them is not passed on as another.
const CALLING: [&str; 2] = ["toolChoice", "parallelToolCalls"];

/// An agent as it is stored. It holds no keys: those are the configuration's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentDefinition {
    /// What it is for, for people and lists of models.
    pub description: Option<String>,
    /// The model's name; the configured one where `None`.
    pub model: Option<String>,
    /// The provider: `openai`, `gpt`, `claude`, `anthropic`, `google`, `gemini`; a guess by
    /// the model's name where `None`.
    pub model_type: Option<String>,
    /// `chat`, or `responses` for OpenAI's Responses.
    pub api_format: Option<String>,
    /// Tokens of a request and its answer together, where the model is not known.
    pub context_window: Option<u64>,
    /// Most tokens of an answer.
    pub max_output_tokens: Option<u64>,
    /// Where its instructions are from.
    pub instructions: Instructions,
    /// Tools of the catalogue that it may call. None where the field is missing.
    pub tools: Permissions,
    /// Of these, and of tools of MCP servers and skills, those that are not called before a person
    /// has agreed. None where the field is missing.
    pub ask: Permissions,
    /// MCP servers whose tools it may call, as they are written: a list of objects with a
    /// `name`, or an object of names. `null` if there are none.
    pub mcp_servers: Json,
    /// Skills that it may load.
    pub skills: Vec<SkillChoice>,
    /// Bounds that it sets.
    pub limits: LimitSettings,
    /// What its runs may spend, and all of them in a day.
    pub budget: BudgetLimits,
    /// How its model is to answer.
    pub options: ChatOptions,
    /// What is switched on.
    pub features: FeatureSettings,
    /// What its author noted; nobody reads it.
    pub metadata: Json,
}

/// The instructions of an agent: a text, or a stored prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Instructions {
    /// It has none.
    #[default]
    None,
    /// They are written here (`instructions`, or `system`).
    Text(String),
    /// A stored prompt is rendered.
    Prompt {
        /// Id of the prompt.
        id: String,
        /// Variables for it; those of a request win.
        variables: Map<String, Json>,
    },
}

/// A skill that an agent may load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillChoice {
    /// Its name.
    pub name: String,
    /// Whether it is loaded from the start.
    pub preload: bool,
}

/// Bounds that an agent sets; what is `None` stays as it is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitSettings {
    /// Turns that call tools.
    pub max_tool_calls: Option<u32>,
    /// Calls at the same time.
    pub max_concurrent_calls: Option<usize>,
    /// One call.
    pub tool_timeout: Option<Duration>,
    /// The whole run.
    pub run_timeout: Option<Duration>,
    /// Tokens of a result that the model reads.
    pub result_tokens: Option<u64>,
    /// Equal calls in a row; 0 is no limit.
    pub repeated_calls: Option<u32>,
    /// Characters of each attachment.
    pub attachment_characters: Option<usize>,
}

impl LimitSettings {
    /// The limits of a run: those that are configured, as far as the agent sets no others.
    #[must_use]
    pub fn over(&self, configured: RunLimits) -> RunLimits {
        RunLimits {
            tool_rounds: self.max_tool_calls.unwrap_or(configured.tool_rounds),
            concurrent_calls: self
                .max_concurrent_calls
                .unwrap_or(configured.concurrent_calls),
            call_time: self.tool_timeout.unwrap_or(configured.call_time),
            run_time: self.run_timeout.unwrap_or(configured.run_time),
            result_tokens: self.result_tokens.unwrap_or(configured.result_tokens),
            repeated_calls: self.repeated_calls.unwrap_or(configured.repeated_calls),
            attachment_characters: self
                .attachment_characters
                .unwrap_or(configured.attachment_characters),
            ..configured
        }
    }
}

/// Switches of an agent; what is `None` stays as it is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureSettings {
    /// The model is told to think thoroughly, and what time it is.
    pub deep_thinking: Option<bool>,
    /// The model is told to ask back where something is unclear.
    pub clarification: Option<bool>,
    /// The model may search the web.
    pub web_search: Option<bool>,
    /// The configured engine to search with.
    pub search_engine: Option<String>,
    /// The model may end a run without a word.
    pub silent_exit: Option<bool>,
    /// A conversation that does not fit is cut.
    pub message_compression: Option<bool>,
    /// The model writes a summary of what is cut out.
    pub summarize: Option<bool>,
}

impl AgentDefinition {
    /// Every field that a definition may have, in camelCase; those of objects after their object:
    /// `limits.toolTimeout`.
    #[must_use]
    pub fn field_names() -> Vec<String> {
        let inner = [
            ("limits", LIMITS),
            ("budget", BUDGET),
            ("features", FEATURES),
            ("skills", SKILL),
        ];
        let inner = inner.into_iter().flat_map(|(object, fields)| {
            fields.iter().map(move |field| format!("{object}.{field}"))
        });
        // `limits`, `budget` and `features` are nothing but their fields.
        let outer = FIELDS
            .iter()
            .filter(|field| !matches!(**field, "limits" | "budget" | "features"));
        outer
            .map(|field| (*field).to_owned())
            .chain(inner)
            .collect()
    }

    /// Reads a definition. `source` is its name in findings.
    ///
    /// # Errors
    /// Everything that is wrong with it, each with its place.
    pub fn parse(source: &str, text: &str) -> Result<Self, Vec<Diagnostic>> {
        let root = tree(source, text)?;
        let mut found = DefinitionDiagnostics::new(source, text);
        let fields = ObjectFields::of(&root, "", Some(FIELDS), &mut found);
        let definition = AgentDefinition {
            description: fields.text("description", &mut found),
            model: fields.text("model", &mut found),
            model_type: fields.text("modelType", &mut found),
            api_format: api_format(&fields, &mut found),
            context_window: fields.count("contextWindow", 1, &mut found),
            max_output_tokens: fields.count("maxOutputTokens", 1, &mut found),
            instructions: instructions(&fields, &mut found),
            tools: permissions("tools", &fields, &mut found),
            ask: permissions("ask", &fields, &mut found),
            mcp_servers: mcp_servers(&fields, &mut found),
            skills: skills(&fields, &mut found),
            limits: limits(&fields, &mut found),
            budget: budget(&fields, &mut found),
            options: options(&fields, &mut found),
            features: features(&fields, &mut found),
            metadata: fields.get("metadata").map(json).unwrap_or_default(),
        };
        fields.text("name", &mut found);
        found.over(definition)
    }
}

/// The tree of a text in YAML, and so in JSON.
fn tree(source: &str, text: &str) -> Result<Node, Vec<Diagnostic>> {
    let options = Options {
        code: "agent.syntax",
        ..Options::default()
    };
    let whole = Span {
        start: 0,
        end: text.len(),
    };
    let (node, findings) = quillet_yaml::parse(source, text, whole, &options);
    if findings.is_empty() {
        Ok(node.unwrap_or_else(|| Node::nothing(whole)))
    } else {
        Err(findings)
    }
}

fn json(node: &Node) -> Json {
    Json::from(&node.value())
}

fn api_format(fields: &ObjectFields<'_>, found: &mut DefinitionDiagnostics<'_>) -> Option<String> {
    let format = fields.text("apiFormat", found)?;
    if !matches!(format.as_str(), "chat" | "responses") {
        let at = fields.get("apiFormat").map_or(0, |node| node.span.start);
        let help = "it is `chat` or `responses`".to_owned();
        found.add(
            at,
            format!("apiFormat: unknown format {format:?}"),
            Some(help),
        );
    }
    Some(format)
}

fn instructions(fields: &ObjectFields<'_>, found: &mut DefinitionDiagnostics<'_>) -> Instructions {
    let given = ["instructions", "system", "prompt"];
    let mut given = given
        .iter()
        .filter_map(|name| Some((*name, fields.get(name)?)));
    if let (Some((first, _)), Some((second, node))) = (given.next(), given.next()) {
        let help = "`instructions` and `system` are the same, and `prompt` stands in their place";
        let message = format!("{second}: {first} is given, too");
        found.add(node.span.start, message, Some(help.to_owned()));
    }
    let variables = match fields.get("variables").map(|node| (node, json(node))) {
        None => Map::new(),
        Some((_, Json::Object(variables))) => variables,
        Some((node, _)) => fields
            .expected("an object", "variables", node, found)
            .unwrap_or_default(),
    };
    let text = fields.text("instructions", found);
    let text = text.or_else(|| fields.text("system", found));
    match (text, fields.text("prompt", found)) {
        (Some(text), _) => Instructions::Text(text),
        (None, Some(id)) => Instructions::Prompt { id, variables },
        (None, None) => Instructions::None,
    }
}

fn permissions(
    field: &str,
    fields: &ObjectFields<'_>,
    found: &mut DefinitionDiagnostics<'_>,
) -> Permissions {
    let mut patterns = Vec::new();
    let nodes = fields.list(field);
    for node in &nodes {
        match node.as_str() {
            Some(pattern) => patterns.push(pattern),
            None => {
                fields.expected::<()>("patterns such as `search` or `!w*`", field, node, found);
                return Permissions::default();
            }
        }
    }
    Permissions::parse(&patterns).unwrap_or_else(|error| {
        let place = error.index().and_then(|index| nodes.get(index));
        let at = place.or(nodes.first()).map_or(0, |node| node.span.start);
        found.add(at, format!("{field}: {error}"), None);
        Permissions::default()
    })
}

/// Whoever connects to them reads what is in them.
fn mcp_servers(fields: &ObjectFields<'_>, found: &mut DefinitionDiagnostics<'_>) -> Json {
    match fields.get("mcpServers") {
        None => Json::Null,
        Some(node) => match &node.data {
            NodeData::Scalar(_) => fields
                .expected("a list or an object of servers", "mcpServers", node, found)
                .unwrap_or_default(),
            NodeData::List(_) | NodeData::Map(_) => json(node),
        },
    }
}

fn skills(fields: &ObjectFields<'_>, found: &mut DefinitionDiagnostics<'_>) -> Vec<SkillChoice> {
    let nodes = fields.list("skills");
    nodes
        .into_iter()
        .filter_map(|node| skill(fields, node, found))
        .collect()
}

fn skill(
    fields: &ObjectFields<'_>,
    node: &Node,
    found: &mut DefinitionDiagnostics<'_>,
) -> Option<SkillChoice> {
    if let Some(name) = node.as_str() {
        return Some(SkillChoice {
            name: name.to_owned(),
            preload: false,
        });
    }
    match &node.data {
        NodeData::Map(_) => {
            let skill = ObjectFields::of(node, "skills.", Some(SKILL), found);
            let preload = skill.flag("preload", found).unwrap_or_default();
            match skill.text("name", found) {
                Some(name) => Some(SkillChoice { name, preload }),
                None => fields.expected("a `name`", "skills", node, found),
            }
        }
        _ => fields.expected("the name of a skill", "skills", node, found),
    }
}

fn limits(fields: &ObjectFields<'_>, found: &mut DefinitionDiagnostics<'_>) -> LimitSettings {
    let Some(node) = fields.get("limits") else {
        return LimitSettings::default();
    };
    let limits = ObjectFields::of(node, "limits.", Some(LIMITS), found);
    let tool_timeout = limits.seconds("toolTimeout", found);
    let run_timeout = limits.seconds("runTimeout", found);
    LimitSettings {
        max_tool_calls: limits.count("maxToolCalls", 0, found).map(saturated),
        max_concurrent_calls: limits.count("maxConcurrentCalls", 1, found).map(sized),
        tool_timeout: tool_timeout.or_else(|| limits.seconds("toolTimeoutSeconds", found)),
        run_timeout: run_timeout.or_else(|| limits.seconds("runTimeoutSeconds", found)),
        result_tokens: limits.count("resultTokens", 1, found),
        repeated_calls: limits.count("repeatedCalls", 0, found).map(saturated),
        attachment_characters: limits.count("attachmentCharacters", 1, found).map(sized),
    }
}

fn budget(fields: &ObjectFields<'_>, found: &mut DefinitionDiagnostics<'_>) -> BudgetLimits {
    let mut limits = BudgetLimits::default();
    let Some(node) = fields.get("budget") else {
        return limits;
    };
    let given = ObjectFields::of(node, "budget.", Some(BUDGET), found);
    for (camel, name) in
        BUDGET
            .iter()
            .zip(["day_usd", "day_tokens", "run_usd", "run_tokens", "run_s"])
    {
        let Some(node) = given.get(camel) else {
            continue;
        };
        let number = json(node).as_f64();
        let set = number.map(|number| limits.set(name, number));
        let wrong = match set {
            Some(Ok(())) => continue,
            Some(Err(error)) => format!("budget.{camel}: {error}"),
            None => format!("budget.{camel}: it must be a number"),
        };
        found.add(node.span.start, wrong, None);
    }
    limits
}

fn saturated(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn sized(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

/// Each option by itself, so that what is wrong with one has its place.
fn options(fields: &ObjectFields<'_>, found: &mut DefinitionDiagnostics<'_>) -> ChatOptions {
    let mut options = ChatOptions::default();
    for name in ["options", "modelSettings"] {
        let Some(node) = fields.get(name) else {
            continue;
        };
        for (camel, entry) in ObjectFields::of(node, "options.", None, found).iter() {
            let known = OPTIONS.iter().find(|(other, _)| *other == camel);
            if let Some(near) = nearest(camel, CALLING).filter(|_| !CALLING.contains(&camel)) {
                let message = format!("options: unknown field {:?}", entry.name());
                found.add(
                    entry.key.span.start,
                    message,
                    Some(format!("did you mean {near}?")),
                );
                continue;
            }
            let key = known.map_or(entry.name(), |(_, key)| key);
            match serde_json::from_value::<ChatOptions>(json!({key: json(&entry.value)})) {
                Ok(option) => options = option.over(options),
                Err(error) => found.add(
                    entry.value.span.start,
                    format!("options.{key}: {error}"),
                    None,
                ),
            }
        }
    }
    options
}

fn features(fields: &ObjectFields<'_>, found: &mut DefinitionDiagnostics<'_>) -> FeatureSettings {
    let Some(node) = fields.get("features") else {
        return FeatureSettings::default();
    };
    let features = ObjectFields::of(node, "features.", Some(FEATURES), found);
    FeatureSettings {
        deep_thinking: features.flag("deepThinking", found),
        clarification: features.flag("clarification", found),
        web_search: features.flag("webSearch", found),
        search_engine: features.text("searchEngine", found),
        silent_exit: features.flag("silentExit", found),
        message_compression: features.flag("messageCompression", found),
        summarize: features.flag("summarize", found),
    }
}

//! Stored agents (`Kind::Agent`): a JSON or YAML object with model, instructions, tools, skills and
//! limits. Field names are camelCase or snake_case.
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
/// Names of options that are different in provider requests.
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

/// Options that restrict tool calls. A misspelling of one of them is an error instead of being
/// passed through.
const CALLING: [&str; 2] = ["toolChoice", "parallelToolCalls"];

/// A stored agent. It contains no API keys, which belong to the configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AgentDefinition {
    /// Description, for people and model lists.
    pub description: Option<String>,
    /// Name of the model; the configured default if `None`.
    pub model: Option<String>,
    /// The provider: `openai`, `gpt`, `claude`, `anthropic`, `google`, `gemini`; derived from the
    /// model's name if `None`.
    pub model_type: Option<String>,
    /// `chat`, or `responses` for OpenAI's Responses API.
    pub api_format: Option<String>,
    /// Context window in tokens, for unknown models.
    pub context_window: Option<u64>,
    /// Maximum number of output tokens.
    pub max_output_tokens: Option<u64>,
    /// Source of its instructions.
    pub instructions: Instructions,
    /// Patterns of stored tools that the agent may call. No tools are allowed if the field is
    /// missing.
    pub tools: Permissions,
    /// Patterns of tools whose calls need approval, including tools of MCP servers and skills. No
    /// tools need approval if the field is missing.
    pub ask: Permissions,
    /// MCP servers of the agent, unvalidated: a list of objects with a `name`, or an object by
    /// name. `null` if there are none.
    pub mcp_servers: Json,
    /// Skills of the agent.
    pub skills: Vec<SkillChoice>,
    /// Limits of its runs.
    pub limits: LimitSettings,
    /// Budgets of a run and of a day.
    pub budget: BudgetLimits,
    /// Generation parameters.
    pub options: ChatOptions,
    /// Feature switches.
    pub features: FeatureSettings,
    /// Notes of its author; ignored.
    pub metadata: Json,
}

/// Instructions of an agent: text, or a stored prompt.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Instructions {
    /// None.
    #[default]
    None,
    /// Text in the definition (`instructions`, or `system`).
    Text(String),
    /// Stored prompt to render.
    Prompt {
        /// Id of the prompt.
        id: String,
        /// Variables of the prompt. Those of a request take precedence.
        variables: Map<String, Json>,
    },
}

/// Skill of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkillChoice {
    /// Its name.
    pub name: String,
    /// Whether it is loaded from the start.
    pub preload: bool,
}

/// Limits that an agent sets; `None` keeps the configured value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LimitSettings {
    /// Maximum number of turns with tool calls.
    pub max_tool_calls: Option<u32>,
    /// Maximum number of concurrent calls.
    pub max_concurrent_calls: Option<usize>,
    /// Timeout of one call.
    pub tool_timeout: Option<Duration>,
    /// Timeout of the run.
    pub run_timeout: Option<Duration>,
    /// Maximum tokens of a result that the model reads.
    pub result_tokens: Option<u64>,
    /// Maximum number of equal consecutive calls; 0 means no limit.
    pub repeated_calls: Option<u32>,
    /// Maximum characters of each attachment.
    pub attachment_characters: Option<usize>,
}

impl LimitSettings {
    /// Merges the agent's limits into the configured ones.
    ///
    /// ```
    /// use quillet_agent::RunLimits;
    /// use quillet_agent::definition::LimitSettings;
    ///
    /// let agent = LimitSettings {
    ///     max_tool_calls: Some(8),
    ///     ..LimitSettings::default()
    /// };
    /// let limits = agent.merge_into(RunLimits::default());
    /// assert_eq!(limits.tool_rounds, 8);
    /// assert_eq!(limits.concurrent_calls, 16);
    /// ```
    #[must_use]
    pub fn merge_into(&self, configured: RunLimits) -> RunLimits {
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

/// Feature switches of an agent; `None` keeps the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FeatureSettings {
    /// Instructs the model to think thoroughly, and adds the current time to the user's message.
    pub deep_thinking: Option<bool>,
    /// Lets the model ask the user for clarification.
    pub clarification: Option<bool>,
    /// Lets the model search the web.
    pub web_search: Option<bool>,
    /// The search engine.
    pub search_engine: Option<String>,
    /// Lets the model end a run silently.
    pub silent_exit: Option<bool>,
    /// Compacts a conversation that does not fit.
    pub message_compression: Option<bool>,
    /// Summarizes removed messages.
    pub summarize: Option<bool>,
}

impl AgentDefinition {
    /// Parses a definition. `source` is its name in diagnostics.
    ///
    /// # Errors
    /// All errors of the definition, with their locations.
    ///
    /// # Examples
    /// ```
    /// use quillet_agent::AgentDefinition;
    ///
    /// let text = "tools: [\"orders_*\"]\nlimits: {maxToolCalls: 8}";
    /// let agent = AgentDefinition::parse("support", text).unwrap();
    /// assert!(agent.tools.allows("orders_list"));
    /// assert_eq!(agent.limits.max_tool_calls, Some(8));
    /// ```
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
        // The name comes from the caller and not from the definition, so only its type is checked.
        fields.text("name", &mut found);
        found.finish(definition)
    }
}

/// Parses a text as YAML, which includes JSON.
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
        let help = "use `chat` or `responses`".to_owned();
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
        let help = "`instructions` and `system` are the same field, and `prompt` replaces them: \
            keep one";
        let message = format!("{second}: cannot be combined with {first}");
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

/// Only checks the type. The code that connects to the servers validates their settings.
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
        // 0 is valid: the model then has a single turn, which cannot call tools.
        max_tool_calls: limits.count("maxToolCalls", 0, found).map(saturated),
        max_concurrent_calls: limits.count("maxConcurrentCalls", 1, found).map(sized),
        // Long field names are accepted too, but the short ones take precedence.
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
            None => format!("budget.{camel}: expected a number"),
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

/// Options are read one by one, so that each error has the location of its option.
fn options(fields: &ObjectFields<'_>, found: &mut DefinitionDiagnostics<'_>) -> ChatOptions {
    let mut options = ChatOptions::default();
    for name in ["options", "modelSettings"] {
        let Some(node) = fields.get(name) else {
            continue;
        };
        for (camel, entry) in ObjectFields::of(node, "options.", None, found).iter() {
            let known = OPTIONS.iter().find(|(other, _)| *other == camel);
            // Unknown options are passed to the provider, so a misspelled restriction would have no
            // effect.
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
                Ok(option) => options = option.or_defaults(options),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_agents_has_every_field_and_no_other() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/agent/agents.md");
        let page = std::fs::read_to_string(page).unwrap();
        let rows = page.lines().filter(|line| line.starts_with("| `"));
        let listed = rows.flat_map(|row| row.split('|').nth(1).unwrap_or_default().split(','));
        let mut listed: Vec<String> = listed
            .map(|name| name.trim().trim_matches('`').to_owned())
            .collect();
        // `limits`, `budget` and `features` only contain other fields.
        let outer = FIELDS.iter().map(|field| (*field).to_owned());
        let outer = outer.filter(|it| !matches!(it.as_str(), "limits" | "budget" | "features"));
        let inner = [
            ("limits", LIMITS),
            ("budget", BUDGET),
            ("features", FEATURES),
            ("skills", SKILL),
        ];
        let inner = inner.into_iter().flat_map(|(object, fields)| {
            fields.iter().map(move |field| format!("{object}.{field}"))
        });
        let mut fields: Vec<String> = outer.chain(inner).collect();
        listed.sort();
        fields.sort();
        assert_eq!(listed, fields);
    }
}

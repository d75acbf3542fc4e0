//! The file format of a case: scripts, a scripted model, and the expected result.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Deserializer};
use serde_json::{Map as Object, Value as Json};

/// One case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// Unique across all files.
    pub(crate) id: String,
    /// Source of the expected behaviour: `both`, `spec` or `reference` in third-party files.
    #[serde(default)]
    pub(crate) basis: String,
    /// Origin of the case.
    #[serde(default, rename = "origin")]
    _origin: String,
    /// A note for readers.
    #[serde(default, rename = "note")]
    _note: String,
    /// Result of the reference implementation.
    #[serde(default, rename = "reference")]
    _reference: Json,
    /// Feature numbers of the language reference that it tests.
    #[serde(default)]
    pub(crate) features: Vec<u32>,
    /// Files by name, which are written to an empty folder.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, File>,
    /// The script to run.
    #[serde(default)]
    pub(crate) run: Option<String>,
    /// The script to parse without running it.
    #[serde(default)]
    pub(crate) read: Option<String>,
    /// Arguments: an object for named inputs, a text for the input with index 0.
    #[serde(default)]
    pub(crate) args: Option<Json>,
    /// Rules of the model in order. A rule can be used any number of times.
    #[serde(default)]
    pub(crate) llm: Vec<Rule>,
    /// Capabilities of the model. Default: none.
    #[serde(default)]
    pub(crate) abilities: Abilities,
    /// External tools.
    #[serde(default)]
    pub(crate) tools: BTreeMap<String, ToolCase>,
    /// Permissions of the script.
    #[serde(default)]
    pub(crate) grants: GrantCase,
    /// Limits that differ from the defaults.
    #[serde(default)]
    pub(crate) limits: LimitCase,
    /// Model parameters from the caller.
    #[serde(default)]
    pub(crate) parameters: Object<String, Json>,
    /// Turns of an earlier conversation.
    #[serde(default)]
    pub(crate) history: Vec<TurnCase>,
    /// Seed of random choices.
    #[serde(default)]
    pub(crate) seed: Option<u64>,
    /// Whether it is a dry run.
    #[serde(default)]
    pub(crate) dry: bool,
    /// Whether only the streamed run is checked, for effects that only streaming has.
    #[serde(default)]
    pub(crate) streamed_only: bool,
    /// The expected result. Only the given fields are checked.
    #[serde(default)]
    pub(crate) expect: Expect,
}

/// The content of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum File {
    Text(String),
    /// Lines, each followed by a newline.
    Lines(Vec<String>),
    Bytes {
        base64: String,
    },
}

/// The model's answer to conversations that match a pattern.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    #[serde(rename = "match")]
    pub(crate) pattern: String,
    #[serde(default)]
    pub(crate) reply: String,
    #[serde(default)]
    pub(crate) finish: Option<String>,
    /// Its thinking, in the provider's own field.
    #[serde(default)]
    pub(crate) thinking: String,
    /// Its tool calls: `{name, arguments}`.
    #[serde(default)]
    pub(crate) tool_calls: Vec<CallCase>,
    /// Fails with this error code before any output.
    #[serde(default)]
    pub(crate) fails: Option<String>,
    /// Whether the connection is closed after the reply.
    #[serde(default)]
    pub(crate) cut: bool,
    /// Whether the stream stays open without further output after the reply.
    #[serde(default)]
    pub(crate) hangs: bool,
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct CallCase {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) arguments: Json,
}

/// Capabilities of the model.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Abilities {
    pub(crate) tools: bool,
    pub(crate) json_schema: bool,
    pub(crate) json_object: bool,
    pub(crate) logit_bias: bool,
    pub(crate) continues: bool,
}

/// An external tool with a constant result.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ToolCase {
    #[serde(default)]
    pub(crate) description: String,
    #[serde(default)]
    pub(crate) parameters: Json,
    #[serde(default)]
    pub(crate) reply: Json,
    #[serde(default)]
    pub(crate) fails: Option<String>,
}

/// Permissions. Folders are relative to the folder of the case.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GrantCase {
    pub(crate) read: Vec<String>,
    pub(crate) write: Vec<String>,
    pub(crate) net: bool,
    pub(crate) run: bool,
    pub(crate) env: Vec<String>,
}

/// Limits by their names in the engine. Times are in milliseconds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitCase {
    pub(crate) steps: Option<u64>,
    pub(crate) depth: Option<usize>,
    pub(crate) model_calls: Option<u64>,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost: Option<f64>,
    /// Price of the model in US dollars per million tokens. `None` if unknown.
    pub(crate) price: Option<f64>,
    pub(crate) messages: Option<usize>,
    pub(crate) bytes: Option<usize>,
    pub(crate) js_time: Option<u64>,
    pub(crate) js_memory: Option<usize>,
}

/// A message of a conversation.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct TurnCase {
    pub(crate) role: String,
    pub(crate) content: String,
    #[serde(default)]
    pub(crate) name: Option<String>,
    #[serde(default)]
    pub(crate) to: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) thinking: Option<String>,
}

/// The expected result of a case. Requests are numbered from 0.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Expect {
    #[serde(deserialize_with = "present")]
    pub(crate) result: Option<Json>,
    pub(crate) result_in: Vec<Json>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) result_contains: Vec<String>,
    #[serde(deserialize_with = "one_or_many")]
    pub(crate) result_excludes: Vec<String>,
    pub(crate) error: bool,
    /// The stable code of the error.
    pub(crate) error_code: Option<String>,
    /// Parts of the formatted diagnostics: `file:line:column: message (help)`.
    pub(crate) error_contains: Vec<String>,
    pub(crate) stdout_contains: Vec<String>,
    pub(crate) stdout_excludes: Vec<String>,
    /// All printed lines.
    pub(crate) stdout: Option<Vec<String>>,
    pub(crate) request_count: Option<usize>,
    pub(crate) requests: Vec<Vec<TurnCase>>,
    pub(crate) request_contains: BTreeMap<usize, Vec<String>>,
    pub(crate) request_excludes: BTreeMap<usize, Vec<String>>,
    pub(crate) request_options: BTreeMap<usize, Object<String, Json>>,
    /// Options that a request must not contain.
    pub(crate) request_without: BTreeMap<usize, Vec<String>>,
    /// The offered tools: names, or objects with required fields of their descriptions.
    pub(crate) request_tools: BTreeMap<usize, Vec<Json>>,
    pub(crate) request_models: BTreeMap<usize, String>,
    /// The `name` of each message of a request.
    pub(crate) request_names: BTreeMap<usize, Vec<Option<String>>>,
    /// How constraints were enforced. Each object contains the required fields.
    pub(crate) enforced: Option<Vec<Json>>,
    pub(crate) warnings_contains: Vec<String>,
    pub(crate) warning_count: Option<usize>,
    /// The dialogue at the end. Only the given fields of a message are checked.
    pub(crate) messages: Option<Vec<TurnCase>>,
    /// Messages that observers received.
    pub(crate) said: Option<Vec<TurnCase>>,
    /// Number of rendered requests, whether or not they were sent.
    pub(crate) rendered: Option<usize>,
    /// Number of messages in the hidden prefix.
    pub(crate) prefix: Option<usize>,
    pub(crate) hidden: Option<Object<String, Json>>,
    pub(crate) tool_calls: Option<Vec<CallCase>>,
    pub(crate) thinking: Option<String>,
    /// Part of the partial result of a failed run.
    pub(crate) partial_contains: Option<String>,
    /// Number of top-level items, for scripts that are only parsed.
    pub(crate) items: Option<usize>,
}

/// Reads an explicit `null` as an expectation, unlike a missing field.
fn present<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<Json>, D::Error> {
    Json::deserialize(reader).map(Some)
}

fn one_or_many<'de, D: Deserializer<'de>>(reader: D) -> Result<Vec<String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Texts {
        One(String),
        Many(Vec<String>),
    }
    Ok(match Texts::deserialize(reader)? {
        Texts::One(text) => vec![text],
        Texts::Many(texts) => texts,
    })
}

/// Loads a file of cases, or a list of blocks that only need to be parsed.
pub(crate) fn load(path: &Path) -> Result<Vec<Case>, String> {
    let place = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{place}: {error}"))?;
    let items: Vec<Json> =
        serde_json::from_str(&text).map_err(|error| format!("{place}: {error}"))?;
    let case = |item: Json| match item.get("must_parse") {
        Some(_) => Ok(block(&item)),
        None => {
            let id = item["id"]
                .as_str()
                .unwrap_or("a case without id")
                .to_owned();
            serde_json::from_value(item).map_err(|error| format!("{place}: {id}: {error}"))
        }
    };
    items.into_iter().map(case).collect()
}

/// Creates a case for a block that must be parsed, with the number of its items.
fn block(item: &Json) -> Case {
    let line = item["line"].as_u64().unwrap_or_default();
    let must = item["must_parse"].as_bool().unwrap_or_default();
    let text = item["text"].as_str().unwrap_or_default().to_owned();
    let json = serde_json::json!({
        "id": format!("block-{line}"),
        "basis": if must { "both" } else { "reference" },
        "files": {"block.ai.yaml": text},
        "read": "block.ai.yaml",
        "expect": if must { serde_json::json!({"items": item["top_level_items"]}) } else { serde_json::json!({}) },
    });
    serde_json::from_value(json).expect("the object above is a case")
}

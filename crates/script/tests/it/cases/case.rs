//! A case as its file has it: scripts, a scripted model, and what must come of it.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Deserializer};
use serde_json::{Map as Object, Value as Json};

/// One case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Case {
    /// Unique in all files.
    pub(crate) id: String,
    /// Whose word it is: `both`, `spec` or `reference` in third-party files.
    #[serde(default)]
    pub(crate) basis: String,
    /// Where it was taken from.
    #[serde(default, rename = "origin")]
    _origin: String,
    /// What a reader should know.
    #[serde(default, rename = "note")]
    _note: String,
    /// What another engine made of it.
    #[serde(default, rename = "reference")]
    _reference: Json,
    /// Numbers of the language reference that it holds.
    #[serde(default)]
    pub(crate) features: Vec<u32>,
    /// Files by name, written into an empty folder.
    #[serde(default)]
    pub(crate) files: BTreeMap<String, File>,
    /// The script that is run.
    #[serde(default)]
    pub(crate) run: Option<String>,
    /// The script that is only read.
    #[serde(default)]
    pub(crate) read: Option<String>,
    /// An object is named inputs, text the input of index 0.
    #[serde(default)]
    pub(crate) args: Option<Json>,
    /// Rules of the model, in order; none is used up.
    #[serde(default)]
    pub(crate) llm: Vec<Rule>,
    /// What the model can do itself; nothing by default.
    #[serde(default)]
    pub(crate) abilities: Abilities,
    /// Tools from outside of the scripts.
    #[serde(default)]
    pub(crate) tools: BTreeMap<String, ToolCase>,
    /// What the script may do outside of itself.
    #[serde(default)]
    pub(crate) grants: GrantCase,
    /// Limits that differ from the defaults.
    #[serde(default)]
    pub(crate) limits: LimitCase,
    /// Parameters of models from the caller.
    #[serde(default)]
    pub(crate) parameters: Object<String, Json>,
    /// Turns of an earlier conversation.
    #[serde(default)]
    pub(crate) history: Vec<TurnCase>,
    /// Where random choices start from.
    #[serde(default)]
    pub(crate) seed: Option<u64>,
    /// Whether requests are only rendered.
    #[serde(default)]
    pub(crate) dry: bool,
    /// Whether only the streamed run counts: for what exists only there.
    #[serde(default)]
    pub(crate) streamed_only: bool,
    /// What must come of it; only what is named is looked at.
    #[serde(default)]
    pub(crate) expect: Expect,
}

/// The content of a file.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum File {
    Text(String),
    /// Each with a newline behind it.
    Lines(Vec<String>),
    Bytes {
        base64: String,
    },
}

/// What the model answers to a conversation that a pattern is found in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Rule {
    #[serde(rename = "match")]
    pub(crate) pattern: String,
    #[serde(default)]
    pub(crate) reply: String,
    #[serde(default)]
    pub(crate) finish: Option<String>,
    /// What it thinks before, in the provider's own field.
    #[serde(default)]
    pub(crate) thinking: String,
    /// Tools that it calls: `{name, arguments}`.
    #[serde(default)]
    pub(crate) tool_calls: Vec<CallCase>,
    /// Fails before it says anything, with this code.
    #[serde(default)]
    pub(crate) fails: Option<String>,
    /// The connection breaks behind the reply.
    #[serde(default)]
    pub(crate) cut: bool,
    /// Nothing comes behind the reply, ever.
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

/// What the model can do itself.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Abilities {
    pub(crate) tools: bool,
    pub(crate) json_schema: bool,
    pub(crate) json_object: bool,
    pub(crate) logit_bias: bool,
    pub(crate) continues: bool,
}

/// A tool from outside, that always gives the same.
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

/// What is allowed; folders are relative to the case's own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct GrantCase {
    pub(crate) read: Vec<String>,
    pub(crate) write: Vec<String>,
    pub(crate) net: bool,
    pub(crate) run: bool,
    pub(crate) env: Vec<String>,
}

/// Limits by their names in the engine; times in milliseconds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LimitCase {
    pub(crate) steps: Option<u64>,
    pub(crate) depth: Option<usize>,
    pub(crate) model_calls: Option<u64>,
    pub(crate) tokens: Option<u64>,
    pub(crate) cost: Option<f64>,
    /// US dollars for a million tokens of the model; not known where it is left out.
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

/// What must come of a case. Numbers of requests count from 0.
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
    /// The stable code of the failure.
    pub(crate) error_code: Option<String>,
    /// Parts of the findings as people see them: `file:line:column: what (help)`.
    pub(crate) error_contains: Vec<String>,
    pub(crate) stdout_contains: Vec<String>,
    pub(crate) stdout_excludes: Vec<String>,
    /// The lines printed, all of them.
    pub(crate) stdout: Option<Vec<String>>,
    pub(crate) request_count: Option<usize>,
    pub(crate) requests: Vec<Vec<TurnCase>>,
    pub(crate) request_contains: BTreeMap<usize, Vec<String>>,
    pub(crate) request_excludes: BTreeMap<usize, Vec<String>>,
    pub(crate) request_options: BTreeMap<usize, Object<String, Json>>,
    /// Options that must not be there.
    pub(crate) request_without: BTreeMap<usize, Vec<String>>,
    /// The tools on offer: names, or objects of what must be in their offers.
    pub(crate) request_tools: BTreeMap<usize, Vec<Json>>,
    pub(crate) request_models: BTreeMap<usize, String>,
    /// The `name` of each message of a request.
    pub(crate) request_names: BTreeMap<usize, Vec<Option<String>>>,
    /// How constraints were kept; each object holds what must be in it.
    pub(crate) enforced: Option<Vec<Json>>,
    pub(crate) warnings_contains: Vec<String>,
    pub(crate) warning_count: Option<usize>,
    /// The dialogue at the end; what a message does not name is not looked at.
    pub(crate) messages: Option<Vec<TurnCase>>,
    /// Messages that watchers saw.
    pub(crate) said: Option<Vec<TurnCase>>,
    /// How many requests were rendered, sent or not.
    pub(crate) rendered: Option<usize>,
    /// How many messages the hidden beginning has.
    pub(crate) prefix: Option<usize>,
    pub(crate) hidden: Option<Object<String, Json>>,
    pub(crate) tool_calls: Option<Vec<CallCase>>,
    pub(crate) thinking: Option<String>,
    /// What a run that failed had until then.
    pub(crate) partial_contains: Option<String>,
    /// For scripts that are only read: top-level items.
    pub(crate) items: Option<usize>,
}

/// `null` is something that is expected, other than nothing.
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

/// Reads a file of cases. A list of blocks that only have to parse is one, too.
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

/// A block of a text that must be read, with the number of its items.
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

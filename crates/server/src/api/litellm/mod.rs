//! The one route of LiteLLM's generic prompt management.
//!
//! Its client replaces `{name}`, one variable after the other, so a value that has another variable's
//! name in braces is replaced in turn; nothing that a server sends can keep it from that. As with
//! the other doors the shape is not ours, so it is not in the OpenAPI document.

use axum::response::Response;
use axum::routing::get;
use quillet_core::ErrorCode;
use quillet_core::history::Mark;
use quillet_core::store::Kind;
use quillet_host::definitions::Right;
use quillet_prompt::Notation;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::client_fill::{self, Said, Stored, Turn, View, Wish};
use super::json;
use crate::doors::Door;
use crate::error::{ApiError, problem};
use crate::exchange::Call;
use crate::given::Params;
use crate::needs::Needs;

/// The route, relative to the prefix of all routes.
pub(crate) const ROUTES: &[Door] = &[(
    Needs::Any(Right::Read),
    "GET",
    "/beta/litellm_prompt_management",
    || get(read),
)];

/// What stands behind `?`. A client sends `prompt_id`, and what is set for it as
/// `provider_specific_query_params`.
#[derive(Debug, Default, Deserialize)]
struct Query {
    prompt_id: Option<String>,
    #[serde(alias = "version")]
    prompt_version: Option<String>,
    #[serde(alias = "label")]
    prompt_label: Option<String>,
}

async fn read(call: Call, Params(query): Params<Query>) -> Result<Response, ApiError> {
    let wrong = |message: String| problem(ErrorCode::DoorRequest, message);
    let named = query.prompt_id.filter(|id| !id.is_empty());
    let named = named.ok_or_else(|| wrong("prompt_id: the id of a prompt is wanted".to_owned()))?;
    let version = query.prompt_version.filter(|text| !text.is_empty());
    let label = query.prompt_label.filter(|text| !text.is_empty());
    if version.is_some() && label.is_some() {
        let message = "prompt_version and prompt_label exclude each other";
        return Err(wrong(message.to_owned()));
    }
    let snapshot = call.app.service.catalogue().snapshot();
    let resolved = call.app.aliases.resolve(&snapshot, &named);
    let (name, mark) = match (version.or(label), Mark::divide(&resolved)) {
        (Some(mark), _) => (resolved.as_str(), Some(Mark::parse(&mark).map_err(wrong)?)),
        (None, Some((name, Ok(mark)))) => (name, Some(mark)),
        (None, _) => (resolved.as_str(), None),
    };
    let id = client_fill::readable(&call, name).await?;
    let view = View::of(&call, &id).await?;
    let wish = match &mark {
        None => Wish::Default,
        Some(Mark::Number(number)) => Wish::Number(*number),
        Some(Mark::Label(label)) => Wish::Label(label),
        Some(digest @ Mark::Digest(_)) => {
            let definitions = &call.app.definitions;
            let found = definitions.find(Kind::Prompt, &id, Some(digest)).await?;
            Wish::Number(found.version.map_or(u64::MAX, |version| version.number))
        }
    };
    let found = view.find(wish).await?.ok_or_else(|| {
        let mark = mark.map_or_else(|| "production".to_owned(), |mark| mark.to_string());
        problem(
            ErrorCode::HistoryVersion,
            format!("{id} has no version {mark}"),
        )
    })?;
    let said = client_fill::offer(&call, &id, &found, Notation::Single).await?;
    let mut answer = Map::new();
    answer.insert("prompt_id".into(), named.into());
    answer.insert("prompt_template".into(), template(said)?.into());
    let stored = Stored::read(&found.content.text);
    if let Some(model) = stored.as_ref().and_then(Stored::model) {
        answer.insert("prompt_template_model".into(), model.into());
    }
    if let Some(options) = stored.as_ref().and_then(Stored::options) {
        let name = "prompt_template_optional_params";
        answer.insert(name.into(), options.clone().into());
    }
    json(&answer)
}

fn template(said: Said) -> Result<Vec<Value>, ApiError> {
    let turns = match said {
        Said::Text(text) => return Ok(vec![json!({"role": "user", "content": text})]),
        Said::Chat(turns) => turns,
    };
    let turn = |turn| match turn {
        Turn::Message { role, content } => Ok(json!({"role": role, "content": content})),
        Turn::Placeholder(name) => Err(problem(
            ErrorCode::DoorInexact,
            format!("LiteLLM's client has no place for the messages {name}"),
        )),
    };
    turns.into_iter().map(turn).collect()
}

//! The route of LiteLLM's generic prompt management.
//!
//! LiteLLM's client replaces variables such as `{name}` one after the other. If a value contains
//! the name of a later variable in braces, that is replaced as well, and a server cannot prevent
//! it. The format is LiteLLM's, so the route is not in the OpenAPI document.

use axum::response::Response;
use axum::routing::get;
use quillet_core::ErrorCode;
use quillet_core::history::VersionSelector;
use quillet_core::store::EntryKind;
use quillet_host::definitions::Permission;
use quillet_prompt::Notation;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::client_fill::{
    self, PromptBody, PromptMessage, PromptView, StoredPrompt, VersionRequest,
};
use super::json_body;
use crate::compat_routes::CompatRoute;
use crate::error::{ApiError, problem};
use crate::extract::QueryParams;
use crate::request_context::RequestContext;
use crate::requirements::RouteRequirements;

/// The route, relative to the prefix of all routes.
pub(crate) const ROUTES: &[CompatRoute] = &[(
    RouteRequirements::Any(Permission::Read),
    "GET",
    "/beta/litellm_prompt_management",
    || get(read),
)];

/// Query parameters. A client sends `prompt_id` and the parameters that its user configured as
/// `provider_specific_query_params`.
#[derive(Debug, Default, Deserialize)]
struct LitellmPromptQuery {
    prompt_id: Option<String>,
    #[serde(alias = "version")]
    prompt_version: Option<String>,
    #[serde(alias = "label")]
    prompt_label: Option<String>,
}

async fn read(
    call: RequestContext,
    QueryParams(query): QueryParams<LitellmPromptQuery>,
) -> Result<Response, ApiError> {
    let wrong = |message: String| problem(ErrorCode::DoorRequest, message);
    let named = query.prompt_id.filter(|id| !id.is_empty());
    let named = named.ok_or_else(|| wrong("prompt_id: expected the id of a prompt".to_owned()))?;
    let version = query.prompt_version.filter(|text| !text.is_empty());
    let label = query.prompt_label.filter(|text| !text.is_empty());
    if version.is_some() && label.is_some() {
        let message = "prompt_version and prompt_label are mutually exclusive";
        return Err(wrong(message.to_owned()));
    }
    let snapshot = call.app.service.catalogue().snapshot();
    // The name may be an alias, such as the id of a prompt at OpenAI.
    let resolved = call.app.aliases.resolve(&snapshot, &named);
    let (name, mark) = match (version.or(label), VersionSelector::split_id(&resolved)) {
        (Some(mark), _) => (
            resolved.as_str(),
            Some(VersionSelector::parse(&mark).map_err(wrong)?),
        ),
        (None, Some((name, Ok(mark)))) => (name, Some(mark)),
        (None, _) => (resolved.as_str(), None),
    };
    let id = client_fill::readable(&call, name).await?;
    let view = PromptView::of(&call, &id).await?;
    let wish = match &mark {
        None => VersionRequest::Default,
        Some(VersionSelector::Number(number)) => VersionRequest::Number(*number),
        Some(VersionSelector::Label(label)) => VersionRequest::Label(label),
        Some(digest @ VersionSelector::Digest(_)) => {
            let definitions = &call.app.definitions;
            let found = definitions
                .find(EntryKind::Prompt, &id, Some(digest))
                .await?;
            VersionRequest::Number(found.version.map_or(u64::MAX, |version| version.number))
        }
    };
    let found = view.find(wish).await?.ok_or_else(|| {
        let mark = mark.map_or_else(|| "production".to_owned(), |mark| mark.to_string());
        problem(
            ErrorCode::HistoryVersion,
            format!("{id} has no version {mark}"),
        )
    })?;
    let said = client_fill::export_version(&call, &id, &found, Notation::Single).await?;
    let mut answer = Map::new();
    answer.insert("prompt_id".into(), named.into());
    answer.insert("prompt_template".into(), template(said)?.into());
    let stored = StoredPrompt::read(&found.content.text);
    if let Some(model) = stored.as_ref().and_then(StoredPrompt::model) {
        answer.insert("prompt_template_model".into(), model.into());
    }
    if let Some(options) = stored.as_ref().and_then(StoredPrompt::options) {
        let name = "prompt_template_optional_params";
        answer.insert(name.into(), options.clone().into());
    }
    json_body(&answer)
}

fn template(said: PromptBody) -> Result<Vec<Value>, ApiError> {
    let turns = match said {
        PromptBody::Text(text) => return Ok(vec![json!({"role": "user", "content": text})]),
        PromptBody::Chat(turns) => turns,
    };
    let turn = |turn| match turn {
        PromptMessage::Message { role, content } => Ok(json!({"role": role, "content": content})),
        PromptMessage::Placeholder(name) => Err(problem(
            ErrorCode::DoorInexact,
            format!("LiteLLM's client cannot fill in the message placeholder {name}"),
        )),
    };
    turns.into_iter().map(turn).collect()
}

//! `GET /v1/models`: the valid model names.

use axum::response::Response;
use quillet_core::store::{EntryKey, EntryKind};
use quillet_core::{ErrorCode, clock, nearest};
use quillet_host::definitions::Permission;
use quillet_prompt::{DefinitionState, ServiceError};

use super::schema::{ErrorBody, Model, ModelList};
use super::target::{AGENT, PROMPT};
use crate::api::{Id, json_body};
use crate::app::App;
use crate::error::{ApiError, problem};
use crate::request_context::RequestContext;

/// Lists the valid model names
///
/// The list contains the configured model, the models of providers with a key or an address, every
/// valid prompt as `prompt/ID` and every agent as `agent/NAME`.
#[utoipa::path(get, path = "/models", tag = "openai", responses(
    (status = 200, body = ModelList),
    (status = 401, body = ErrorBody),
))]
pub(crate) async fn list(call: RequestContext) -> Result<Response, ApiError> {
    let ready = call.app.service.catalogue().ready();
    ready.map_err(ServiceError::Store)?;
    json_body(&ModelList {
        object: "list",
        data: all(&call).await,
    })
}

/// Returns a model by its name
#[utoipa::path(get, path = "/models/{id}", operation_id = "retrieve_model", tag = "openai",
    params(("id" = String, Path, description = "The name; a slash in it may be percent-encoded")),
    responses(
        (status = 200, body = Model),
        (status = 401, body = ErrorBody),
        (status = 404, body = ErrorBody, description = "Unknown name"),
))]
pub(crate) async fn retrieve(call: RequestContext, Id(id): Id) -> Result<Response, ApiError> {
    let models = all(&call).await;
    match models.iter().find(|model| model.id == id) {
        Some(model) => json_body(model),
        None => {
            let names = models.iter().map(|model| model.id.as_str());
            Err(unknown(&id, nearest(&id, names)))
        }
    }
}

/// Returns the error for an unknown model name.
pub(super) fn unknown(id: &str, near: Option<&str>) -> ApiError {
    let error = problem(ErrorCode::NotFound, format!("unknown model {id:?}"));
    match near {
        Some(near) => error.with_hint(format!("did you mean {near:?}?")),
        None => error.with_hint("GET /v1/models lists models, prompts and agents"),
    }
}

/// Returns all model names that the caller may use.
async fn all(call: &RequestContext) -> Vec<Model> {
    let (app, rights) = (&call.app, call.rights());
    // OpenAI's format requires a creation time. The start time of the server is used, because it is
    // at least constant.
    let created = began(app);
    let model = |id: String, owned_by: &str| Model {
        id,
        object: "model",
        created,
        owned_by: owned_by.to_owned(),
    };
    let mut models = Vec::new();
    if let Some(agents) = &app.agents {
        let listed = agents.parts().models.list().await.into_iter();
        models.extend(listed.map(|(name, owned_by)| model(name, &owned_by)));
    }
    let snapshot = app.service.catalogue().snapshot();
    let usable = snapshot.prompts.values();
    let usable = usable.filter(|prompt| {
        matches!(prompt.state, DefinitionState::Valid(_))
            && rights.has(Permission::Render, &prompt.id)
    });
    models.extend(usable.map(|prompt| model(format!("{PROMPT}{}", prompt.id), "quillet")));
    let agents = agents(app).await;
    models.extend(
        agents
            .iter()
            .filter(|name| rights.has(Permission::Render, name))
            .map(|name| model(format!("{AGENT}{name}"), "quillet")),
    );
    models
}

/// Returns the names of the stored agents, or none while the store is unavailable.
pub(super) async fn agents(app: &App) -> Vec<String> {
    if app.agents.is_none() {
        return Vec::new();
    }
    let keys = app.service.catalogue().store().keys(EntryKind::Agent).await;
    let mut names: Vec<String> = keys.unwrap_or_default().iter().map(EntryKey::id).collect();
    names.sort();
    names
}

fn began(app: &App) -> u64 {
    let began = clock::since_epoch().saturating_sub(app.metrics.uptime());
    began.as_secs()
}

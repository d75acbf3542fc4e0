//! System information for operators.

use axum::response::Response;
use quillet_core::store::{EntryKind, Health};
use quillet_llm::models::{ModelFacts, today};
use quillet_prompt::{Definition, PromptEntry};
use serde::Serialize;
use utoipa::ToSchema;

use super::json_body;
use crate::app::App;
use crate::error::{ApiError, ProblemDetails};
use crate::request_context::RequestContext;

/// System information.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct System {
    /// The version of Quillet.
    version: &'static str,
    /// The store of definitions.
    store: StoreState,
    /// The default model, if configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// Number of valid and invalid definitions.
    prompts: CatalogueCounts,
    /// Number of valid and invalid definitions.
    tools: CatalogueCounts,
    /// Whether agents, databases, batches and traces are configured.
    agents: bool,
    databases: bool,
    batches: bool,
    traces: bool,
    /// Limits on requests.
    limits: ServerLimits,
    /// Names and permissions of the tokens, never the tokens themselves.
    tokens: Vec<TokenInfo>,
    /// Prompts whose model is deprecated or retired.
    models_ending: Vec<ModelEnding>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StoreState {
    /// The kind and address, without secrets.
    name: String,
    /// `ready` or `away`.
    status: &'static str,
    /// The reason why the store is unavailable.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

#[derive(Debug, Default, Serialize, ToSchema)]
#[schema(as = Counted)]
pub(crate) struct CatalogueCounts {
    valid: usize,
    invalid: usize,
}

#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Limits)]
pub(crate) struct ServerLimits {
    body_bytes: usize,
    connections: usize,
    /// Sustained requests per second of one client.
    #[serde(skip_serializing_if = "Option::is_none")]
    rate: Option<f64>,
    /// Burst of requests of one client after a pause.
    #[serde(skip_serializing_if = "Option::is_none")]
    burst: Option<u32>,
    /// Timeout of a chat that is not streamed, in seconds.
    chat_s: u64,
    inline_templates: bool,
    change_databases: bool,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct TokenInfo {
    name: String,
    /// The permissions, such as `read greet.*`, or `everything` for unrestricted tokens.
    rights: Vec<String>,
}

#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ModelEnding {
    /// The prompt that uses the model.
    prompt: String,
    /// The retirement date of the model.
    message: String,
    /// The fix.
    help: String,
}

/// Returns system information: the store, limits, token names and deprecated models
#[utoipa::path(get, path = "/system", tag = "operation", responses(
    (status = 200, body = System),
    (status = 403, body = ProblemDetails, content_type = "application/problem+json"),
))]
pub(crate) async fn system(call: RequestContext) -> Result<Response, ApiError> {
    let app = &call.app;
    let snapshot = app.service.catalogue().snapshot();
    let (health, _) = app.service.health();
    let config = &app.config;
    json_body(&System {
        version: env!("CARGO_PKG_VERSION"),
        store: state(app, health),
        model: app.service.model().map(|model| model.describe()),
        prompts: counted(snapshot.prompts.values().map(|prompt| prompt.status())),
        tools: counted(snapshot.tools.values().map(|tool| tool.status())),
        agents: app.agents.is_some(),
        databases: app.databases.is_some(),
        batches: app.batching.is_some(),
        traces: app.traces.is_some(),
        limits: ServerLimits {
            body_bytes: config.body_bytes,
            connections: config.connections,
            rate: config.rate.map(|rate| rate.per_second),
            burst: config.rate.map(|rate| rate.burst),
            chat_s: config.chat_time.as_secs(),
            inline_templates: app.takes_inline_templates(),
            change_databases: app.may_change_databases(),
        },
        tokens: app.auth.names().map(token).collect(),
        models_ending: deprecated_models(app),
    })
}

fn state(app: &App, health: Health) -> StoreState {
    let (status, reason) = match health {
        Health::Ready => ("ready", None),
        Health::Away { reason } => ("away", Some(reason)),
    };
    StoreState {
        name: app.service.catalogue().store().describe(),
        status,
        reason,
    }
}

fn counted<'a>(all: impl Iterator<Item = &'a str>) -> CatalogueCounts {
    all.fold(CatalogueCounts::default(), |mut counted, status| {
        match status {
            "invalid" => counted.invalid += 1,
            _ => counted.valid += 1,
        }
        counted
    })
}

fn token((name, rights): (&str, Vec<String>)) -> TokenInfo {
    TokenInfo {
        name: name.to_owned(),
        rights,
    }
}

fn deprecated_models(app: &App) -> Vec<ModelEnding> {
    let today = today();
    let snapshot = app.service.catalogue().snapshot();
    let of = |definition: &Definition<PromptEntry>| {
        let entry = definition.usable(EntryKind::Prompt).ok()?;
        let model = entry.prompt.model.as_deref()?;
        let ending = ModelFacts::built_in()
            .find(model)
            .deprecation(model, today)?;
        Some(ModelEnding {
            prompt: definition.id.to_string(),
            message: ending.message,
            help: ending.help,
        })
    };
    snapshot
        .prompts
        .values()
        .filter_map(|definition| of(definition))
        .collect()
}

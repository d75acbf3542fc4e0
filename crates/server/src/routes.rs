//! The list of all routes. The router, the metrics and the OpenAPI document are all generated from
//! it, so none of them can omit a route.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::response::Redirect;
use axum::routing::MethodRouter;
use quillet_core::ErrorCode;
use quillet_core::store::EntryKind;
use quillet_host::definitions::Permission;
use utoipa::openapi::path::{PathItem, PathsBuilder};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApiBuilder, Paths};
use utoipa_axum::routes;

use crate::api::response::routes as response;
use crate::api::{definitions, openai, runs, system, traces};
use crate::app::App;
use crate::compat_routes::CompatRoute;
use crate::config::ServerConfig;
use crate::console;
use crate::error::{ProblemDetails, problem};
use crate::fast_router::{FastRouter, FastRoutes};
use crate::host::Hosts;
use crate::metrics::Metrics;
use crate::request_context::RouteState;
use crate::requirements::{LABEL, READ, RENDER, RouteRequirements, WRITE};
use crate::route::RouteEntry;
use crate::services::Services;
use crate::{api, describe, health, mcp, openapi, sql};

/// Base paths of the prompt service, with the suffix of the operation ids for each. ai-prompt-shell
/// documents the first, and its clients call the second.
const BASES: [(&str, &str); 2] = [("/api", ""), ("/api/v1", "_v1")];

/// One method of one path.
struct Route {
    path: String,
    method: &'static str,
    handler: MethodRouter<RouteState>,
    needs: RouteRequirements,
    kind: Option<EntryKind>,
}

/// Routes of the prompt service, relative to a base.
const SERVICE: &[RouteEntry] = &[
    (ANY_READ, || routes!(api::catalogue::list_extensions)),
    (RouteRequirements::Of(READ, EntryKind::Extension), || {
        routes!(api::catalogue::get_extension)
    }),
    (ANY_READ, || routes!(api::catalogue::list_prompts)),
    (RouteRequirements::Of(READ, EntryKind::Prompt), || {
        routes!(api::catalogue::get_prompt)
    }),
    (ANY_READ, || routes!(api::catalogue::list_environs)),
    (RouteRequirements::Of(READ, EntryKind::Environ), || {
        routes!(api::catalogue::get_environ)
    }),
    (ANY_READ, || routes!(api::catalogue::list_tools)),
    (RouteRequirements::Of(READ, EntryKind::Tool), || {
        routes!(api::catalogue::get_tool)
    }),
    (ANY_READ, || routes!(api::agents::list_agents)),
    (RouteRequirements::Of(READ, EntryKind::Agent), || {
        routes!(api::agents::get_agent)
    }),
    (ANY_RENDER, || routes!(api::render::render)),
    (ANY_READ, || routes!(api::source::source)),
    (ANY_READ, || routes!(api::cost::cost)),
    (ANY_RENDER, || routes!(api::chat::chat_unstored)),
    (RouteRequirements::Of(RENDER, EntryKind::Prompt), || {
        routes!(api::render::render_prompt)
    }),
    (RouteRequirements::Of(RENDER, EntryKind::Prompt), || {
        routes!(api::render::render_prompt_kind)
    }),
    (RouteRequirements::Of(RENDER, EntryKind::Prompt), || {
        routes!(api::chat::chat_prompt)
    }),
    (RouteRequirements::Of(RENDER, EntryKind::Prompt), || {
        routes!(api::chat::chat_prompt_alias)
    }),
    (RouteRequirements::Any(Permission::Admin), || {
        routes!(definitions::log::read)
    }),
];

/// Returns the routes for definitions of a kind, relative to a base. `{kind}` is the plural of the
/// kind.
fn definition_routes(kind: EntryKind) -> Vec<RouteEntry> {
    let of = |rights| RouteRequirements::Of(rights, kind);
    vec![
        (of(WRITE), || routes!(definitions::write::put)),
        (of(WRITE), || routes!(definitions::write::post)),
        (of(WRITE), || routes!(definitions::write::patch)),
        (of(WRITE), || routes!(definitions::write::delete)),
        (of(WRITE), || routes!(definitions::check::check)),
        (of(READ), || routes!(definitions::versions::list)),
        (of(READ), || routes!(definitions::versions::get)),
        (of(READ), || routes!(definitions::versions::diff)),
        (of(READ), || routes!(definitions::labels::list)),
        (of(LABEL), || routes!(definitions::labels::put)),
        (of(LABEL), || routes!(definitions::labels::delete)),
        (of(LABEL), || routes!(definitions::labels::rollback)),
    ]
}

/// Routes of agents, traces and system information, relative to `/v1`.
const AGENT: &[RouteEntry] = &[
    (ANY_RENDER, || routes!(response::respond)),
    (ANY_RENDER, || routes!(response::cancel)),
    (ANY_RENDER, || routes!(response::resume)),
    (ANY_RENDER, || routes!(runs::decide)),
    (ANY_RENDER, || routes!(runs::list_runs)),
    (ANY_RENDER, || routes!(runs::get_run)),
    (ANY_RENDER, || routes!(runs::fork_run)),
    (ANY_RENDER, || routes!(runs::remove_run)),
    (RouteRequirements::Entry, || routes!(response::health)),
    (ANY_READ, || routes!(traces::list_traces)),
    (ANY_READ, || routes!(traces::get_trace)),
    (RouteRequirements::Any(Permission::Admin), || {
        routes!(system::system)
    }),
    (ANY_RENDER, || routes!(api::budgets::list_budgets)),
];

/// Routes for OpenAI's clients, relative to `/v1`.
const OPENAI: &[RouteEntry] = &[
    (ANY_RENDER, || routes!(openai::chat::complete)),
    (ANY_RENDER, || routes!(openai::models::list)),
    (ANY_RENDER, || routes!(openai::models::retrieve)),
    (ANY_RENDER, || routes!(openai::responses::create_response)),
    (ANY_RENDER, || routes!(openai::responses::retrieve_response)),
    (ANY_RENDER, || routes!(openai::responses::delete_response)),
    (ANY_RENDER, || routes!(openai::files::upload_file)),
    (ANY_RENDER, || routes!(openai::files::list_files)),
    (ANY_RENDER, || routes!(openai::files::retrieve_file)),
    (ANY_RENDER, || routes!(openai::files::file_content)),
    (ANY_RENDER, || routes!(openai::files::delete_file)),
    (ANY_RENDER, || routes!(openai::batches::create_batch)),
    (ANY_RENDER, || routes!(openai::batches::retrieve_batch)),
    (ANY_RENDER, || routes!(openai::batches::list_batches)),
    (ANY_RENDER, || routes!(openai::batches::cancel_batch)),
];

/// Routes for probes of Chat Shell.
const ORIGIN_PROBE: &[RouteEntry] = &[
    (RouteRequirements::Entry, || routes!(response::alive)),
    (RouteRequirements::Entry, || routes!(response::ready)),
    (RouteRequirements::Entry, || routes!(response::startup)),
];

/// Routes that describe the service.
const DESCRIPTION: &[RouteEntry] = &[
    (RouteRequirements::Entry, || routes!(openapi::document)),
    (RouteRequirements::Entry, || routes!(console::page)),
    (RouteRequirements::Entry, || routes!(console::asset)),
    (RouteRequirements::Entry, || routes!(console::docs)),
    (RouteRequirements::Entry, || routes!(console::old_docs)),
];

/// The route for MCP clients.
const MCP: &[RouteEntry] = &[(ANY_RENDER, || routes!(mcp::answer))];

/// Routes for probes at the root.
const PROBE: &[RouteEntry] = &[
    (RouteRequirements::Entry, || routes!(health::healthz)),
    (RouteRequirements::Entry, || routes!(health::readyz)),
    (ANY_READ, || routes!(health::metrics)),
];

/// Routes for clients of other services. Those services document the formats, so the OpenAPI
/// document does not.
const DOORS: [&[CompatRoute]; 3] = [
    api::langfuse::ROUTES,
    api::litellm::ROUTES,
    api::mlflow::ROUTES,
];

const ANY_READ: RouteRequirements = RouteRequirements::Any(Permission::Read);
const ANY_RENDER: RouteRequirements = RouteRequirements::Any(Permission::Render);

/// The kinds of definitions that can be written over HTTP, and their names in paths.
const KINDS: [(EntryKind, &str); 4] = [
    (EntryKind::Prompt, "prompts"),
    (EntryKind::Tool, "tools"),
    (EntryKind::Extension, "extensions"),
    (EntryKind::Agent, "agents"),
];

/// Routes with a common base.
struct Mount {
    base: String,
    /// The suffix of the operation ids.
    suffix: &'static str,
    /// The value of `{kind}`.
    kind: Option<(EntryKind, &'static str)>,
    rows: Vec<RouteEntry>,
}

impl Mount {
    fn new(base: impl Into<String>, rows: &[RouteEntry]) -> Self {
        Mount {
            base: base.into(),
            suffix: "",
            kind: None,
            rows: rows.to_vec(),
        }
    }

    fn path(&self, path: &str) -> String {
        let plural = self.kind.map_or("", |(_, plural)| plural);
        format!("{}{}", self.base, path.replace("{kind}", plural))
    }
}

/// Builds the shared state and the router.
pub(crate) fn build(
    config: ServerConfig,
    hosts: Hosts,
    services: Services,
) -> (Arc<App>, FastRouter) {
    let mut routes = Vec::new();
    for mount in mounts(&config.prefix) {
        for (needs, make) in &mount.rows {
            let (_, paths, handler) = make();
            for (path, mut item) in paths.paths {
                routes.push(Route {
                    path: mount.path(&path),
                    method: name_operation(&mut item, &mount),
                    handler: handler.clone(),
                    needs: *needs,
                    kind: mount.kind.map(|(kind, _)| kind),
                });
            }
        }
    }
    for (needs, method, path, handler) in DOORS.into_iter().flatten() {
        routes.push(Route {
            path: format!("{}{path}", config.prefix),
            method,
            handler: handler(),
            needs: *needs,
            kind: None,
        });
    }
    let labels = routes
        .iter()
        .map(|route| (route.method, route.path.as_str()));
    let metrics = Metrics::new(labels);
    let direct = routes
        .iter()
        .map(|route| (route.method, route.path.as_str(), route.needs));
    let direct = Arc::new(FastRoutes::of(&config.prefix, direct));
    let app = Arc::new(App::new(config, hosts, services, metrics, document));
    let mut router = Router::new();
    for (index, route) in routes.into_iter().enumerate() {
        let at = RouteState {
            app: app.clone(),
            route: index,
            needs: route.needs,
            kind: route.kind,
        };
        router = router.route(&pattern(&route.path), route.handler.with_state(at));
    }
    // The page loads its files by relative paths, so its own path must end with a slash.
    if !app.config.prefix.is_empty() {
        let page = format!("{}/", app.config.prefix);
        let to_page = axum::routing::get(async move || Redirect::permanent(&page));
        router = router.route(&app.config.prefix, to_page);
    }
    let router = router
        .fallback(no_route)
        .method_not_allowed_fallback(no_method);
    (app, FastRouter { direct, router })
}

/// Returns the OpenAPI document as JSON.
fn document(config: &ServerConfig) -> String {
    let (paths, schemas) = describe_routes(&config.prefix);
    let info = InfoBuilder::new()
        .title("Quillet")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Renders prompts with shared variables and tools, and sends them to models.",
        ))
        .build();
    let components = ComponentsBuilder::new()
        .schemas_from_iter(schemas)
        .schema_from::<ProblemDetails>()
        .build();
    let document = OpenApiBuilder::new()
        .info(info)
        .paths(paths)
        .components(Some(components))
        .build();
    let mut document = serde_json::to_value(document).unwrap_or_default();
    describe::complete(&mut document, config);
    document.to_string()
}

type Schemas = Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>;

fn describe_routes(prefix: &str) -> (Paths, Schemas) {
    let (mut all, mut schemas) = (PathsBuilder::new(), Schemas::new());
    for mount in mounts(prefix) {
        for (_, make) in &mount.rows {
            // Only the description of a handler is needed here.
            let (used, paths, _) = make();
            schemas.extend(used);
            for (path, mut item) in paths.paths {
                name_operation(&mut item, &mount);
                all = all.path(mount.path(&path), item);
            }
        }
    }
    (all.build(), schemas)
}

/// Returns the pattern for the router. Names of models and console files contain slashes, so they
/// need a wildcard.
fn pattern(path: &str) -> Cow<'_, str> {
    for (all, last) in [("/v1/models/", "{id}"), ("/console/", "{file}")] {
        let ends = path
            .strip_suffix(last)
            .is_some_and(|path| path.ends_with(all));
        if ends {
            return Cow::Owned(path.replace(last, &last.replace('{', "{*")));
        }
    }
    Cow::Borrowed(path)
}

/// Returns all routes.
fn mounts(prefix: &str) -> Vec<Mount> {
    let v1 = format!("{prefix}/v1");
    let mut all = vec![
        Mount::new(format!("{prefix}{}", sql::BASE), sql::ROUTES),
        Mount::new(v1.clone(), AGENT),
        Mount::new(v1, OPENAI),
        Mount::new(prefix, ORIGIN_PROBE),
        Mount::new(prefix, DESCRIPTION),
        Mount::new(prefix, MCP),
        Mount::new("", PROBE),
    ];
    for (base, suffix) in BASES {
        let base = format!("{prefix}{base}");
        all.push(Mount {
            suffix,
            ..Mount::new(base.clone(), SERVICE)
        });
        all.extend(KINDS.map(|(kind, plural)| Mount {
            suffix,
            kind: Some((kind, plural)),
            ..Mount::new(base.clone(), &definition_routes(kind))
        }));
    }
    all
}

/// Sets the operation id and returns the method. Operation ids must be unique, so an alias gets a
/// suffix.
fn name_operation(item: &mut PathItem, mount: &Mount) -> &'static str {
    let methods = [
        ("GET", &mut item.get),
        ("POST", &mut item.post),
        ("PUT", &mut item.put),
        ("PATCH", &mut item.patch),
        ("DELETE", &mut item.delete),
    ];
    for (method, operation) in methods {
        let Some(operation) = operation else { continue };
        if let Some(id) = &mut operation.operation_id {
            let kind = mount.kind.map_or("", |(kind, _)| kind.word());
            *id = format!("{}{}", id.replace("{kind}", kind), mount.suffix);
        }
        return method;
    }
    ""
}

async fn no_route(uri: axum::http::Uri) -> crate::error::ApiError {
    if let Some(missing) = sql::missing_at(uri.path()) {
        return problem(ErrorCode::FeatureMissing, missing.to_string());
    }
    problem(
        ErrorCode::RouteUnknown,
        format!("unknown route {}", uri.path()),
    )
    .with_hint("GET /openapi.json lists the routes")
}

async fn no_method(method: axum::http::Method, uri: axum::http::Uri) -> crate::error::ApiError {
    problem(
        ErrorCode::RouteMethod,
        format!("{} does not support {method}", uri.path()),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// The document finds schemas by type name, without the module.
    #[test]
    fn no_two_types_of_the_document_share_a_name() {
        let (_, schemas) = describe_routes("");
        let mut known: BTreeMap<String, serde_json::Value> = BTreeMap::new();
        for (name, schema) in schemas {
            let schema = serde_json::to_value(schema).unwrap();
            let first = known.entry(name.clone()).or_insert_with(|| schema.clone());
            assert_eq!(
                *first, schema,
                "{name} (give one of them a name with schema(as = …))"
            );
        }
    }
}

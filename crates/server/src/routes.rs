//! Which routes there are. One list makes the router, the counters and the
//! OpenAPI document, so that none of them can know a route that another does not.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::routing::MethodRouter;
use utoipa::openapi::path::{PathItem, PathsBuilder};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApi, OpenApiBuilder};
use utoipa_axum::router::UtoipaMethodRouter;
use utoipa_axum::routes;

use crate::api::openai;
use crate::api::response::routes as response;
use crate::app::App;
use crate::config::ServerConfig;
use crate::direct::Direct;
use crate::error::{Problem, problem};
use crate::exchange::At;
use crate::host::Hosts;
use crate::metrics::Metrics;
use crate::services::Services;
use crate::sql::{connections, history, layout, metadata, query, question};
use crate::{api, describe, health, mcp, openapi, sql};

/// Where the routes of the prompt service are mounted: the seed's place, and
/// the deployed origin's.
const BASES: [&str; 2] = ["/api", "/api/v1"];

/// One method of one path.
struct Route {
    path: String,
    item: PathItem,
    method: &'static str,
    handler: MethodRouter<At>,
}

/// The routes of the prompt service, relative to a base.
fn service_routes() -> Vec<UtoipaMethodRouter<At>> {
    vec![
        routes!(api::catalogue::list_extensions),
        routes!(api::catalogue::get_extension),
        routes!(api::catalogue::list_prompts),
        routes!(api::catalogue::get_prompt),
        routes!(api::catalogue::list_environs),
        routes!(api::catalogue::get_environ),
        routes!(api::catalogue::list_tools),
        routes!(api::catalogue::get_tool),
        routes!(api::render::render),
        routes!(api::render::render_prompt),
        routes!(api::render::render_prompt_kind),
        routes!(api::chat::chat_prompt),
        routes!(api::chat::chat_prompt_alias),
    ]
}

/// The routes of the agents, relative to `/v1`.
fn agent_routes() -> Vec<UtoipaMethodRouter<At>> {
    vec![
        routes!(response::respond),
        routes!(response::cancel),
        routes!(response::resume),
        routes!(response::health),
    ]
}

/// The routes of OpenAI's clients, relative to `/v1`.
fn openai_routes() -> Vec<UtoipaMethodRouter<At>> {
    vec![
        routes!(openai::chat::complete),
        routes!(openai::models::list),
        routes!(openai::models::retrieve),
        routes!(openai::responses::create_response),
        routes!(openai::responses::retrieve_response),
        routes!(openai::responses::delete_response),
    ]
}

/// The routes that the probes of seed 004's origin look for.
fn origin_probe_routes() -> Vec<UtoipaMethodRouter<At>> {
    vec![
        routes!(response::alive),
        routes!(response::ready),
        routes!(response::startup),
    ]
}

/// The routes that describe the service itself.
fn description_routes() -> Vec<UtoipaMethodRouter<At>> {
    vec![
        routes!(openapi::document),
        routes!(openapi::page),
        routes!(openapi::old_page),
    ]
}

/// The route of MCP clients.
fn mcp_routes() -> Vec<UtoipaMethodRouter<At>> {
    vec![routes!(mcp::answer)]
}

/// The routes that probes look for at the root.
fn probe_routes() -> Vec<UtoipaMethodRouter<At>> {
    vec![
        routes!(health::healthz),
        routes!(health::readyz),
        routes!(health::metrics),
    ]
}

/// The routes of databases, relative to `/api/v1`.
fn database_routes() -> Vec<UtoipaMethodRouter<At>> {
    vec![
        routes!(connections::list),
        routes!(connections::put),
        routes!(connections::get),
        routes!(connections::delete),
        routes!(connections::test),
        routes!(metadata::all),
        routes!(metadata::refresh),
        routes!(metadata::tables),
        routes!(metadata::table),
        routes!(query::run),
        routes!(question::ask),
        routes!(layout::format),
        routes!(history::list),
        routes!(history::search),
        routes!(history::accept, history::unaccept),
    ]
}

/// Everything that a server needs to answer: the router, and what its handlers share.
pub(crate) fn build(config: ServerConfig, hosts: Hosts, services: Services) -> (Arc<App>, Router) {
    let mut schemas = Vec::new();
    let routes = all(&config.prefix, &mut schemas);
    let document = document(&routes, schemas);
    let mut document = serde_json::to_value(document).unwrap_or_default();
    describe::complete(&mut document, &config);
    let text = document.to_string();
    let labels = || {
        let routes = routes.iter();
        routes.map(|route| (route.method, route.path.as_str()))
    };
    let metrics = Metrics::new(labels());
    let direct = Direct::of(&config.prefix, labels());
    let counted = (metrics, direct);
    let app = Arc::new(App::new(config, hosts, services, counted, text.into()));
    let mut router = Router::new();
    for (index, route) in routes.into_iter().enumerate() {
        let at = At {
            app: app.clone(),
            route: index,
        };
        router = router.route(&pattern(&route.path), route.handler.with_state(at));
    }
    (
        app,
        router
            .fallback(no_route)
            .method_not_allowed_fallback(no_method),
    )
}

/// What the router looks for: names of models have slashes in them.
fn pattern(path: &str) -> Cow<'_, str> {
    match path.strip_suffix("/v1/models/{id}") {
        Some(prefix) => Cow::Owned(format!("{prefix}/v1/models/{{*id}}")),
        None => Cow::Borrowed(path),
    }
}

type Schemas = Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>;

fn all(prefix: &str, schemas: &mut Schemas) -> Vec<Route> {
    let mut routes = Vec::new();
    for (version, base) in BASES.iter().enumerate() {
        let base = format!("{prefix}{base}");
        let suffix = if version == 0 { "" } else { "_v1" };
        add(&mut routes, schemas, &base, suffix, service_routes());
    }
    let databases = format!("{prefix}{}", sql::BASE);
    add(&mut routes, schemas, &databases, "", database_routes());
    let v1 = format!("{prefix}/v1");
    add(&mut routes, schemas, &v1, "", agent_routes());
    add(&mut routes, schemas, &v1, "", openai_routes());
    add(&mut routes, schemas, prefix, "", origin_probe_routes());
    add(&mut routes, schemas, prefix, "", description_routes());
    add(&mut routes, schemas, prefix, "", mcp_routes());
    add(&mut routes, schemas, "", "", probe_routes());
    routes
}

fn add(
    routes: &mut Vec<Route>,
    schemas: &mut Schemas,
    base: &str,
    suffix: &str,
    mounted: Vec<UtoipaMethodRouter<At>>,
) {
    for (used, paths, handler) in mounted {
        schemas.extend(used);
        for (path, mut item) in paths.paths {
            let method = name_operation(&mut item, suffix);
            routes.push(Route {
                path: format!("{base}{path}"),
                item,
                method,
                handler: handler.clone(),
            });
        }
    }
}

/// Ids of operations are unique in a document, so an alias gets a suffix.
fn name_operation(item: &mut PathItem, suffix: &str) -> &'static str {
    let methods = [
        ("GET", &mut item.get),
        ("POST", &mut item.post),
        ("PUT", &mut item.put),
        ("DELETE", &mut item.delete),
    ];
    for (method, operation) in methods {
        let Some(operation) = operation else { continue };
        if let Some(id) = &mut operation.operation_id {
            id.push_str(suffix);
        }
        return method;
    }
    ""
}

fn document(routes: &[Route], schemas: Schemas) -> OpenApi {
    let info = InfoBuilder::new()
        .title("Quillet")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Prompts, shared variables and tools, rendered and sent to a model.",
        ))
        .build();
    let paths = routes.iter().fold(PathsBuilder::new(), |paths, route| {
        paths.path(route.path.clone(), route.item.clone())
    });
    let components = ComponentsBuilder::new()
        .schemas_from_iter(schemas)
        .schema_from::<Problem>()
        .build();
    OpenApiBuilder::new()
        .info(info)
        .paths(paths)
        .components(Some(components))
        .build()
}

async fn no_route(uri: axum::http::Uri) -> crate::error::ApiError {
    problem(
        404,
        "route.unknown",
        format!("there is no route {}", uri.path()),
    )
    .hint("GET /openapi.json lists the routes")
}

async fn no_method(method: axum::http::Method, uri: axum::http::Uri) -> crate::error::ApiError {
    problem(
        405,
        "route.method",
        format!("{} does not take {method}", uri.path()),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Schemas are found by the names of their types, whatever module those are in.
    #[test]
    fn no_two_types_of_the_document_share_a_name() {
        let mut schemas = Vec::new();
        all("", &mut schemas);
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

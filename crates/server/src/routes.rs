//! Which routes there are. One list makes the router, the counters and the
//! OpenAPI document, so that none of them can know a route that another does not.

use std::borrow::Cow;
use std::sync::Arc;

use axum::Router;
use axum::routing::MethodRouter;
use quillet_core::ErrorCode;
use utoipa::openapi::path::{PathItem, PathsBuilder};
use utoipa::openapi::{ComponentsBuilder, InfoBuilder, OpenApiBuilder, Paths};
use utoipa_axum::router::UtoipaMethodRouter;
use utoipa_axum::routes;

use crate::api::openai;
use crate::api::response::routes as response;
use crate::app::App;
use crate::config::ServerConfig;
use crate::direct::{Direct, Entry};
use crate::error::{Problem, problem};
use crate::exchange::At;
use crate::host::Hosts;
use crate::metrics::Metrics;
use crate::services::Services;
use crate::{api, describe, health, mcp, openapi, sql};

/// Where the routes of the prompt service are mounted: as ai-prompt-shell documents them, and as
/// its clients call them.
const BASES: [&str; 2] = ["/api", "/api/v1"];

/// Makes a handler with what the document says of it. A function, since the words of all routes
/// together take megabytes: the router drops those of one before it makes the next, and the
/// document is written when it is asked for.
pub(crate) type Make = fn() -> UtoipaMethodRouter<At>;

/// One method of one path.
struct Route {
    path: String,
    method: &'static str,
    handler: MethodRouter<At>,
}

/// The routes of the prompt service, relative to a base.
const SERVICE: &[Make] = &[
    || routes!(api::catalogue::list_extensions),
    || routes!(api::catalogue::get_extension),
    || routes!(api::catalogue::list_prompts),
    || routes!(api::catalogue::get_prompt),
    || routes!(api::catalogue::list_environs),
    || routes!(api::catalogue::get_environ),
    || routes!(api::catalogue::list_tools),
    || routes!(api::catalogue::get_tool),
    || routes!(api::render::render),
    || routes!(api::render::render_prompt),
    || routes!(api::render::render_prompt_kind),
    || routes!(api::chat::chat_prompt),
    || routes!(api::chat::chat_prompt_alias),
];

/// The routes of the agents, relative to `/v1`.
const AGENT: &[Make] = &[
    || routes!(response::respond),
    || routes!(response::cancel),
    || routes!(response::resume),
    || routes!(response::health),
];

/// The routes of OpenAI's clients, relative to `/v1`.
const OPENAI: &[Make] = &[
    || routes!(openai::chat::complete),
    || routes!(openai::models::list),
    || routes!(openai::models::retrieve),
    || routes!(openai::responses::create_response),
    || routes!(openai::responses::retrieve_response),
    || routes!(openai::responses::delete_response),
];

/// The routes that probes written for Chat Shell look for.
const ORIGIN_PROBE: &[Make] = &[
    || routes!(response::alive),
    || routes!(response::ready),
    || routes!(response::startup),
];

/// The routes that describe the service itself.
const DESCRIPTION: &[Make] = &[
    || routes!(openapi::document),
    || routes!(openapi::page),
    || routes!(openapi::old_page),
];

/// The route of MCP clients.
const MCP: &[Make] = &[|| routes!(mcp::answer)];

/// The routes that probes look for at the root.
const PROBE: &[Make] = &[
    || routes!(health::healthz),
    || routes!(health::readyz),
    || routes!(health::metrics),
];

/// The routes for clients of other services, whose shapes are described there and not in our
/// document.
const DOORS: &[&[api::Door]] = &[api::langfuse::ROUTES];

/// Everything that a server needs to answer: what its handlers share, and the ways to them.
pub(crate) fn build(config: ServerConfig, hosts: Hosts, services: Services) -> (Arc<App>, Entry) {
    let mut routes = Vec::new();
    for (base, suffix, makes) in mounted(&config.prefix) {
        for make in makes {
            let (_, paths, handler) = make();
            for (path, mut item) in paths.paths {
                routes.push(Route {
                    path: format!("{base}{path}"),
                    method: name_operation(&mut item, suffix),
                    handler: handler.clone(),
                });
            }
        }
    }
    for (method, path, handler) in DOORS.iter().copied().flatten() {
        routes.push(Route {
            path: format!("{}{path}", config.prefix),
            method,
            handler: handler(),
        });
    }
    let labels = || {
        let routes = routes.iter();
        routes.map(|route| (route.method, route.path.as_str()))
    };
    let metrics = Metrics::new(labels());
    let direct = Arc::new(Direct::of(&config.prefix, labels()));
    let app = Arc::new(App::new(config, hosts, services, metrics, document));
    let mut router = Router::new();
    for (index, route) in routes.into_iter().enumerate() {
        let at = At {
            app: app.clone(),
            route: index,
        };
        router = router.route(&pattern(&route.path), route.handler.with_state(at));
    }
    let router = router
        .fallback(no_route)
        .method_not_allowed_fallback(no_method);
    (app, Entry { direct, router })
}

/// The OpenAPI document, as JSON.
fn document(config: &ServerConfig) -> String {
    let (paths, schemas) = described(&config.prefix);
    let info = InfoBuilder::new()
        .title("Quillet")
        .version(env!("CARGO_PKG_VERSION"))
        .description(Some(
            "Prompts, shared variables and tools, rendered and sent to a model.",
        ))
        .build();
    let components = ComponentsBuilder::new()
        .schemas_from_iter(schemas)
        .schema_from::<Problem>()
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

fn described(prefix: &str) -> (Paths, Schemas) {
    let (mut all, mut schemas) = (PathsBuilder::new(), Schemas::new());
    for (base, suffix, makes) in mounted(prefix) {
        for make in makes {
            let (used, paths, _) = make();
            schemas.extend(used);
            for (path, mut item) in paths.paths {
                name_operation(&mut item, suffix);
                all = all.path(format!("{base}{path}"), item);
            }
        }
    }
    (all.build(), schemas)
}

/// What the router looks for: names of models have slashes in them.
fn pattern(path: &str) -> Cow<'_, str> {
    match path.strip_suffix("/v1/models/{id}") {
        Some(prefix) => Cow::Owned(format!("{prefix}/v1/models/{{*id}}")),
        None => Cow::Borrowed(path),
    }
}

/// All routes: where they are, what the ids of their operations end in, and they.
fn mounted(prefix: &str) -> Vec<(String, &'static str, &'static [Make])> {
    let [api, origin] = BASES.map(|base| format!("{prefix}{base}"));
    let v1 = format!("{prefix}/v1");
    vec![
        (api, "", SERVICE),
        (origin, "_v1", SERVICE),
        (format!("{prefix}{}", sql::BASE), "", sql::ROUTES),
        (v1.clone(), "", AGENT),
        (v1, "", OPENAI),
        (prefix.to_owned(), "", ORIGIN_PROBE),
        (prefix.to_owned(), "", DESCRIPTION),
        (prefix.to_owned(), "", MCP),
        (String::new(), "", PROBE),
    ]
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

async fn no_route(uri: axum::http::Uri) -> crate::error::ApiError {
    if let Some(missing) = sql::missing_at(uri.path()) {
        return problem(ErrorCode::FeatureMissing, missing.to_string());
    }
    problem(
        ErrorCode::RouteUnknown,
        format!("there is no route {}", uri.path()),
    )
    .hint("GET /openapi.json lists the routes")
}

async fn no_method(method: axum::http::Method, uri: axum::http::Uri) -> crate::error::ApiError {
    problem(
        ErrorCode::RouteMethod,
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
        let (_, schemas) = described("");
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

//! Fast path for the hottest routes.
//!
//! axum's router boxes a service, two futures and the body of every request, and stores path
//! parameters in a map, which costs a tenth of a render over HTTP. The routes here call the handler
//! function directly. All other requests, such as those with a percent sign in the id, go to the
//! router, which also has these routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::FromRequestParts;
use axum::http::Method;
use axum::http::request::Request;
use axum::response::Response;
use hyper::body::Incoming;
use quillet_core::BoxFuture;

use crate::api::body::NotedBody;
use crate::api::{Id, openai, render};
use crate::error::ApiError;
use crate::extract::QueryParams;
use crate::request_context::RequestContext;
use crate::requirements::RouteRequirements;
use crate::revision::RevisionPreconditions;

/// The fast path and the router.
#[derive(Clone, Debug)]
pub(crate) struct FastRouter {
    /// The fast path, tried first.
    pub(crate) direct: Arc<FastRoutes>,
    /// The router with all routes.
    pub(crate) router: Router,
}

/// The routes of the fast path.
#[derive(Debug, Default)]
pub(crate) struct FastRoutes(Vec<Route>);

#[derive(Debug)]
struct Route {
    way: DirectRoute,
    /// The path, without a trailing id.
    path: String,
    /// The index among all routes.
    index: usize,
    needs: RouteRequirements,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DirectRoute {
    RenderPrompt,
    Render,
    Chat,
}

/// The route that a request matched.
#[derive(Debug)]
pub(crate) struct RouteMatch {
    way: DirectRoute,
    id: String,
    /// The index among all routes.
    pub(crate) index: usize,
    needs: RouteRequirements,
}

impl FastRoutes {
    /// Selects the fast routes from all routes (method, path and requirement).
    pub(crate) fn of<'a>(
        prefix: &str,
        all: impl Iterator<Item = (&'a str, &'a str, RouteRequirements)>,
    ) -> Self {
        let route = |(index, (method, path, needs)): (usize, (&str, &str, RouteRequirements))| {
            let way = match path.strip_prefix(prefix)? {
                "/api/render/prompts/{id}" | "/api/v1/render/prompts/{id}" => {
                    DirectRoute::RenderPrompt
                }
                "/api/render" | "/api/v1/render" => DirectRoute::Render,
                "/v1/chat/completions" => DirectRoute::Chat,
                _ => return None,
            };
            let path = path.strip_suffix("{id}").unwrap_or(path).to_owned();
            (method == "POST").then_some(Route {
                way,
                path,
                index,
                needs,
            })
        };
        FastRoutes(all.enumerate().filter_map(route).collect())
    }

    /// Returns the route of a request, if the fast path has it.
    pub(crate) fn find(&self, method: &Method, path: &str) -> Option<RouteMatch> {
        if method != Method::POST {
            return None;
        }
        self.0.iter().find_map(|route| {
            let id = path.strip_prefix(route.path.as_str())?;
            // Percent signs need decoding, and an encoded slash changes the route, so leave both to
            // the router.
            let fits = match route.way {
                DirectRoute::RenderPrompt => {
                    !id.is_empty() && !id.bytes().any(|b| b == b'/' || b == b'%')
                }
                DirectRoute::Render | DirectRoute::Chat => id.is_empty(),
            };
            let Route {
                way, index, needs, ..
            } = *route;
            fits.then(|| RouteMatch {
                way,
                id: id.to_owned(),
                index,
                needs,
            })
        })
    }
}

impl RouteMatch {
    /// Calls the handler of the route.
    pub(crate) fn answer(
        self,
        call: RequestContext,
        request: Request<Incoming>,
    ) -> BoxFuture<'static, Result<Response, ApiError>> {
        let (mut parts, body) = request.into_parts();
        match self.way {
            DirectRoute::RenderPrompt => {
                let id = Id(self.id);
                Box::pin(async move {
                    call.check_requirements(self.needs, &id.0).await?;
                    let wanted = RevisionPreconditions::from_request_parts(&mut parts, &()).await?;
                    let asked = QueryParams::from_request_parts(&mut parts, &()).await?;
                    // Free the headers before the body is awaited, because many requests may be
                    // waiting.
                    drop(parts);
                    let body = NotedBody::read(&call.app.config, body).await?;
                    render::render_prompt(call, wanted, id, asked, body).await
                })
            }
            DirectRoute::Render => Box::pin(async move {
                call.check_requirements(self.needs, "").await?;
                let wanted = RevisionPreconditions::from_request_parts(&mut parts, &()).await?;
                let asked = QueryParams::from_request_parts(&mut parts, &()).await?;
                drop(parts);
                let body = NotedBody::read(&call.app.config, body).await?;
                render::render(call, wanted, asked, body).await
            }),
            DirectRoute::Chat => {
                drop(parts);
                Box::pin(async move {
                    call.check_requirements(self.needs, "").await?;
                    openai::chat::answer(call, body).await
                })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_requests_are_found() {
        let all = [
            ("GET", "/p/api/prompts/{id}"),
            ("POST", "/p/api/render"),
            ("POST", "/p/api/render/prompts/{id}"),
            ("POST", "/p/api/prompts/{id}/render"),
            ("POST", "/p/v1/chat/completions"),
        ];
        let all = all.map(|(method, path)| (method, path, RouteRequirements::Entry));
        let direct = FastRoutes::of("/p", all.into_iter());
        for (method, path, expected) in [
            (Method::POST, "/p/api/render", Some((1, ""))),
            (Method::POST, "/p/api/render/prompts/a.b", Some((2, "a.b"))),
            (Method::POST, "/p/v1/chat/completions", Some((4, ""))),
            (Method::GET, "/p/v1/chat/completions", None),
            (Method::POST, "/v1/chat/completions", None),
            (Method::POST, "/p/v1/chat/completions/", None),
            (Method::POST, "/p/api/render/prompts/", None),
            (Method::POST, "/p/api/render/prompts/a/b", None),
            (Method::POST, "/p/api/render/prompts/a%2Fb", None),
            (Method::POST, "/p/api/prompts/a/render", None),
        ] {
            let found = direct.find(&method, path);
            let found = found.map(|found| (found.index, found.id));
            let expected = expected.map(|(index, id): (usize, &str)| (index, id.to_owned()));
            assert_eq!(found, expected, "{method} {path}");
        }
    }
}

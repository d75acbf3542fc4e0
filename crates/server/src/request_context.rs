//! The context of one request: its id, client and route.

use std::hash::{BuildHasher, RandomState};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use axum::http::{HeaderName, HeaderValue};
use quillet_core::ErrorCode;
use quillet_core::chat::ChatModel;
use quillet_core::store::EntryKind;
use quillet_host::definitions::{Actor, Permission, PermissionSet};

use crate::app::App;
use crate::error::{ApiError, problem};
use crate::rate::RateKey;
use crate::requirements::{self, RouteRequirements};

/// The header with the request id, in both directions.
pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The maximum length of a request id from a client.
const LONGEST_ID: usize = 128;

/// The state of a request outside its handler.
#[derive(Debug)]
pub(crate) struct Exchange {
    id: HeaderValue,
    /// Whether the client chose the id.
    given: bool,
    /// Whether this is a batch row, whose id stays the same when the row is leased again.
    is_row: bool,
    /// An id set by the route, instead of a generated one.
    named: OnceLock<HeaderValue>,
    client: RateKey,
    /// The address of the client.
    address: IpAddr,
    /// The model that replaces those of this server.
    instead: Option<Arc<dyn ChatModel>>,
    /// Index into the routes of [`crate::metrics::Metrics`], `usize::MAX` until a route is matched.
    route: AtomicUsize,
}

impl Exchange {
    /// Uses the client's id if it is short and safe to log.
    pub(crate) fn new(given: Option<&HeaderValue>) -> Self {
        let given = given.filter(|id| is_harmless(id));
        Exchange {
            given: given.is_some(),
            is_row: false,
            client: RateKey::UNKNOWN,
            address: Ipv4Addr::UNSPECIFIED.into(),
            instead: None,
            named: OnceLock::new(),
            id: given.cloned().unwrap_or_else(next_id),
            route: AtomicUsize::new(usize::MAX),
        }
    }

    /// Creates the exchange of a batch row with this id.
    pub(crate) fn of_row(id: &str) -> Self {
        let id = HeaderValue::try_from(id).ok();
        Exchange {
            is_row: id.as_ref().is_some_and(is_harmless),
            ..Exchange::new(id.as_ref())
        }
    }

    pub(crate) fn is_row(&self) -> bool {
        self.is_row
    }

    /// Sets the client.
    pub(crate) fn with_client(self, client: RateKey, address: IpAddr) -> Self {
        Exchange {
            client,
            address,
            ..self
        }
    }

    /// Sets a model that replaces those of this server.
    pub(crate) fn with_model(self, model: Arc<dyn ChatModel>) -> Self {
        Exchange {
            instead: Some(model),
            ..self
        }
    }

    /// Returns the model that replaces those of this server.
    pub(crate) fn replacement_model(&self) -> Option<&Arc<dyn ChatModel>> {
        self.instead.as_ref()
    }

    pub(crate) fn id(&self) -> &str {
        self.header_ref().to_str().unwrap_or_default()
    }

    pub(crate) fn header(&self) -> HeaderValue {
        self.header_ref().clone()
    }

    fn header_ref(&self) -> &HeaderValue {
        self.named.get().unwrap_or(&self.id)
    }

    /// Returns the id of an agent request: the id in the header, or a safe id in the body, or else
    /// `req-` with 12 hexadecimal digits.
    pub(crate) fn set_agent_id(&self, in_body: Option<&str>) -> String {
        if !self.given {
            let in_body = in_body.and_then(|id| HeaderValue::try_from(id).ok());
            let _ = self
                .named
                .set(in_body.filter(is_harmless).unwrap_or_else(short_id));
        }
        self.id().to_owned()
    }

    pub(crate) fn route(&self) -> usize {
        self.route.load(Ordering::Relaxed)
    }
}

fn is_harmless(id: &HeaderValue) -> bool {
    // Quotes, spaces and control characters are excluded, because the id is written to logs and
    // JSON unescaped.
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@".contains(byte);
    (1..=LONGEST_ID).contains(&id.len()) && id.as_bytes().iter().all(allowed)
}

/// Returns an id that consists of a random number of this process and a counter.
fn next_id() -> HeaderValue {
    static PROCESS: LazyLock<String> =
        LazyLock::new(|| format!("{:012x}-", RandomState::new().hash_one(0) >> 16));
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let mut count = COUNT.fetch_add(1, Ordering::Relaxed);
    // The id is formatted manually from the end, because every request needs an id and `format!`
    // would cost more than creating the other parts of the context.
    let mut text = [0; 32];
    let mut start = text.len();
    loop {
        start -= 1;
        text[start] = b"0123456789abcdef"[(count & 15) as usize];
        count >>= 4;
        if count == 0 {
            break;
        }
    }
    let end = start;
    start -= PROCESS.len();
    text[start..end].copy_from_slice(PROCESS.as_bytes());
    let id = HeaderValue::from_bytes(&text[start..]);
    id.unwrap_or(HeaderValue::from_static("unknown"))
}

fn short_id() -> HeaderValue {
    let id = uuid::Uuid::new_v4().simple().to_string();
    let text = format!("req-{}", &id[..12]);
    HeaderValue::try_from(text).unwrap_or(HeaderValue::from_static("req-unknown"))
}

/// The state of a route: the shared state and the route's own properties.
#[derive(Clone, Debug)]
pub(crate) struct RouteState {
    pub(crate) app: Arc<App>,
    pub(crate) route: usize,
    /// The required permission.
    pub(crate) needs: RouteRequirements,
    /// The kind of definition, for a route that exists once per kind.
    pub(crate) kind: Option<EntryKind>,
}

/// The context of a request for its handler, in addition to path and body.
#[derive(Debug)]
pub(crate) struct RequestContext {
    pub(crate) app: Arc<App>,
    pub(crate) exchange: Arc<Exchange>,
    pub(crate) client: RateKey,
}

impl FromRequestParts<RouteState> for RequestContext {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, at: &RouteState) -> Result<Self, ApiError> {
        let exchange = match parts.extensions.get::<Arc<Exchange>>() {
            Some(exchange) => exchange.clone(),
            None => Arc::new(Exchange::new(parts.headers.get(&REQUEST_ID))),
        };
        let call = RequestContext::new(at.app.clone(), exchange, at.route);
        if call.rights().are_all() {
            return Ok(call);
        }
        let name = requirements::name_in(parts).await;
        call.check_requirements(at.needs, name.as_deref().unwrap_or_default())
            .await?;
        Ok(call)
    }
}

impl RequestContext {
    /// Creates the context and records the route.
    pub(crate) fn new(app: Arc<App>, exchange: Arc<Exchange>, route: usize) -> Self {
        // The route is set before the permission check, so that rejected requests count for their
        // route.
        exchange.route.store(route, Ordering::Relaxed);
        RequestContext {
            client: exchange.client,
            app,
            exchange,
        }
    }

    /// Returns the actor for operations on definitions.
    pub(crate) fn actor(&self) -> Actor {
        let (name, rights) = self.app.auth.owner(self.client);
        Actor {
            name: name.clone(),
            from: self.exchange.address.to_string().into(),
            rights: rights.clone(),
        }
    }

    /// Checks the permission that a route requires. `name` is the definition in its path.
    ///
    /// # Errors
    /// Fails with `auth.forbidden`.
    pub(crate) async fn check_requirements(
        &self,
        needs: RouteRequirements,
        name: &str,
    ) -> Result<(), ApiError> {
        let rights = self.rights();
        match needs {
            // The common case of a token without restrictions skips the lookup of the definition.
            _ if rights.are_all() => Ok(()),
            RouteRequirements::Entry => Ok(()),
            RouteRequirements::Any(right) if rights.has_somewhere(right) => Ok(()),
            RouteRequirements::Any(right) => Err(self.forbidden(right, "any definition").await),
            RouteRequirements::Of([right @ (Permission::Read | Permission::Render)], kind) => {
                self.require_permission(*right, kind, name).await
            }
            RouteRequirements::Of(wanted, kind) => {
                let held = wanted.iter().any(|right| rights.has(*right, name));
                match wanted.first() {
                    Some(right) if !held => self.check_permission(*right, kind, name).await,
                    _ => Ok(()),
                }
            }
        }
    }

    /// Checks a permission for a definition. The id may end with a version selector, as in
    /// `greet.hello@7`.
    ///
    /// # Errors
    /// Fails with `auth.forbidden`, or if the version selector is invalid.
    pub(crate) async fn require_permission(
        &self,
        right: Permission,
        kind: EntryKind,
        text: &str,
    ) -> Result<(), ApiError> {
        if self.rights().are_all() {
            return Ok(());
        }
        let (id, _) = self.app.definitions.divide(kind, text).await?;
        self.check_permission(right, kind, id).await
    }

    /// Checks a permission for one definition, and records a rejection in the audit log.
    async fn check_permission(
        &self,
        right: Permission,
        kind: EntryKind,
        id: &str,
    ) -> Result<(), ApiError> {
        let definitions = &self.app.definitions;
        Ok(definitions.permit(&self.actor(), right, kind, id).await?)
    }

    /// Checks a permission for all definitions, because the request may use any of them.
    ///
    /// # Errors
    /// Fails with `auth.forbidden`.
    pub(crate) async fn require_everywhere(&self, right: Permission) -> Result<(), ApiError> {
        if self.rights().has_everywhere(right) {
            return Ok(());
        }
        Err(self.forbidden(right, "every definition").await)
    }

    async fn forbidden(&self, right: Permission, what: &str) -> ApiError {
        let asked = self.app.metrics.name_of(self.exchange.route());
        let definitions = &self.app.definitions;
        let told = definitions.forbid(&self.actor(), right, what, asked).await;
        problem(ErrorCode::AuthForbidden, told)
    }

    /// Returns the permissions of the caller.
    pub(crate) fn rights(&self) -> &PermissionSet {
        &self.app.auth.owner(self.client).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id_for(given: &'static str) -> String {
        let given = HeaderValue::from_static(given);
        Exchange::new(Some(&given)).id().to_owned()
    }

    #[test]
    fn only_harmless_ids_are_taken_over() {
        assert_eq!(id_for("trace-7:a/b"), "trace-7:a/b");
        let long: &'static str = "x".repeat(129).leak();
        for hostile in ["", "a b", "\"quoted\"", "a\tb", long] {
            assert_ne!(id_for(hostile), hostile);
        }
        assert_ne!(next_id(), next_id());
    }
}

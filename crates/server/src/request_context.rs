//! One request on its way: its id, and which route took it.

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

/// Header that carries a request's id in both directions.
pub(crate) static REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Longest id taken over from a client.
const LONGEST_ID: usize = 128;

/// What is known about one request outside of its handler.
#[derive(Debug)]
pub(crate) struct Exchange {
    id: HeaderValue,
    /// Whether the client said the id.
    given: bool,
    /// Whether it is a row of a batch, whose id is the same whenever it is handed out.
    is_row: bool,
    /// The id that a route gave in place of one of ours.
    named: OnceLock<HeaderValue>,
    /// The client.
    client: RateKey,
    /// Where it is.
    address: IpAddr,
    /// What answers in place of the models of this server.
    instead: Option<Arc<dyn ChatModel>>,
    /// Index into the routes of [`crate::metrics::Metrics`]; `usize::MAX` until a route has it.
    route: AtomicUsize,
}

impl Exchange {
    /// Takes the client's id over if it is short and harmless in a log.
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

    /// A row of a batch, known by this id.
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

    /// The same, asked by somebody.
    pub(crate) fn with_client(self, client: RateKey, address: IpAddr) -> Self {
        Exchange {
            client,
            address,
            ..self
        }
    }

    /// The same, answered by a model that stands in for those of this server.
    pub(crate) fn answered_by(self, model: Arc<dyn ChatModel>) -> Self {
        Exchange {
            instead: Some(model),
            ..self
        }
    }

    /// What answers in place of the models of this server.
    pub(crate) fn instead(&self) -> Option<&Arc<dyn ChatModel>> {
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

    /// The id of a request to an agent: the header's, else the body's if it is
    /// harmless, else `req-` and 12 hexadecimal digits.
    pub(crate) fn name(&self, in_body: Option<&str>) -> String {
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
    let allowed = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.:/+=@".contains(byte);
    (1..=LONGEST_ID).contains(&id.len()) && id.as_bytes().iter().all(allowed)
}

/// A number that no other process is likely to have, and a count.
fn next_id() -> HeaderValue {
    static PROCESS: LazyLock<String> =
        LazyLock::new(|| format!("{:012x}-", RandomState::new().hash_one(0) >> 16));
    static COUNT: AtomicU64 = AtomicU64::new(1);
    let mut count = COUNT.fetch_add(1, Ordering::Relaxed);
    // Written from its end and by hand: every request has one, and formatting it would take
    // longer than all else that is known of a request.
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

/// The state of a route: what all share, and which one it is.
#[derive(Clone, Debug)]
pub(crate) struct RouteState {
    pub(crate) app: Arc<App>,
    pub(crate) route: usize,
    /// What it needs of whoever asks.
    pub(crate) needs: RouteRequirements,
    /// Of a route that is there for several kinds of definitions: which it is for.
    pub(crate) kind: Option<EntryKind>,
}

/// What a handler knows about its request besides path and body.
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
        call.admit(at.needs, name.as_deref().unwrap_or_default())
            .await?;
        Ok(call)
    }
}

impl RequestContext {
    /// A request that a route takes.
    pub(crate) fn new(app: Arc<App>, exchange: Arc<Exchange>, route: usize) -> Self {
        exchange.route.store(route, Ordering::Relaxed);
        RequestContext {
            client: exchange.client,
            app,
            exchange,
        }
    }

    /// Who asks, for whatever is done to definitions.
    pub(crate) fn actor(&self) -> Actor {
        let (name, rights) = self.app.auth.known(self.client);
        Actor {
            name: name.clone(),
            from: self.exchange.address.to_string().into(),
            rights: rights.clone(),
        }
    }

    /// Nothing if whoever asks has what a route needs; `name` is what its path names.
    ///
    /// # Errors
    /// `auth.forbidden`.
    pub(crate) async fn admit(&self, needs: RouteRequirements, name: &str) -> Result<(), ApiError> {
        let rights = self.rights();
        match needs {
            _ if rights.are_all() => Ok(()),
            RouteRequirements::Entry => Ok(()),
            RouteRequirements::Any(right) if rights.has_somewhere(right) => Ok(()),
            RouteRequirements::Any(right) => Err(self.forbidden(right, "any definition").await),
            RouteRequirements::Of([right @ (Permission::Read | Permission::Render)], kind) => {
                self.may(*right, kind, name).await
            }
            RouteRequirements::Of(wanted, kind) => {
                let held = wanted.iter().any(|right| rights.has(*right, name));
                match wanted.first() {
                    Some(right) if !held => self.permit(*right, kind, name).await,
                    _ => Ok(()),
                }
            }
        }
    }

    /// Nothing if whoever asks has a right for what a text names, which may end in a mark:
    /// `greet.hello@7`.
    ///
    /// # Errors
    /// `auth.forbidden`; no mark can be read behind the sign.
    pub(crate) async fn may(
        &self,
        right: Permission,
        kind: EntryKind,
        text: &str,
    ) -> Result<(), ApiError> {
        if self.rights().are_all() {
            return Ok(());
        }
        let (id, _) = self.app.definitions.divide(kind, text).await?;
        self.permit(right, kind, id).await
    }

    /// Nothing if whoever asks has a right for a definition; what is refused is in the log.
    async fn permit(&self, right: Permission, kind: EntryKind, id: &str) -> Result<(), ApiError> {
        let definitions = &self.app.definitions;
        Ok(definitions.permit(&self.actor(), right, kind, id).await?)
    }

    /// Nothing if whoever asks has a right for everything: what they ask for may reach anything.
    ///
    /// # Errors
    /// `auth.forbidden`.
    pub(crate) async fn may_everywhere(&self, right: Permission) -> Result<(), ApiError> {
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

    /// What whoever asks may do.
    pub(crate) fn rights(&self) -> &PermissionSet {
        &self.app.auth.known(self.client).1
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

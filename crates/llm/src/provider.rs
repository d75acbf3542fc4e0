//! The client of all provider APIs. It always requests a stream, and a complete reply is the folded
//! stream. Dropping the stream cancels the call.
//!
//! Creating a provider takes microseconds: connections belong to the shared [`Http`], and only key,
//! headers and address are stored here.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use hyper::Uri;
use hyper::http::header::{
    ACCEPT, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, USER_AGENT,
};
use quillet_core::BoxFuture;
use quillet_core::chat::{
    ChatModel, ChatRequest, ChatStream, ModelError, ModelErrorKind, WireRequest, WireStream,
};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout_at;

use crate::answer::HttpResponse;
use crate::decode::{AnswerLimits, ResponseDecoder};
use crate::encoding::Unpack;
use crate::endpoint::{Endpoint, NativeProvider};
use crate::failure::{ErrorContext, MOST_REPEATED};
use crate::http::{AGENT, Http, HttpRoute};
use crate::models::refusals::{may_refuse, remove_refused};
use crate::protocol::Protocol;
use crate::reading::{Deadlines, ResponseReader};
use crate::retry_after::retry_after;
use crate::timeouts::Timeouts;

/// Configuration of a [`Provider`].
#[derive(Clone, Debug, Default)]
pub struct ProviderConfig {
    /// Base URL, with or without the API version; `None` for the API's own provider.
    pub base_url: Option<String>,
    /// API key. Local servers need no key; an empty key counts as missing.
    pub api_key: Option<SecretString>,
    /// Default model for requests that do not set one.
    pub model: Option<String>,
    /// Headers added to every request. They replace headers of the API with the same name, and
    /// their values are treated as secret.
    pub headers: Vec<(String, SecretString)>,
    /// Timeouts.
    pub timeouts: Timeouts,
    /// Size limits of answers.
    pub limits: AnswerLimits,
    /// Whether key and address came with the request. Errors then refer to the request instead of
    /// settings.
    pub by_request: bool,
}

/// Headers of the connection or the body, which callers cannot set.
// hyper sets these headers itself. Duplicate values of one header can split a request at a proxy.
const NOT_OURS: [&str; 7] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "te",
    "transfer-encoding",
    "upgrade",
];

/// A provider API at one address.
#[derive(Clone)]
pub struct Provider {
    http: Http,
    protocol: Arc<dyn Protocol>,
    endpoint: Endpoint,
    /// Path of the method below the base URL, and the complete URI, computed once.
    target: (String, Uri),
    /// Route to the provider, determined by the first request.
    way: OnceLock<HttpRoute>,
    headers: HeaderMap,
    has_key: bool,
    model: Option<String>,
    timeouts: Timeouts,
    limits: AnswerLimits,
    teller: Arc<ErrorContext>,
}

impl Provider {
    /// Creates the client without connecting.
    ///
    /// # Errors
    /// The base URL, a key or a header is invalid, or the address is not allowed
    /// ([`ModelErrorKind::Configuration`]).
    pub fn new(
        http: Http,
        protocol: Arc<dyn Protocol>,
        config: ProviderConfig,
    ) -> Result<Self, ModelError> {
        let home = NativeProvider::of(protocol.name());
        let base_url = config.base_url.as_deref().unwrap_or(home.base_url);
        let endpoint = Endpoint::parse(base_url, home)?;
        // An address literal can be rejected now, but a name only when it is resolved.
        http.check(&endpoint)?;
        let key = config
            .api_key
            .as_ref()
            .map(|key| key.expose_secret().trim());
        let key = key.filter(|key| !key.is_empty());
        let mut headers = headers(&*protocol, &endpoint, key, &config.headers)
            .map_err(|cause| ModelError::new(ModelErrorKind::Configuration, cause))?;
        headers
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(AGENT));
        let path = protocol.path(config.model.as_deref().unwrap_or_default());
        let target = (path.clone(), endpoint.uri(&path)?);
        // Set here once; otherwise the client would format the header for every request.
        if let Ok(host) = HeaderValue::try_from(endpoint.name()) {
            headers.insert(HOST, host);
        }
        let values = config.headers.iter().map(|(_, value)| value);
        let teller = ErrorContext {
            address: format!("model at {endpoint}"),
            home,
            is_home: endpoint.is_home(),
            by_request: config.by_request,
            secrets: config.api_key.iter().chain(values).cloned().collect(),
            request_id: None,
        };
        Ok(Provider {
            http,
            protocol,
            target,
            way: OnceLock::new(),
            headers,
            has_key: key.is_some() || !config.headers.is_empty(),
            endpoint,
            model: config.model,
            timeouts: config.timeouts,
            limits: config.limits,
            teller: Arc::new(teller),
        })
    }

    /// Returns the default model for requests that do not set one.
    #[must_use]
    pub fn default_model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns the provider API.
    #[must_use]
    pub fn protocol(&self) -> &Arc<dyn Protocol> {
        &self.protocol
    }

    /// Returns the configuration error that prevents requests for this model, such as a missing key
    /// or model.
    #[must_use]
    pub fn configuration_error(&self, model: Option<&str>) -> Option<ModelError> {
        let request = ChatRequest {
            model: model.map(str::to_owned),
            ..ChatRequest::default()
        };
        self.check(&request).err()
    }

    /// Returns the host and port of the provider.
    ///
    /// # Examples
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use quillet_llm::{Http, OpenAiChat, Provider, ProviderConfig};
    ///
    /// let config = ProviderConfig {
    ///     base_url: Some("http://127.0.0.1:8080/v1".into()),
    ///     ..ProviderConfig::default()
    /// };
    /// let provider = Provider::new(Http::default(), Arc::new(OpenAiChat::default()), config)?;
    /// assert_eq!(provider.host(), ("127.0.0.1", 8080));
    /// # Ok::<(), quillet_core::chat::ModelError>(())
    /// ```
    #[must_use]
    pub fn host(&self) -> (&str, u16) {
        self.endpoint.host()
    }

    /// Whether the address is that of the API's own provider instead of a compatible server.
    pub(crate) fn is_at_home(&self) -> bool {
        self.endpoint.is_home()
    }

    /// Lists the models of the server, limited to two seconds and one mebibyte.
    ///
    /// # Errors
    /// The server does not return a list.
    pub async fn list(&self) -> Result<Vec<String>, ModelError> {
        const PATIENCE: Duration = Duration::from_secs(2);
        const MOST_BYTES: usize = 1 << 20;
        let client = self.http.client(&self.endpoint)?;
        let read = async {
            let url = self.endpoint.url("/models");
            let sent = client.get(url).headers(self.headers.clone()).send().await;
            let mut response = sent.map_err(|error| self.teller.request_error(error))?;
            let mut body = Vec::new();
            while let Some(piece) = response
                .chunk()
                .await
                .map_err(|e| self.teller.stream_error(e))?
            {
                body.extend_from_slice(&piece);
                // The remaining bytes are dropped, and the truncated JSON is reported below.
                if body.len() > MOST_BYTES {
                    break;
                }
            }
            Ok::<_, ModelError>(body)
        };
        let late = |_| {
            self.teller
                .timeout_error("no list of models", "of a list", PATIENCE)
        };
        let body = tokio::time::timeout(PATIENCE, read).await.map_err(late)??;
        listed(&body).ok_or_else(|| {
            let cause = "the answer contains no list of models";
            self.teller.error(ModelErrorKind::Protocol, cause)
        })
    }

    /// Calls a method of the provider and returns the response body, within [`Timeouts::total`].
    ///
    /// # Errors
    /// The provider is unreachable or returns an error status, or the body is incomplete.
    pub(crate) async fn call(
        &self,
        method: reqwest::Method,
        path: &str,
        kind: Option<&str>,
        body: Vec<u8>,
    ) -> Result<Vec<u8>, ModelError> {
        if self.lacks_key() {
            let model = self.model.as_deref().or(Some("any"));
            return Err(self
                .configuration_error(model)
                .unwrap_or_else(|| self.teller.error(ModelErrorKind::Auth, "no key")));
        }
        let client = self.http.client(&self.endpoint)?;
        let mut headers = self.headers.clone();
        if let Some(kind) = kind.and_then(|kind| HeaderValue::try_from(kind).ok()) {
            headers.insert(CONTENT_TYPE, kind);
        }
        let read = async {
            let url = self.endpoint.url(path);
            let sent = client
                .request(method, url)
                .headers(headers)
                .body(body)
                .send();
            let response = sent
                .await
                .map_err(|error| self.teller.request_error(error))?;
            let status = response.status().as_u16();
            let wait = retry_after(response.headers(), SystemTime::now());
            let body = response
                .bytes()
                .await
                .map_err(|e| self.teller.stream_error(e))?;
            if (200..300).contains(&status) {
                return Ok(body.to_vec());
            }
            let refusal = self
                .protocol
                .refusal(status, &String::from_utf8_lossy(&body));
            Err(self.teller.status_error(status, refusal, wait))
        };
        let total = self.timeouts.total;
        let late = |_| {
            self.teller
                .timeout_error("no answer", "model.total_ms", total)
        };
        tokio::time::timeout(total, read).await.map_err(late)?
    }

    /// Returns the error for a response with this status and body.
    pub(crate) fn refusal(&self, status: u16, body: &str) -> ModelError {
        let refusal = self.protocol.refusal(status, body);
        self.teller.status_error(status, refusal, None)
    }

    async fn ask(&self, mut request: ChatRequest) -> Result<ChatStream, ModelError> {
        let model = self.check(&request)?;
        remove_refused(&model, &mut request.options);
        let body = self.protocol.write(&model, &request);
        let body = body.map_err(|error| self.teller.with_context(error))?;
        let headers = self.headers_for(&request)?;
        // The serialized body contains everything, so the request is dropped. A long conversation
        // should not stay in memory twice while the model works.
        drop(request);
        let mut timeouts = self.timeouts;
        if body.get("stream") == Some(&serde_json::Value::Bool(false)) {
            // Without streaming, the first byte arrives only after the complete answer is
            // generated.
            timeouts.first_byte = timeouts.total;
        }
        let body = serde_json::to_vec(&body).map_err(|error| {
            self.teller
                .error(ModelErrorKind::Refused, error.to_string())
        })?;
        let intake = ResponseDecoder::new(self.protocol.decoder(&model), self.limits);
        let path = self.protocol.path(&model);
        let reading = self.send(&path, headers, body, timeouts, intake).await?;
        Ok(reading.into_stream())
    }

    /// Returns the model and the body for pass-through, if the request has the same API and can be
    /// sent unchanged.
    fn passthrough_body(&self, request: &WireRequest) -> Option<(String, Vec<u8>)> {
        if self.lacks_key() {
            return None;
        }
        let model = request.model.clone().filter(|model| !model.is_empty())?;
        if may_refuse(&model, &request.refusable) {
            return None;
        }
        let body = self.protocol.pass(&model, request)?;
        Some((model, body))
    }

    async fn send_passthrough(
        &self,
        model: String,
        body: Vec<u8>,
        request: &WireRequest,
    ) -> Result<WireStream, ModelError> {
        let mut timeouts = self.timeouts;
        if !request.streams() {
            timeouts.first_byte = timeouts.total;
        }
        let intake = ResponseDecoder::new(self.protocol.decoder(&model), self.limits);
        let intake = intake.with_passthrough(request.asks_usage);
        let path = self.protocol.path(&model);
        let headers = self.headers.clone();
        let reading = self.send(&path, headers, body, timeouts, intake).await?;
        Ok(reading.into_wire_stream())
    }

    /// Sends a body and waits for the response headers.
    async fn send(
        &self,
        path: &str,
        headers: HeaderMap,
        body: Vec<u8>,
        timeouts: Timeouts,
        intake: ResponseDecoder,
    ) -> Result<ResponseReader, ModelError> {
        let target = if path == self.target.0 {
            self.target.1.clone()
        } else {
            self.endpoint.uri(path)?
        };
        // `get_or_init` cannot return an error. Concurrent requests compute the same route, so
        // either result is correct.
        let way = match self.way.get() {
            Some(way) => way,
            None => {
                let way = self.http.route(&self.endpoint, &target)?;
                self.way.get_or_init(|| way)
            }
        };
        let deadlines = Deadlines::new(timeouts);
        let sent = way.post(target, headers, body.into());
        let response = timeout_at(deadlines.first_byte, sent)
            .await
            .map_err(|_| deadlines.no_first_byte(&self.teller))?
            .map_err(|fault| self.teller.request_error(fault))?;
        if !response.status.is_success() {
            let teller = ErrorContext {
                request_id: response.request_id(),
                ..ErrorContext::clone(&self.teller)
            };
            return Err(self.refused(response, &deadlines, &teller).await);
        }
        let teller = Arc::clone(&self.teller);
        let mut reading = ResponseReader::new(response, intake, deadlines, teller)?;
        reading.begin().await?;
        Ok(reading)
    }

    /// Returns the headers of every request and those that depend on this one.
    fn headers_for(&self, request: &ChatRequest) -> Result<HeaderMap, ModelError> {
        let mut headers = self.headers.clone();
        for (name, value) in self.protocol.request_headers(request) {
            let Ok(value) = HeaderValue::from_str(&value) else {
                let cause = format!("the request's {name} has characters that cannot be sent");
                return Err(self.teller.error(ModelErrorKind::Refused, cause));
            };
            headers.append(name, value);
        }
        Ok(headers)
    }

    fn lacks_key(&self) -> bool {
        !self.has_key && self.endpoint.is_home()
    }

    /// Returns the model to use. Rejects requests that the provider would certainly reject.
    fn check(&self, request: &ChatRequest) -> Result<String, ModelError> {
        if self.lacks_key() {
            let home = self.endpoint.home();
            if self.teller.by_request {
                let cause = "no key: the request sets this address, so it must also carry the key";
                return Err(self.teller.error(ModelErrorKind::Auth, cause));
            }
            return Err(self.teller.error(
                ModelErrorKind::Auth,
                format!(
                    "no key: set {} or {}, run `quillet keys set {}`, or set {} to a server that needs none",
                    home.key_variable, home.key_setting, home.name, home.url_variable
                ),
            ));
        }
        let model = request.model.as_ref().or(self.model.as_ref());
        model
            .filter(|model| !model.is_empty())
            .cloned()
            .ok_or_else(|| {
                self.teller.error(
                    ModelErrorKind::Configuration,
                    "no model is set: set QUILLET_MODEL or model.name, or set one in the request",
                )
            })
    }

    /// Returns the error for an unsuccessful response, using the beginning of its body.
    async fn refused(
        &self,
        mut response: HttpResponse,
        deadlines: &Deadlines,
        teller: &ErrorContext,
    ) -> ModelError {
        let status = response.status.as_u16();
        let wait = retry_after(&response.headers, SystemTime::now());
        let mut body = Vec::new();
        let mut unpack = match Unpack::of(&response.headers) {
            Ok(unpack) => unpack,
            Err(error) => return teller.with_context(error),
        };
        while let Ok(Ok(Some(piece))) = timeout_at(deadlines.first_byte, response.chunk()).await {
            let unpacked = unpack.feed(&piece, |piece| {
                let room = (16 * MOST_REPEATED + 1).saturating_sub(body.len());
                body.extend_from_slice(&piece[..piece.len().min(room)]);
                Ok(())
            });
            if unpacked.is_err() {
                break;
            }
            // An error object around the message needs additional space.
            if body.len() > 16 * MOST_REPEATED {
                body.truncate(16 * MOST_REPEATED);
                break;
            }
        }
        let refusal = self
            .protocol
            .refusal(status, &String::from_utf8_lossy(&body));
        teller.status_error(status, refusal, wait)
    }
}

/// Omits the key, the headers and the query.
impl fmt::Debug for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("protocol", &self.protocol.name())
            .field("endpoint", &self.endpoint.to_string())
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

impl ChatModel for Provider {
    fn describe(&self) -> String {
        format!("{} at {}", self.protocol.name(), self.endpoint)
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(self.ask(request))
    }

    fn pass<'a>(
        &'a self,
        request: &'a WireRequest,
    ) -> Option<BoxFuture<'a, Result<WireStream, ModelError>>> {
        let (model, body) = self.passthrough_body(request)?;
        Some(Box::pin(self.send_passthrough(model, body, request)))
    }
}

/// Reads the list of OpenAI and Anthropic, `{"data": [{"id": …}]}`, or of Gemini,
/// `{"models": [{"name": "models/…"}]}`.
fn listed(body: &[u8]) -> Option<Vec<String>> {
    let body: serde_json::Value = serde_json::from_slice(body).ok()?;
    let (list, member) = match body.get("data") {
        Some(list) => (list, "id"),
        None => (body.get("models")?, "name"),
    };
    let name = |model: &serde_json::Value| {
        let name = model.get(member)?.as_str()?;
        Some(name.strip_prefix("models/").unwrap_or(name).to_owned())
    };
    let mut names: Vec<String> = list.as_array()?.iter().filter_map(name).collect();
    // The list is sorted and deduplicated, because some servers list a model twice.
    names.sort();
    names.dedup();
    Some(names)
}

pub(crate) fn headers(
    protocol: &dyn Protocol,
    endpoint: &Endpoint,
    key: Option<&str>,
    given: &[(String, SecretString)],
) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let accepted = HeaderValue::from_static("text/event-stream, application/json");
    headers.insert(ACCEPT, accepted);
    for (name, value) in own_headers(protocol, endpoint, key) {
        let header = HeaderName::try_from(name).ok();
        let (Some(header), Some(value)) = (header, secret(&value)) else {
            let home = endpoint.home();
            return Err(format!(
                "the API key has characters that cannot be sent: set {} or {} again",
                home.key_variable, home.key_setting
            ));
        };
        headers.insert(header, value);
    }
    for (name, value) in given {
        let header = HeaderName::try_from(name).ok();
        let value = secret(value.expose_secret());
        let (Some(header), Some(value)) = (header, value) else {
            return Err(format!(
                "the header {name:?} cannot be sent: check model.headers"
            ));
        };
        if NOT_OURS.contains(&header.as_str()) {
            return Err(format!(
                "the header {name:?} is reserved for the connection: remove it from model.headers"
            ));
        }
        headers.insert(header, value);
    }
    Ok(headers)
}

/// Returns the headers of the API; Azure uses a different header for the key.
fn own_headers(
    protocol: &dyn Protocol,
    endpoint: &Endpoint,
    key: Option<&str>,
) -> Vec<(&'static str, String)> {
    match key {
        Some(key) if endpoint.is_azure() => {
            let mut headers = protocol.headers(None);
            headers.push(("api-key", key.to_owned()));
            headers
        }
        key => protocol.headers(key),
    }
}

fn secret(text: &str) -> Option<HeaderValue> {
    let mut value = HeaderValue::from_str(text).ok()?;
    // Keeps the value out of debug output of the HTTP libraries.
    value.set_sensitive(true);
    Some(value)
}

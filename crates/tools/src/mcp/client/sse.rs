//! HTTP+SSE transport of revision 2024-11-05, which older servers still use. A GET opens a stream,
//! whose first event has the address for POSTs. Answers arrive on the stream.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use quillet_core::sse::{SseDecoder, SseEvent, TooLong};
use quillet_core::tool::{ToolError, ToolErrorKind};
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::{Method, Response};
use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use url::Url;

use crate::http::{Http, HttpRequest, remote_error};

/// Maximum message size, as in the other transports (rmcp's limits).
const MOST_EVENT_BYTES: usize = 16 << 20;

/// Timeout of a POST: the server only accepts the message and answers on the stream.
const POST_TIME: Duration = Duration::from_secs(30);

/// An open stream and the address for messages. Dropping it closes the stream.
pub(super) struct SseTransport {
    http: Arc<Http>,
    headers: HeaderMap,
    messages: Url,
    stream: Stream,
}

/// The events of the server.
struct Stream {
    response: Option<Response>,
    frames: SseDecoder,
    waiting: VecDeque<Event>,
}

/// One event.
struct Event {
    /// Its name; empty if the server did not set one.
    name: String,
    data: String,
}

impl From<SseEvent<'_>> for Event {
    fn from(frame: SseEvent<'_>) -> Self {
        Event {
            name: frame.name.unwrap_or_default().to_owned(),
            data: String::from_utf8_lossy(frame.data).into_owned(),
        }
    }
}

impl SseTransport {
    /// Opens the stream and waits for the address.
    pub(super) async fn open(
        http: Arc<Http>,
        url: &Url,
        headers: &HeaderMap,
    ) -> Result<Self, ToolError> {
        let mut accept = HeaderMap::new();
        accept.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
        let request = HttpRequest {
            method: Method::GET,
            url: url.clone(),
            body: None,
            headers: accept,
            own_headers: headers.clone(),
        };
        let response = http.send(request).await?;
        if !response.status().is_success() {
            return Err(remote_error(url, response).await);
        }
        // The address after redirects, because the endpoint is relative to it.
        let base = response.url().clone();
        let mut stream = Stream {
            response: Some(response),
            frames: SseDecoder::new(MOST_EVENT_BYTES, MOST_EVENT_BYTES),
            waiting: VecDeque::new(),
        };
        let messages = stream.endpoint(&base).await?;
        Ok(SseTransport {
            http,
            headers: headers.clone(),
            messages,
            stream,
        })
    }
}

impl Stream {
    /// Returns the next event; `None` when the stream has ended. Cancel-safe: no event is lost if
    /// the future is dropped.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            let chunk = self.response.as_mut()?.chunk().await;
            let mut take = |frame: SseEvent<'_>| {
                self.waiting.push_back(frame.into());
                Ok::<(), TooLong>(())
            };
            let fed = match chunk {
                Ok(Some(chunk)) => {
                    let fed = self.frames.feed(&chunk, &mut take);
                    fed.map_err(|error| error.to_string())
                }
                Ok(None) => Err("the server closed the stream".to_owned()),
                Err(error) => Err(crate::network::error_chain(&error)),
            };
            if let Err(error) = fed {
                tracing::debug!(error, "MCP stream ended");
                // Later calls return `None` immediately instead of reading a broken stream.
                self.response = None;
            }
        }
    }

    /// Reads the address for messages. It must have the stream's origin; otherwise a server could
    /// redirect credentials to another host.
    async fn endpoint(&mut self, base: &Url) -> Result<Url, ToolError> {
        let wrong = |why: String| ToolError::new(ToolErrorKind::Protocol, why);
        while let Some(event) = self.next().await {
            if event.name != "endpoint" {
                continue;
            }
            let url = base.join(event.data.trim());
            let url = url.map_err(|error| {
                wrong(format!(
                    "the server's endpoint event has no address: {error}"
                ))
            })?;
            // Messages carry the credentials of the configured origin.
            if url.origin() != base.origin() {
                return Err(wrong(
                    "the server's endpoint event leads to another origin".to_owned(),
                ));
            }
            return Ok(url);
        }
        Err(wrong(
            "the server sent no endpoint event (is it a streamable-http server? set its type)"
                .to_owned(),
        ))
    }
}

/// Error of a message that could not be sent.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub(super) struct SendError(pub(super) ToolError);

impl Transport<RoleClient> for SseTransport {
    type Error = SendError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SendError>> + Send + 'static {
        let (http, url) = (self.http.clone(), self.messages.clone());
        let headers = self.headers.clone();
        async move {
            let body = serde_json::to_vec(&message).map_err(|error| {
                SendError(ToolError::new(ToolErrorKind::Protocol, error.to_string()))
            })?;
            let posted = post(&http, url, headers, body.into());
            let posted = tokio::time::timeout(POST_TIME, posted).await;
            posted
                .unwrap_or_else(|_| Err(timeout_error()))
                .map_err(SendError)
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let event = self.stream.next().await?;
            // In SSE an event without a name is a `message`.
            if !matches!(event.name.as_str(), "" | "message") {
                continue;
            }
            match serde_json::from_str(&event.data) {
                Ok(message) => return Some(message),
                // One unreadable message does not end the session.
                Err(error) => tracing::debug!(%error, "invalid MCP message"),
            }
        }
    }

    async fn close(&mut self) -> Result<(), SendError> {
        self.stream.response = None;
        Ok(())
    }
}

fn timeout_error() -> ToolError {
    let text = format!("the server did not accept the message within {POST_TIME:?}");
    ToolError::new(ToolErrorKind::Timeout, text)
}

async fn post(http: &Http, url: Url, headers: HeaderMap, body: Bytes) -> Result<(), ToolError> {
    let request = HttpRequest {
        method: Method::POST,
        url: url.clone(),
        body: Some(body),
        headers: HeaderMap::new(),
        own_headers: headers,
    };
    let response = http.send(request).await?;
    if response.status().is_success() {
        return Ok(());
    }
    Err(remote_error(&url, response).await)
}

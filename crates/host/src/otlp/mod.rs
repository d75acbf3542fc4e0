//! Trace export: OTLP over HTTP with JSON bodies.
//!
//! Traces are queued without waiting and sent in batches by one task, so a slow or unavailable
//! collector loses traces but never delays answers. This module writes the messages itself: it
//! needs a single kind of request with seven fields, and the SDK would add a second span model next
//! to that of `core`.

mod message;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quillet_core::trace::{Trace, TraceSink};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Url};
use secrecy::{ExposeSecret, SecretString};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

/// Maximum number of queued traces.
const QUEUE: usize = 1024;
/// Maximum number of traces in one request.
const BATCH: usize = 64;
/// Maximum time that a trace waits for a batch to fill.
const GATHER: Duration = Duration::from_secs(1);
/// Timeout of the collector.
const PATIENCE: Duration = Duration::from_secs(10);

/// Configuration of trace export: the collector, and the name of this service.
#[derive(Clone, Debug)]
pub struct OtlpConfig {
    /// Full address, usually ending in `/v1/traces`.
    pub endpoint: String,
    /// Headers of every request. Their values are secret.
    pub headers: Vec<(String, SecretString)>,
    /// Value of `service.name`.
    pub service: String,
    /// Further attributes of the resource.
    pub attributes: Vec<(String, String)>,
}

/// Error of an invalid export configuration.
#[derive(Debug, thiserror::Error)]
pub enum OtlpError {
    /// The address is not a URL.
    #[error(
        "invalid collector address: {0}; expected a URL such as http://127.0.0.1:4318/v1/traces"
    )]
    Address(String),
    /// A header is invalid.
    #[error("invalid collector header {0:?}")]
    Header(String),
    /// The HTTP client cannot be created.
    #[error("cannot create an HTTP client for the collector: {0}")]
    Client(String),
}

enum ExportMessage {
    Trace(Arc<Trace>),
    Flush(oneshot::Sender<()>),
}

/// Sends traces to a collector.
pub struct OtlpSink {
    letters: mpsc::Sender<ExportMessage>,
    dropped: Arc<AtomicU64>,
}

impl OtlpSink {
    /// Starts the task that sends traces; it ends when the sink is dropped. Must be called inside a
    /// Tokio runtime.
    ///
    /// # Errors
    /// The address or a header is invalid.
    pub fn start(config: &OtlpConfig) -> Result<Self, OtlpError> {
        let post = ExportClient::new(config)?;
        let (letters, inbox) = mpsc::channel(QUEUE);
        let dropped = Arc::new(AtomicU64::new(0));
        tokio::spawn(deliver(inbox, post, dropped.clone()));
        Ok(OtlpSink { letters, dropped })
    }

    /// Number of traces that were lost because the queue was full or the collector rejected them.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Sends the queued traces, waiting at most `most`.
    pub async fn flush(&self, most: Duration) {
        let (done, wait) = oneshot::channel();
        let sent = async {
            if self.letters.send(ExportMessage::Flush(done)).await.is_ok() {
                let _ = wait.await;
            }
        };
        let _ = timeout(most, sent).await;
    }
}

impl fmt::Debug for OtlpSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dropped = self.dropped();
        f.debug_struct("OtlpSink")
            .field("dropped", &dropped)
            .finish_non_exhaustive()
    }
}

impl TraceSink for OtlpSink {
    fn record(&self, trace: Arc<Trace>) {
        // This never waits: if the queue is full, traces are dropped and requests are not delayed.
        if self.letters.try_send(ExportMessage::Trace(trace)).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

async fn deliver(
    mut inbox: mpsc::Receiver<ExportMessage>,
    post: ExportClient,
    dropped: Arc<AtomicU64>,
) {
    let mut batch = Vec::new();
    loop {
        // Without queued traces there is no deadline, so an idle sink does not wake up.
        let next = if batch.is_empty() {
            Ok(inbox.recv().await)
        } else {
            // Receiving from a channel is cancel-safe, so the timeout loses no trace.
            timeout(GATHER, inbox.recv()).await
        };
        let mut flushed = None;
        let goes_on = match next {
            Ok(Some(ExportMessage::Trace(trace))) => {
                batch.push(trace);
                if batch.len() < BATCH {
                    continue;
                }
                true
            }
            Ok(Some(ExportMessage::Flush(done))) => {
                flushed = Some(done);
                true
            }
            Ok(None) => false,
            Err(_) => true,
        };
        let sending = std::mem::take(&mut batch);
        let lost = post.send(&sending).await;
        dropped.fetch_add(lost, Ordering::Relaxed);
        if let Some(done) = flushed {
            // The caller of the flush may have stopped waiting.
            let _ = done.send(());
        }
        if !goes_on {
            return;
        }
    }
}

/// Parts of a request other than the traces.
struct ExportClient {
    client: Client,
    url: Url,
    resource: message::Resource,
}

impl ExportClient {
    fn new(config: &OtlpConfig) -> Result<Self, OtlpError> {
        let url =
            Url::parse(&config.endpoint).map_err(|error| OtlpError::Address(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(OtlpError::Address(format!(
                "{}: expected http or https",
                url.scheme()
            )));
        }
        quillet_llm::install_crypto();
        let mut builder = Client::builder()
            .timeout(PATIENCE)
            .default_headers(headers(config)?)
            .redirect(reqwest::redirect::Policy::none());
        if url.scheme() == "http" {
            // Reading the system's certificates takes time and memory, so plain HTTP does not read
            // them.
            builder = builder.tls_certs_only([]);
        }
        let client = builder
            .build()
            .map_err(|error| OtlpError::Client(error.to_string()))?;
        let resource = message::Resource::new(&config.service, &config.attributes);
        Ok(ExportClient {
            client,
            url,
            resource,
        })
    }

    /// Number of these traces that were lost.
    async fn send(&self, traces: &[Arc<Trace>]) -> u64 {
        if traces.is_empty() {
            return 0;
        }
        let Ok(body) = message::write(&self.resource, traces) else {
            return traces.len() as u64;
        };
        let answer = self.client.post(self.url.clone()).body(body).send().await;
        let failure = match answer {
            Ok(answer) if answer.status().is_success() => return 0,
            Ok(answer) => format!("answered {}", answer.status().as_u16()),
            // The address may contain credentials.
            Err(error) => error.without_url().to_string(),
        };
        tracing::warn!(
            target: "quillet::otlp", traces = traces.len(),
            "traces lost: the collector {failure}"
        );
        traces.len() as u64
    }
}

fn headers(config: &OtlpConfig) -> Result<HeaderMap, OtlpError> {
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in &config.headers {
        let header = HeaderName::try_from(name.trim()).ok();
        let value = HeaderValue::from_str(value.expose_secret().trim()).ok();
        let (Some(header), Some(mut value)) = (header, value) else {
            return Err(OtlpError::Header(name.clone()));
        };
        // Keeps the value out of debug output.
        value.set_sensitive(true);
        headers.insert(header, value);
    }
    Ok(headers)
}

//! Embeddings through the API of OpenAI and compatible servers, `POST {base}/embeddings`. They
//! share the connection pool of the models.

use std::fmt;
use std::time::{Duration, SystemTime};

use quillet_core::BoxFuture;
use quillet_core::chat::{ModelError, ModelErrorKind};
use quillet_core::knowledge::Embedder;
use reqwest::Response;
use reqwest::header::HeaderMap;
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::json;
use tokio::time::timeout;

use crate::endpoint::{Endpoint, NativeProvider};
use crate::failure::{ErrorContext, MOST_REPEATED};
use crate::http::Http;
use crate::protocol::{OpenAiChat, Protocol};
use crate::provider::headers;
use crate::retry::RetryPolicy;
use crate::retry_after::retry_after;

/// Default model.
const DEFAULT_MODEL: &str = "text-embedding-3-small";

/// Configuration of an embedding provider.
#[derive(Clone, Debug)]
pub struct EmbedderConfig {
    /// Base URL, in the same format as for chat; `None` for OpenAI.
    pub base_url: Option<String>,
    /// API key. Local servers need no key.
    pub api_key: Option<SecretString>,
    /// Model. Default `text-embedding-3-small`.
    pub model: String,
    /// Length of the vectors, for models with a configurable length.
    pub dimensions: Option<u32>,
    /// Additional headers.
    pub headers: Vec<(String, SecretString)>,
    /// Maximum number of texts in a request. Default 256.
    pub batch: usize,
    /// Timeout of a request. Default 60 s.
    pub timeout: Duration,
    /// Maximum size of a response in bytes. Default 64 MiB.
    pub body_bytes: usize,
    /// Retry policy.
    pub retries: RetryPolicy,
}

impl Default for EmbedderConfig {
    fn default() -> Self {
        EmbedderConfig {
            base_url: None,
            api_key: None,
            model: DEFAULT_MODEL.to_owned(),
            dimensions: None,
            headers: Vec::new(),
            batch: 256,
            timeout: Duration::from_secs(60),
            body_bytes: 64 << 20,
            retries: RetryPolicy::default(),
        }
    }
}

/// Embedding provider that uses OpenAI's API.
pub struct OpenAiEmbedder {
    http: Http,
    endpoint: Endpoint,
    headers: HeaderMap,
    config: EmbedderConfig,
    teller: ErrorContext,
}

#[derive(Deserialize)]
struct EmbeddingResponse {
    data: Vec<Embedding>,
}

#[derive(Deserialize)]
struct Embedding {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl OpenAiEmbedder {
    /// Creates the client without connecting.
    ///
    /// # Errors
    /// The base URL, the key or a header is invalid, the address is not allowed, or the key for
    /// OpenAI is missing.
    pub fn new(http: Http, config: EmbedderConfig) -> Result<Self, ModelError> {
        let home = NativeProvider::of("openai-chat");
        let base_url = config.base_url.as_deref().unwrap_or(home.base_url);
        let endpoint = Endpoint::parse(base_url, home)?;
        http.check(&endpoint)?;
        let key = config
            .api_key
            .as_ref()
            .map(|key| key.expose_secret().trim());
        let key = key.filter(|key| !key.is_empty());
        if key.is_none() && config.headers.is_empty() && endpoint.is_home() {
            let variable = home.key_variable;
            return Err(ModelError::new(
                ModelErrorKind::Auth,
                format!(
                    "embeddings need an API key: set {variable}, or the base URL of a server that needs none"
                ),
            ));
        }
        let wire = OpenAiChat::at(config.base_url.as_deref());
        let headers = headers(&wire, &endpoint, key, &config.headers)
            .map_err(|cause| ModelError::new(ModelErrorKind::Configuration, cause))?;
        let values = config.headers.iter().map(|(_, value)| value);
        let teller = ErrorContext {
            address: format!("embeddings at {endpoint}"),
            home,
            is_home: endpoint.is_home(),
            by_request: false,
            secrets: config.api_key.iter().chain(values).cloned().collect(),
            request_id: None,
        };
        Ok(OpenAiEmbedder {
            http,
            endpoint,
            headers,
            config,
            teller,
        })
    }

    async fn all(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.config.batch.max(1)) {
            vectors.extend(self.embed_with_retries(batch).await?);
        }
        Ok(vectors)
    }

    /// Requests the embeddings of one batch, with retries.
    async fn embed_with_retries(&self, batch: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let policy = &self.config.retries;
        // Each batch has its own retries, so completed batches are not requested again.
        for wait in &policy.waits {
            let error = match self.embed_within_timeout(batch).await {
                Ok(vectors) => return Ok(vectors),
                Err(error) => error,
            };
            let asked = error.retry_after.unwrap_or_default();
            if !error.kind.retryable() || asked > policy.most_wait {
                return Err(error);
            }
            tokio::time::sleep(asked.max(*wait)).await;
        }
        self.embed_within_timeout(batch).await
    }

    async fn embed_within_timeout(&self, batch: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let limit = self.config.timeout;
        let answered = timeout(limit, self.ask(batch)).await;
        answered.unwrap_or_else(|_| Err(self.teller.timeout_error("no answer", "timeout", limit)))
    }

    async fn ask(&self, batch: &[String]) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut body =
            // Some servers default to base64.
            json!({"model": self.config.model, "input": batch, "encoding_format": "float"});
        if let Some(dimensions) = self.config.dimensions {
            body["dimensions"] = dimensions.into();
        }
        let sent = self
            .http
            .client(&self.endpoint)?
            .post(self.endpoint.url("/embeddings"))
            .headers(self.headers.clone())
            .body(body.to_string())
            .send();
        let mut response = sent
            .await
            .map_err(|error| self.teller.request_error(error))?;
        if !response.status().is_success() {
            return Err(self.refused(&mut response).await);
        }
        let body = self.body(&mut response).await?;
        let answer = serde_json::from_slice(&body)
            .map_err(|error| self.protocol(&format!("unexpected answer: {error}")))?;
        self.in_order(answer, batch.len())
    }

    async fn body(&self, response: &mut Response) -> Result<Vec<u8>, ModelError> {
        let mut body = Vec::new();
        let limit = self.config.body_bytes;
        while let Some(piece) = response
            .chunk()
            .await
            .map_err(|error| self.teller.stream_error(error))?
        {
            // Checked before copying, so the limit bounds memory.
            if body.len() + piece.len() > limit {
                let cause = format!("the answer exceeds the limit body_bytes ({limit} bytes)");
                return Err(self.protocol(&cause));
            }
            body.extend_from_slice(&piece);
        }
        Ok(body)
    }

    async fn refused(&self, response: &mut Response) -> ModelError {
        let status = response.status().as_u16();
        let wait = retry_after(response.headers(), SystemTime::now());
        let mut body = Vec::new();
        while let Ok(Some(piece)) = response.chunk().await {
            body.extend_from_slice(&piece);
            if body.len() > 16 * MOST_REPEATED {
                break;
            }
        }
        let body = String::from_utf8_lossy(&body);
        let refusal = OpenAiChat::default().refusal(status, &body);
        self.teller.status_error(status, refusal, wait)
    }

    /// Returns one vector for each text, all of the same length.
    fn in_order(
        &self,
        answer: EmbeddingResponse,
        count: usize,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut data = answer.data;
        // Servers may answer in any order. The sort is stable, so answers without indexes keep
        // their order.
        data.sort_by_key(|item| item.index);
        let vectors: Vec<Vec<f32>> = data.into_iter().map(|item| item.embedding).collect();
        let length = vectors.first().map_or(0, Vec::len);
        if vectors.len() != count {
            let cause = format!("expected {count} vectors, got {}", vectors.len());
            return Err(self.protocol(&cause));
        }
        let is_odd = |vector: &Vec<f32>| {
            // A single NaN would make every distance to this vector NaN.
            vector.is_empty() || vector.len() != length || vector.iter().any(|x| !x.is_finite())
        };
        if vectors.iter().any(is_odd) {
            Err(self.protocol(
                "the vectors are empty, differ in length or contain values that are not numbers",
            ))
        } else {
            Ok(vectors)
        }
    }

    fn protocol(&self, cause: &str) -> ModelError {
        self.teller.error(ModelErrorKind::Protocol, cause)
    }
}

/// Omits the key, the headers and the query.
impl fmt::Debug for OpenAiEmbedder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenAiEmbedder")
            .field("endpoint", &self.endpoint.to_string())
            .field("model", &self.config.model)
            .finish_non_exhaustive()
    }
}

impl Embedder for OpenAiEmbedder {
    fn model(&self) -> &str {
        &self.config.model
    }

    fn embed<'a>(
        &'a self,
        texts: &'a [String],
    ) -> BoxFuture<'a, Result<Vec<Vec<f32>>, ModelError>> {
        Box::pin(self.all(texts))
    }
}

//! Client of Chat Shell's knowledge API: JSON POSTs below `/api/internal/rag`.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::tool::{ToolError, ToolErrorKind};
use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;
use serde_json::{Value as Json, json};
use url::Url;

use super::budget::KnowledgeLimits;
use super::document::{DocumentExcerpt, SearchHit, Sizes, id};
use crate::address::AddressPolicy;
use crate::headers::secret_headers;
use crate::http::{Http, HttpRequest, checked_url, remote_error};
use crate::setting::ConfigError;

/// Settings of the API, section `tools.rag` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RemoteKnowledgeConfig {
    /// The backend's address, with or without `/api/internal`. Remote knowledge bases are disabled
    /// if the address is not set.
    pub base_url: Option<String>,
    /// Token of the API, sent as `Authorization: Bearer …`.
    pub token: Option<SecretString>,
    /// Timeout of one request. Written `timeout_ms`. Default 30 s.
    #[serde(rename = "timeout_ms", deserialize_with = "crate::setting::millis")]
    pub timeout: Duration,
}

impl Default for RemoteKnowledgeConfig {
    fn default() -> Self {
        RemoteKnowledgeConfig {
            base_url: None,
            token: None,
            timeout: Duration::from_secs(30),
        }
    }
}

/// Client of the API.
#[derive(Debug)]
pub(crate) struct Remote {
    http: Arc<Http>,
    base: Url,
    headers: HeaderMap,
    timeout: Duration,
}

impl Remote {
    /// Creates the client, if the API is configured.
    pub(crate) fn new(
        config: &RemoteKnowledgeConfig,
        http: Arc<Http>,
        policy: &AddressPolicy,
    ) -> Result<Option<Self>, ConfigError> {
        let Some(base) = &config.base_url else {
            return Ok(None);
        };
        let root = base.trim_end_matches('/').trim_end_matches("/rag");
        let root = root.trim_end_matches("/api/internal");
        let base = checked_url(policy, &format!("{root}/api/internal/rag/"))
            .map_err(|denied| ConfigError::new("tools.rag.base_url", &denied))?;
        let bearer =
            |token: &SecretString| SecretString::from(format!("Bearer {}", token.expose_secret()));
        let token = config.token.as_ref().map(bearer);
        let pairs = token.iter().map(|token| (AUTHORIZATION.as_str(), token));
        let headers =
            secret_headers(pairs).map_err(|why| ConfigError::new("tools.rag.token", &why))?;
        Ok(Some(Remote {
            http,
            base,
            headers,
            timeout: config.timeout,
        }))
    }

    /// Sends a request; `None` for 403 or 404, which mean that the collection does not exist for
    /// us.
    async fn ask(&self, path: &str, body: &Json) -> Result<Option<Json>, ToolError> {
        let late = || {
            let text = format!(
                "{path}: no answer within {:?} (tools.rag.timeout_ms)",
                self.timeout
            );
            ToolError::new(ToolErrorKind::Timeout, text)
        };
        let answer = tokio::time::timeout(self.timeout, self.post(path, body)).await;
        answer.unwrap_or_else(|_| Err(late()))
    }

    async fn post(&self, path: &str, body: &Json) -> Result<Option<Json>, ToolError> {
        let wrong = |why: String| ToolError::new(ToolErrorKind::Protocol, why);
        let url = self.base.join(path);
        let url = url.map_err(|error| wrong(error.to_string()))?;
        let response = self
            .http
            .send(HttpRequest {
                method: Method::POST,
                url: url.clone(),
                body: Some(body.to_string().into()),
                headers: HeaderMap::new(),
                own_headers: self.headers.clone(),
            })
            .await?;
        if matches!(response.status().as_u16(), 403 | 404) {
            return Ok(None);
        }
        if !response.status().is_success() {
            return Err(remote_error(&url, response).await);
        }
        let body = self.http.read(response).await?;
        let answer = serde_json::from_slice(&body);
        answer.map_err(|error| wrong(format!("{path}: the answer is not JSON: {error}")))
    }

    async fn must(&self, path: &str, body: &Json) -> Result<Json, ToolError> {
        let missing = || {
            let text = format!("{path}: unknown knowledge base, or access to it is denied");
            ToolError::new(ToolErrorKind::Remote, text)
        };
        self.ask(path, body).await?.ok_or_else(missing)
    }

    pub(super) async fn sizes(&self, collections: &[String]) -> Result<Sizes, ToolError> {
        let ids: Vec<Json> = collections.iter().map(|name| id(name)).collect();
        let answer = self
            .must("kb-size", &json!({"knowledge_base_ids": ids}))
            .await?;
        let items = answer["items"].as_array().cloned().unwrap_or_default();
        let searchable = items.iter().filter(|item| item["rag_enabled"] != false);
        let searchable: Vec<String> = searchable.filter_map(|item| text_id(&item["id"])).collect();
        // Collections share the call counter of the conversation, so the strictest limit applies.
        let least = |key: &str, default: u32| {
            let counts = items.iter().filter_map(|item| item[key].as_u64());
            counts
                .min()
                .map_or(default, |count| u32::try_from(count).unwrap_or(u32::MAX))
        };
        let default = KnowledgeLimits::default();
        Ok(Sizes {
            tokens: answer["total_estimated_tokens"]
                .as_u64()
                .unwrap_or(u64::MAX),
            calls: KnowledgeLimits {
                most: least("max_calls_per_conversation", default.most),
                free: least("exempt_calls_before_check", default.free),
            },
            searchable: if items.is_empty() {
                collections.to_vec()
            } else {
                searchable
            },
        })
    }

    pub(super) async fn retrieve(
        &self,
        question: &str,
        collection: &str,
        documents: &[i64],
        most: usize,
    ) -> Result<Vec<SearchHit>, ToolError> {
        let mut body =
            json!({"query": question, "knowledge_base_id": id(collection), "max_results": most});
        if !documents.is_empty() {
            body["document_ids"] = documents.into();
        }
        let answer = self.must("retrieve", &body).await?;
        Ok(passages(&answer["records"], collection))
    }

    pub(super) async fn all_chunks(
        &self,
        question: &str,
        collection: &str,
    ) -> Result<Vec<SearchHit>, ToolError> {
        let body =
            json!({"knowledge_base_id": id(collection), "max_chunks": 10_000, "query": question});
        let answer = self.must("all-chunks", &body).await?;
        Ok(passages(&answer["chunks"], collection))
    }

    /// Saves the results of a message on the remote side, for later turns. A failure is only
    /// logged, because the search itself succeeded.
    pub(super) async fn save(&self, message: i64, collection: &str, text: &str, sources: &[Json]) {
        let body = json!({"user_subtask_id": message, "knowledge_base_id": id(collection),
            "extracted_text": text, "sources": sources});
        if let Err(error) = self.must("save-result", &body).await {
            tracing::warn!(%error, "the result of a knowledge base was not saved");
        }
    }

    pub(super) async fn list(&self, collection: &str) -> Result<Vec<Json>, ToolError> {
        let body = json!({"knowledge_base_id": id(collection)});
        let answer = self.must("list-docs", &body).await?;
        let document = |document: &Json| {
            json!({
                "id": document["id"],
                "name": document["name"],
                "type": document["file_extension"],
                "size": document["file_size"],
                "summary": document["short_summary"],
            })
        };
        let documents = answer["documents"].as_array().into_iter().flatten();
        Ok(documents.map(document).collect())
    }

    pub(super) async fn read(
        &self,
        document: i64,
        collections: &[String],
        offset: u64,
        limit: u64,
    ) -> Result<Option<DocumentExcerpt>, ToolError> {
        let ids: Vec<Json> = collections.iter().map(|name| id(name)).collect();
        let body = json!({"document_id": document, "offset": offset, "limit": limit, "knowledge_base_ids": ids});
        let answer = self.ask("read-doc", &body).await?;
        Ok(answer.map(|answer| DocumentExcerpt {
            name: text(&answer["name"]),
            collection: text_id(&answer["knowledge_base_id"]),
            content: text(&answer["content"]),
            total: answer["total_length"].as_u64().unwrap_or_default(),
        }))
    }
}

fn passages(list: &Json, collection: &str) -> Vec<SearchHit> {
    let passage = |record: &Json| SearchHit {
        collection: collection.to_owned(),
        document: record["document_id"].as_i64(),
        title: text(&record["title"]),
        url: None,
        content: text(&record["content"]),
        score: record["score"].as_f64(),
    };
    list.as_array().into_iter().flatten().map(passage).collect()
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn text_id(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

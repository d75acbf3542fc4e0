//! Received requests, for assertions in tests and for scripts.

use hyper::body::Bytes;
use hyper::http::request::Parts;
use serde::Deserialize;
use serde_json::Value;

use crate::provider_api::{ProviderApi, gemini_target};

/// A received request.
#[derive(Clone, Debug)]
pub struct RecordedRequest {
    /// Index of the request at this provider, from 0.
    pub number: usize,
    /// Index of the connection, from 0.
    pub connection: usize,
    /// The provider API, if the path belongs to one.
    pub wire: Option<ProviderApi>,
    /// `POST`, `GET` and so on.
    pub method: String,
    /// Path, without the query.
    pub path: String,
    /// Query, without the question mark.
    pub query: String,
    /// Headers in order, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
    /// The model; empty if the request does not specify it.
    pub model: String,
    /// Whether the request asks for a stream.
    pub streaming: bool,
    /// Whether the request asks for usage in the stream (`stream_options.include_usage`).
    pub include_usage: bool,
    /// The API key, from `Authorization`, `x-api-key`, `x-goog-api-key`, `api-key` or the query
    /// parameter `key`.
    pub key: Option<String>,
}

#[derive(Default, Deserialize)]
struct RequestFields {
    #[serde(default)]
    model: String,
    #[serde(default)]
    stream: bool,
    #[serde(default)]
    stream_options: Option<StreamOptions>,
}

#[derive(Default, Deserialize)]
struct StreamOptions {
    #[serde(default)]
    include_usage: bool,
}

impl RecordedRequest {
    pub(crate) fn new(number: usize, connection: usize, head: &Parts, body: Bytes) -> Self {
        let path = head.uri.path().to_owned();
        let wanted: RequestFields = serde_json::from_slice(&body).unwrap_or_default();
        // Gemini's path contains the model and the streaming mode. Other APIs have both in the
        // body.
        let (model, streaming) = match gemini_target(&path) {
            Some((model, streaming)) => (model.to_owned(), streaming),
            None => (wanted.model, wanted.stream),
        };
        let text = |value: &[u8]| String::from_utf8_lossy(value).into_owned();
        let headers = head
            .headers
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), text(value.as_bytes())));
        let mut asked = RecordedRequest {
            number,
            connection,
            wire: ProviderApi::of_path(&path),
            method: head.method.to_string(),
            query: head.uri.query().unwrap_or_default().to_owned(),
            headers: headers.collect(),
            path,
            body,
            model,
            streaming,
            include_usage: wanted.stream_options.unwrap_or_default().include_usage,
            key: None,
        };
        asked.key = asked.find_key();
        asked
    }

    /// Returns the value of a header. `name` must be in lower case.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(header, _)| header == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON, or `null` if it is not JSON.
    #[must_use]
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Returns the body as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    fn find_key(&self) -> Option<String> {
        let bearer = self
            .header("authorization")
            .map(|value| value.strip_prefix("Bearer ").unwrap_or(value));
        let named = ["x-api-key", "x-goog-api-key", "api-key"];
        let header = named.iter().find_map(|name| self.header(name));
        let pairs = self
            .query
            .split('&')
            .filter_map(|pair| pair.split_once('='));
        let query = pairs.filter(|(name, _)| *name == "key");
        let mut query = query.map(|(_, value)| value);
        bearer
            .or(header)
            .or_else(|| query.next())
            .map(str::to_owned)
    }
}

//! Tool `web_search`: queries a search engine that answers GET requests with JSON. As with Chat
//! Shell's `WEB_SEARCH_ENGINES`, the configuration selects the engine and maps the fields of its
//! answers. SearXNG needs only an address, and Brave only a key.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use indexmap::IndexMap;
use quillet_core::tool::{Tool, ToolError, ToolErrorKind};
use quillet_core::{BoxFuture, Map, Value, nearest};
use reqwest::Method;
use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value as Json, json};
use url::Url;

use super::options::{BuiltinError, BuiltinOptions};
use super::work::{BuiltinHandler, BuiltinSpec, failure, tool};
use crate::address::AddressPolicy;
use crate::deadline::CallTimeout;
use crate::headers::secret_headers;
use crate::http::{Http, HttpRequest, checked_url, remote_error};
use crate::setting::ConfigError;

/// Maximum number of results. Engines do not return more per page.
const MOST_RESULTS: u32 = 100;

/// Settings of the search engines, section `tools.web_search` of the configuration.
#[derive(Clone, Debug, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct WebSearchConfig {
    /// The engines by name. The first engine is the default. Engines from a TOML file are sorted by
    /// name.
    pub engines: IndexMap<String, SearchEngineConfig>,
    /// Name of the default engine; the first engine if not set.
    pub default_engine: Option<String>,
    /// Number of results if neither the model nor the request sets a number. The default is 50, as
    /// in Chat Shell, and the maximum is 100.
    pub max_results: u32,
    /// Timeout of a search. Written `timeout_ms`. Default 30 s.
    #[serde(rename = "timeout_ms", deserialize_with = "crate::setting::millis")]
    pub timeout: Duration,
}

impl Default for WebSearchConfig {
    fn default() -> Self {
        WebSearchConfig {
            engines: IndexMap::new(),
            default_engine: None,
            max_results: 50,
            timeout: Duration::from_secs(30),
        }
    }
}

/// API of a search engine, which determines the defaults of its settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchApi {
    /// Any API that answers GET requests with JSON. The defaults are Chat Shell's.
    #[default]
    Json,
    /// `GET /search?q=…&format=json` (SearXNG, "Search API"), which has no limit parameter.
    Searxng,
    /// `GET /res/v1/web/search?q=…&count=…` with the key in the header `X-Subscription-Token`
    /// (Brave, "Web Search API"). Returns at most 20 results.
    Brave,
}

/// A search engine. The value of `type` may change the defaults of the other fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchEngineConfig {
    /// Its API. Written `type`.
    #[serde(rename = "type")]
    pub api: SearchApi,
    /// URL of the search endpoint, optionally with query parameters.
    pub base_url: Option<String>,
    /// Name of the query parameter for the search terms. Default `query`.
    pub query_param: Option<String>,
    /// Name of the query parameter for the number of results. Default `limit`; empty for none.
    pub limit_param: Option<String>,
    /// Maximum number of results per request.
    pub max_limit: Option<u32>,
    /// Additional query parameters.
    pub params: BTreeMap<String, String>,
    /// Headers that contain credentials. The headers are not sent after a redirect to another
    /// origin.
    pub auth_header: BTreeMap<String, SecretString>,
    /// Dotted path of the result list in the answer. Default `results`.
    pub response_path: Option<String>,
    /// Field that contains the title of a result. Default `title`.
    pub title_field: Option<String>,
    /// Field that contains the URL of a result. Default `url`.
    pub url_field: Option<String>,
    /// Field that contains an excerpt of a result. Default `snippet`.
    pub snippet_field: Option<String>,
    /// Field that contains the full text of a result. Default none.
    pub content_field: Option<String>,
}

/// Defaults of an API.
struct SearchPreset {
    base_url: Option<&'static str>,
    query: &'static str,
    limit: &'static str,
    most: u32,
    results: &'static str,
    snippet: &'static str,
    params: &'static [(&'static str, &'static str)],
}

fn preset(api: SearchApi) -> SearchPreset {
    let json = SearchPreset {
        base_url: None,
        query: "query",
        limit: "limit",
        most: MOST_RESULTS,
        results: "results",
        snippet: "snippet",
        params: &[],
    };
    match api {
        SearchApi::Json => json,
        SearchApi::Searxng => SearchPreset {
            query: "q",
            limit: "",
            snippet: "content",
            params: &[("format", "json")],
            ..json
        },
        SearchApi::Brave => SearchPreset {
            base_url: Some("https://api.search.brave.com/res/v1/web/search"),
            query: "q",
            limit: "count",
            most: 20,
            results: "web.results",
            snippet: "description",
            params: &[],
        },
    }
}

/// The configured engines.
#[derive(Debug)]
pub(crate) struct WebSearch {
    http: Arc<Http>,
    engines: IndexMap<String, Arc<SearchEngine>>,
    default_engine: Option<String>,
    max_results: u32,
    timeout: Duration,
}

/// One engine: its prepared request and the fields of its answers.
#[derive(Debug)]
struct SearchEngine {
    url: Url,
    query: String,
    limit: Option<String>,
    most: u32,
    headers: HeaderMap,
    results: Vec<String>,
    title: String,
    address: String,
    snippet: String,
    content: Option<String>,
}

impl WebSearch {
    pub(crate) fn new(
        config: &WebSearchConfig,
        http: Arc<Http>,
        policy: &AddressPolicy,
    ) -> Result<Self, ConfigError> {
        let engines = config.engines.iter().map(|(name, engine)| {
            let setting = |field: &str| format!("tools.web_search.engines.{name}{field}");
            let engine = SearchEngine::new(engine, policy)
                .map_err(|(field, why)| ConfigError::new(setting(field), &why))?;
            Ok((name.clone(), Arc::new(engine)))
        });
        let search = WebSearch {
            http,
            engines: engines.collect::<Result<_, ConfigError>>()?,
            default_engine: config.default_engine.clone(),
            max_results: config.max_results.clamp(1, MOST_RESULTS),
            timeout: config.timeout,
        };
        if let Some(name) = &config.default_engine {
            search
                .engine(name)
                .map_err(|why| ConfigError::new("tools.web_search.default_engine", &why))?;
        }
        Ok(search)
    }

    /// Creates the tool for the engine of the request.
    pub(crate) fn tool(&self, options: &BuiltinOptions) -> Result<Arc<dyn Tool>, BuiltinError> {
        let named = options.engine.as_deref().filter(|name| !name.is_empty());
        let engine = match named.or(self.default_engine.as_deref()) {
            Some(name) => self.engine(name)?,
            None => self.engines.values().next().ok_or(NOT_CONFIGURED)?,
        };
        let work = WebSearchTool {
            http: self.http.clone(),
            engine: engine.clone(),
            most: options.max_results.unwrap_or(self.max_results),
        };
        let limit = CallTimeout {
            time: self.timeout,
            setting: "tools.web_search.timeout_ms",
        };
        Ok(tool(&SHAPE, limit, work))
    }

    fn engine(&self, name: &str) -> Result<&Arc<SearchEngine>, BuiltinError> {
        if self.engines.is_empty() {
            return Err(NOT_CONFIGURED);
        }
        self.engines.get(name).ok_or_else(|| {
            let known: Vec<&str> = self.engines.keys().map(String::as_str).collect();
            let hint = match nearest(name, known.iter().copied()) {
                Some(known) => format!("did you mean {known:?}?"),
                None => format!("expected one of {}", known.join(", ")),
            };
            BuiltinError::Option(format!("unknown search engine {name:?} ({hint})"))
        })
    }
}

static SHAPE: LazyLock<BuiltinSpec> = LazyLock::new(|| {
    BuiltinSpec::new(
        "web_search",
        "Searches the web. Gives titles, addresses and pieces of the text of the pages that were found.",
        &json!({
            "query": {"type": "string", "description": "What to search for."},
            "max_results": {"type": ["integer", "null"], "minimum": 1, "description": "The most results to give."},
        }),
        &["query"],
    )
});

const NOT_CONFIGURED: BuiltinError = BuiltinError::NotConfigured {
    name: "web_search",
    mend: "set tools.web_search.engines",
};

impl SearchEngine {
    /// Prepares an engine. On error, returns the invalid field and the problem.
    fn new(
        config: &SearchEngineConfig,
        policy: &AddressPolicy,
    ) -> Result<Self, (&'static str, String)> {
        let preset = preset(config.api);
        let base = config.base_url.as_deref().or(preset.base_url);
        let base = base.ok_or((".base_url", "is missing".to_owned()))?;
        let mut url =
            checked_url(policy, base).map_err(|denied| (".base_url", denied.to_string()))?;
        let given = config.params.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        let fixed = preset.params.iter().copied();
        // A configured parameter replaces that of the preset.
        let fixed = fixed.filter(|(name, _)| !config.params.contains_key(*name));
        for (name, value) in fixed.chain(given) {
            url.query_pairs_mut().append_pair(name, value);
        }
        let pairs = config.auth_header.iter().map(|(k, v)| (k.as_str(), v));
        let mut headers = secret_headers(pairs).map_err(|why| (".auth_header", why))?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
        let or = |set: &Option<String>, default: &str| set.as_deref().unwrap_or(default).to_owned();
        let some = |text: String| Some(text).filter(|text| !text.is_empty());
        Ok(SearchEngine {
            url,
            headers,
            query: or(&config.query_param, preset.query),
            limit: some(or(&config.limit_param, preset.limit)),
            most: config.max_limit.unwrap_or(preset.most).max(1),
            results: or(&config.response_path, preset.results)
                .split('.')
                .filter(|step| !step.is_empty())
                .map(str::to_owned)
                .collect(),
            title: or(&config.title_field, "title"),
            address: or(&config.url_field, "url"),
            snippet: or(&config.snippet_field, preset.snippet),
            content: some(or(&config.content_field, "")),
        })
    }

    fn request(&self, question: &str, most: u32) -> HttpRequest {
        let mut url = self.url.clone();
        url.query_pairs_mut().append_pair(&self.query, question);
        if let Some(limit) = &self.limit {
            let most = most.min(self.most).to_string();
            url.query_pairs_mut().append_pair(limit, &most);
        }
        HttpRequest {
            method: Method::GET,
            url,
            body: None,
            headers: HeaderMap::new(),
            own_headers: self.headers.clone(),
        }
    }

    /// Converts a result of the engine to a tool result and a source. `None` if it has neither a
    /// title nor a URL.
    fn result(&self, found: &Json) -> Option<(Json, Json)> {
        let text = |field: &str| match found.get(field) {
            Some(Json::String(text)) => text.clone(),
            Some(Json::Null) | None => String::new(),
            Some(other) => other.to_string(),
        };
        let (title, url, snippet) = (text(&self.title), text(&self.address), text(&self.snippet));
        if title.is_empty() && url.is_empty() {
            return None;
        }
        let mut result = json!({"title": title, "url": url, "snippet": snippet});
        let content = self.content.as_deref().map(text).unwrap_or_default();
        if !content.is_empty() {
            result["content"] = content.into();
        }
        Some((
            result,
            json!({"title": title, "url": url, "snippet": snippet}),
        ))
    }
}

/// The tool `web_search` for one engine.
#[derive(Debug)]
struct WebSearchTool {
    http: Arc<Http>,
    engine: Arc<SearchEngine>,
    most: u32,
}

impl BuiltinHandler for WebSearchTool {
    fn run<'a>(&'a self, arguments: &'a Map) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let question = arguments.get("query").and_then(Value::as_str);
            let question = question.unwrap_or_default().trim();
            let most = match arguments.get("max_results") {
                Some(Value::Int(most)) => u32::try_from(*most).unwrap_or(MOST_RESULTS),
                _ => self.most,
            };
            let most = most.clamp(1, MOST_RESULTS);
            let found = self.search(question, most).await.map_err(|error| {
                let told = json!({"error": error.for_model, "query": question});
                failure(error.kind, format!("web_search: {}", error.message), &told)
            })?;
            Ok(self.answer(question, &found, most).into())
        })
    }
}

impl WebSearchTool {
    /// Returns the engine's list of results.
    async fn search(&self, question: &str, most: u32) -> Result<Vec<Json>, ToolError> {
        if question.is_empty() {
            let text = "the query is empty (say what to search for)";
            return Err(ToolError::new(ToolErrorKind::Arguments, text));
        }
        let request = self.engine.request(question, most);
        let response = self.http.send(request).await?;
        if !response.status().is_success() {
            let url = response.url().clone();
            return Err(remote_error(&url, response).await);
        }
        let body = self.http.read(response).await?;
        let answer: Json = serde_json::from_slice(&body).map_err(|error| {
            let text = format!("the search engine's answer is not JSON: {error}");
            ToolError::new(ToolErrorKind::Protocol, text)
        })?;
        let path = &self.engine.results;
        let list = path
            .iter()
            .try_fold(&answer, |part, step| part.get(step))
            .unwrap_or(&Json::Null);
        match list {
            Json::Array(results) => Ok(results.clone()),
            // Brave omits the whole section if there are no results.
            Json::Null => Ok(Vec::new()),
            _ => {
                let text = format!(
                    "the search engine's answer has no list at {} (correct response_path)",
                    path.join(".")
                );
                Err(ToolError::new(ToolErrorKind::Protocol, text))
            }
        }
    }

    fn answer(&self, question: &str, found: &[Json], most: u32) -> Json {
        let most = usize::try_from(most).unwrap_or(usize::MAX);
        let results = found.iter().filter_map(|found| self.engine.result(found));
        // Some engines, such as SearXNG, have no limit parameter.
        let (results, mut sources): (Vec<Json>, Vec<Json>) = results.take(most).unzip();
        for (number, source) in (1..).zip(&mut sources) {
            source["index"] = Json::from(number);
        }
        json!({"query": question, "results": results, "count": results.len(), "sources": sources})
    }
}

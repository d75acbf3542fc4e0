//! `web_search` against real HTTP servers that respond like search engines.

use std::net::IpAddr;
use std::sync::Arc;

use quillet_core::BoxFuture;
use quillet_core::tool::{Tool, ToolErrorKind};
use quillet_tools::builtin::{BuiltinError, BuiltinOptions};
use quillet_tools::{Lookup, Tools, ToolsConfig};
use serde_json::{Value as Json, json};

use crate::http_server::HttpServer;
use crate::support::{NOBODY, call, text};

fn configured(settings: &Json) -> Tools {
    Tools::new(config(settings)).unwrap()
}

fn config(settings: &Json) -> ToolsConfig {
    serde_json::from_value(json!({"web_search": settings})).unwrap()
}

fn web_search(tools: &Tools, options: &BuiltinOptions) -> Arc<dyn Tool> {
    tools.builtin("web_search", options).unwrap().remove(0)
}

async fn ask(settings: &Json, arguments: &str) -> Json {
    let tool = web_search(&configured(settings), &BuiltinOptions::default());
    serde_json::from_str(&text(&call(&*tool, arguments).await.unwrap())).unwrap()
}

#[tokio::test]
async fn engines_are_asked_as_they_document_it() {
    let server = HttpServer::start().await;
    let cases = [
        (
            json!({"type": "searxng", "base_url": server.url("/searxng")}),
            "/searxng?format=json&q=rust+%26+%E4%B8%AD%E6%96%87",
            "from searxng",
        ),
        (
            json!({"type": "brave", "base_url": server.url("/brave"), "auth_header": {"X-Subscription-Token": "k3y"}}),
            "/brave?q=rust+%26+%E4%B8%AD%E6%96%87&count=2",
            "k3y",
        ),
        (
            json!({"base_url": server.url("/own?lang=de"), "query_param": "ask", "limit_param": "n", "params": {"x": "1"},
                "response_path": "data.hits", "title_field": "name", "url_field": "link", "snippet_field": "text",
                "content_field": "body"}),
            "/own?lang=de&x=1&ask=rust+%26+%E4%B8%AD%E6%96%87&n=2",
            "own text",
        ),
    ];
    for (engine, uri, snippet) in cases {
        let settings = json!({"engines": {"one": engine}});
        let answer = ask(&settings, r#"{"query": " rust & 中文 ", "max_results": 2}"#).await;
        assert_eq!(answer["query"], "rust & 中文");
        assert_eq!(answer["count"], 2, "{answer}");
        let first = &answer["results"][0];
        assert_eq!(first["title"], uri, "{answer}");
        assert_eq!(first["url"], "https://example.org/1");
        assert_eq!(first["snippet"], snippet);
        let content = (snippet == "own text").then_some("whole");
        assert_eq!(first.get("content").and_then(Json::as_str), content);
        let source = &answer["sources"][1];
        assert_eq!(
            (&source["index"], &source["url"]),
            (&json!(2), &json!("https://example.org/2"))
        );
        assert_eq!(source.get("content"), None);
    }
}

#[tokio::test]
async fn nothing_found_is_an_answer() {
    let server = HttpServer::start().await;
    let settings =
        json!({"engines": {"b": {"type": "brave", "base_url": server.url("/text-json")}}});
    let answer = ask(&settings, r#"{"query": "x"}"#).await;
    assert_eq!(
        answer,
        json!({"query": "x", "results": [], "count": 0, "sources": []})
    );
}

#[tokio::test]
async fn failures_are_told_with_the_query_and_without_the_key() {
    let server = HttpServer::start().await;
    let cases = [
        (
            server.url("/error"),
            "{\"query\":\"x\"}",
            ToolErrorKind::Remote,
            "answered 500",
        ),
        (
            server.url("/text"),
            "{\"query\":\"x\"}",
            ToolErrorKind::Protocol,
            "not JSON",
        ),
        (
            server.url("/translate/zh/en"),
            "{\"query\":\"x\"}",
            ToolErrorKind::Protocol,
            "response_path",
        ),
        (
            server.url("/huge"),
            "{\"query\":\"x\"}",
            ToolErrorKind::TooLarge,
            "tools.response_bytes",
        ),
        (
            server.url("/endless"),
            "{\"query\":\"x\"}",
            ToolErrorKind::TooLarge,
            "tools.response_bytes",
        ),
        (
            server.url("/slow"),
            "{\"query\":\"x\"}",
            ToolErrorKind::Timeout,
            "tools.web_search.timeout_ms",
        ),
        (
            server.url("/to?http%3A%2F%2F169.254.169.254%2Flatest"),
            "{\"query\":\"x\"}",
            ToolErrorKind::Refused,
            "link-local",
        ),
        (
            format!("http://{NOBODY}/"),
            "{\"query\":\"x\"}",
            ToolErrorKind::Transport,
            "refused",
        ),
        (
            server.url("/"),
            "{\"query\":\" \"}",
            ToolErrorKind::Arguments,
            "empty",
        ),
        (
            server.url("/"),
            "{\"question\":\"x\"}",
            ToolErrorKind::Arguments,
            "query is missing",
        ),
    ];
    for (url, arguments, kind, said) in cases {
        let settings = json!({"timeout_ms": 300, "engines": {"one":
            {"base_url": url, "response_path": "translated_code", "auth_header": {"X-Key": "s3cret"}}}});
        let tool = web_search(&configured(&settings), &BuiltinOptions::default());
        let error = call(&*tool, arguments).await.unwrap_err();
        assert_eq!(error.kind, kind, "{url}: {error}");
        assert!(error.message.contains(said), "{url}: {error}");
        assert!(
            !format!("{error:?} {tool:?}").contains("s3cret"),
            "{error:?} {tool:?}"
        );
        if !matches!(kind, ToolErrorKind::Arguments | ToolErrorKind::Timeout) {
            let told: Json = serde_json::from_str(&error.for_model).unwrap();
            assert_eq!(told["query"], "x");
            assert!(told["error"].is_string());
        }
    }
}

#[derive(Debug)]
struct Names;

impl Lookup for Names {
    fn lookup<'a>(&'a self, _: &'a str) -> BoxFuture<'a, std::io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(vec![IpAddr::from([169, 254, 169, 254])]) })
    }
}

#[tokio::test]
async fn names_of_metadata_services_are_refused() {
    let settings = json!({"engines": {"one": {"base_url": "http://search.example/"}}});
    let tools = Tools::with_lookup(config(&settings), Arc::new(Names)).unwrap();
    let tool = web_search(&tools, &BuiltinOptions::default());
    let error = call(&*tool, r#"{"query": "x"}"#).await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Refused, "{error}");
    assert!(!error.for_model.contains("169.254"), "{}", error.for_model);
}

#[test]
fn engines_are_chosen_by_name_or_order() {
    let settings =
        json!({"engines": {"zeta": {"base_url": "http://z/"}, "alpha": {"base_url": "http://a/"}}});
    let tools = configured(&settings);
    let chosen = |engine: Option<&str>| {
        let options = BuiltinOptions {
            engine: engine.map(str::to_owned),
            ..BuiltinOptions::default()
        };
        match tools.builtin("web_search", &options) {
            Ok(tools) => format!("{tools:?}"),
            Err(error) => error.to_string(),
        }
    };
    assert!(chosen(None).contains("\"z\""));
    assert!(chosen(Some("alpha")).contains("\"a\""));
    assert_eq!(
        chosen(Some("alhpa")),
        "unknown search engine \"alhpa\" (did you mean \"alpha\"?)"
    );
    let none = Tools::new(ToolsConfig::default()).unwrap();
    let error = none.builtin("web_search", &BuiltinOptions::default());
    assert_eq!(error.unwrap_err().code(), "tool.not_configured");
    let error = none
        .builtin("websearch", &BuiltinOptions::default())
        .unwrap_err();
    assert!(matches!(&error, BuiltinError::Unknown { .. }));
    assert_eq!(
        error.to_string(),
        "unknown built-in tool \"websearch\" (did you mean \"web_search\"?)"
    );
}

#[test]
fn wrong_settings_are_named() {
    let cases = [
        (
            json!({"engines": {"e": {}}}),
            "tools.web_search.engines.e.base_url: is missing",
        ),
        (
            json!({"engines": {"e": {"base_url": "http://169.254.169.254/"}}}),
            "tools.web_search.engines.e.base_url: tools may not connect to 169.254.169.254",
        ),
        (
            json!({"engines": {"e": {"base_url": "http://u:p@h/"}}}),
            "user name or password",
        ),
        (
            json!({"engines": {"e": {"type": "brave", "auth_header": {"Host": "x"}}}}),
            "tools.web_search.engines.e.auth_header: \"Host\"",
        ),
        (
            json!({"engines": {"bing": {"type": "brave"}}, "default_engine": "bin"}),
            "did you mean \"bing\"?",
        ),
    ];
    for (settings, said) in cases {
        let error = Tools::new(config(&settings)).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

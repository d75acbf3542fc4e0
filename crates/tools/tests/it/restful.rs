//! REST tools against a real server.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use quillet_core::BoxFuture;
use quillet_core::tool::{Tool, ToolContext, ToolError, ToolErrorKind};
use quillet_core::{Map, Value};
use quillet_tools::{ModuleConfig, ModuleUrls, Tools, ToolsConfig};
use serde_json::json;

use crate::http_server::HttpServer;
use crate::support::{NOBODY, arguments, build, call, eventually, text, tools, try_build};

/// The example of ai-prompt-shell's documentation, with another address.
fn seed_tool(url: &str) -> String {
    json!({
        "name": "translate_zh_en", "module": "translator", "type": "restful", "url": url,
        "description": "将输入代码中的中文注释、字符串翻译为英文",
        "supports": ["chat", "completion", "codereview"],
        "parameters": {
            "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": {"code": {"type": "string", "description": "代码文本"}},
            "required": ["code"]
        },
        "returns": {
            "$schema": "http://json-schema.org/draft-07/schema#", "type": "object",
            "properties": {"translated_code": {"type": "string", "description": "翻译后的代码文本"}}
        }
    })
    .to_string()
}

#[tokio::test]
async fn the_tool_of_the_seed_is_called_and_prints_its_only_property() {
    let server = HttpServer::start().await;
    let mut config = ToolsConfig::default();
    let module = ModuleConfig {
        base_url: Some(server.url("")),
        ..ModuleConfig::default()
    };
    config.modules.insert("translator".to_owned(), module);
    let tools = Tools::new(config).unwrap();
    let tool = build(&tools, &seed_tool("/translate/zh/en"));
    let result = call(&*tool, r#"{"code":"// 你好"}"#).await.unwrap();
    assert_eq!(
        result.get_path(&["translated_code"]),
        Some(&"// hello".into())
    );
    assert_eq!(
        result.as_map().unwrap().display_value(),
        Some(&"// hello".into())
    );
    // The fallback of a failed call displays as an empty string, and its fields can still be read.
    let default = tool.spec().default.clone();
    assert_eq!(default.get_path(&["translated_code"]), Some(&"".into()));
    assert_eq!(default.as_map().unwrap().display_value(), Some(&"".into()));
}

#[derive(Debug)]
struct Registered(String);

impl ModuleUrls for Registered {
    fn base_url<'a>(&'a self, module: &'a str) -> BoxFuture<'a, Option<String>> {
        Box::pin(async move { (module == "translator").then(|| self.0.clone()) })
    }
}

#[tokio::test]
async fn relative_urls_are_found_through_the_registered_module() {
    let server = HttpServer::start().await;
    let without = tools();
    let built = try_build(&without, &seed_tool("translate/zh/en")).unwrap();
    assert_eq!(built.warnings.len(), 1, "{:?}", built.warnings);
    let error = call(&*built.tool, r#"{"code":"x"}"#).await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Refused);
    assert!(
        error.message.contains("tools.modules.translator.base_url"),
        "{error}"
    );
    // The catalogue is set after the tools are built, but is still used.
    without.find_modules_with(Arc::new(Registered(server.url(""))));
    assert!(call(&*built.tool, r#"{"code":"x"}"#).await.is_ok());

    let with = tools();
    with.find_modules_with(Arc::new(Registered(server.url("/"))));
    let built = try_build(&with, &seed_tool("translate/zh/en")).unwrap();
    assert!(built.warnings.is_empty(), "{:?}", built.warnings);
    let result = call(&*built.tool, r#"{"code":"你好"}"#).await.unwrap();
    assert_eq!(text(&result), r#"{"translated_code":"hello"}"#);
}

/// Calls a tool as templates do, with positional and named arguments.
async fn called(tool: &dyn Tool, positional: &str, named: &str) -> Result<Value, ToolError> {
    let Value::List(list) = quillet_core::json::parse(positional).unwrap() else {
        panic!("{positional} is no list");
    };
    let bound = tool
        .spec()
        .bind(list.as_slice().to_vec(), &arguments(named))?;
    tool.call(bound, &ToolContext::default()).await
}

/// A definition that declares no parameters accepts any arguments, as ai-prompt-shell always does.
#[tokio::test]
async fn undeclared_arguments_are_sent_as_a_list() {
    let server = HttpServer::start().await;
    let tools = tools();
    for declared in [
        json!({}),
        json!({"parameters": null}),
        json!({"parameters": {}}),
    ] {
        // The columns are the method, positional arguments, named arguments and the expected body.
        for (method, positional, named, body) in [
            ("POST", r#"["x", 2]"#, "{}", json!(["x", 2])),
            (
                "PUT",
                r#"[[1], {"a": null}]"#,
                "{}",
                json!([[1], {"a": null}]),
            ),
            ("PATCH", "[true]", "{}", json!([true])),
            ("GET", r#"["x"]"#, "{}", json!(["x"])),
            ("DELETE", r#"["x"]"#, "{}", json!(["x"])),
            // A single object is one positional argument: no parameter names are declared.
            ("POST", r#"[{"a": 1}]"#, "{}", json!([{"a": 1}])),
            ("POST", "[]", r#"{"a": 1}"#, json!({"a": 1})),
            ("POST", "[]", "{}", json!({})),
        ] {
            let mut definition = json!({"restful": {"url": server.url("/e"), "method": method}});
            let fields = declared.as_object().unwrap().clone();
            definition.as_object_mut().unwrap().extend(fields);
            let tool = build(&tools, &definition);
            let got = called(&*tool, positional, named).await.unwrap();
            let sent = serde_json::Value::from(got.get_path(&["body"]).unwrap());
            assert_eq!(sent, body, "{definition} {positional} {named}");
            assert_eq!(got.get_path(&["method"]), Some(&method.into()));
        }
        let mut definition = json!({"restful": {"url": server.url("/e")}});
        definition
            .as_object_mut()
            .unwrap()
            .extend(declared.as_object().unwrap().clone());
        let error = called(&*build(&tools, &definition), "[1]", r#"{"a": 1}"#)
            .await
            .unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Arguments);
    }
    // An empty list, or a schema without properties, declares that there are no parameters.
    for parameters in [json!([]), json!({"type": "object", "properties": {}})] {
        let definition = json!({"restful": {"url": server.url("/e")}, "parameters": parameters});
        let error = called(&*build(&tools, &definition), "[1]", "{}")
            .await
            .unwrap_err();
        assert!(error.message.contains("at most 0 arguments"), "{error}");
    }
}

#[tokio::test]
async fn requests_on_the_wire() {
    let server = HttpServer::start().await;
    let tools = tools();
    let parameters = json!([
        {"name": "a", "type": "string", "required": true},
        {"name": "n", "type": "integer", "default": 7},
        {"name": "l", "type": "array"},
        {"name": "o", "type": "object"}
    ]);
    let given = r#"{"a":"x y","l":[1,2],"o":{"k":1}}"#;
    let cases = [
        // The columns are the method, URL, form and arguments, and the expected URI and body.
        (
            "POST",
            "/e",
            "object",
            given,
            "/e",
            json!({"a": "x y", "l": [1, 2], "o": {"k": 1}, "n": 7}),
        ),
        (
            "PUT",
            "/e/{a}",
            "object",
            r#"{"a":"/ü"}"#,
            "/e/%2F%C3%BC",
            json!({"n": 7}),
        ),
        (
            "GET",
            "/e",
            "object",
            given,
            "/e?a=x+y&l=1&l=2&o=%7B%22k%22%3A1%7D&n=7",
            json!(null),
        ),
        (
            "DELETE",
            "/e/{a}?k=v",
            "object",
            r#"{"a":"b"}"#,
            "/e/b?k=v&n=7",
            json!(null),
        ),
        (
            "POST",
            "/e",
            "array",
            r#"{"l":[],"a":"y","n":2}"#,
            "/e",
            json!(["y", 2, []]),
        ),
        ("GET", "/e", "array", r#"{"a":"y"}"#, "/e", json!(["y", 7])),
    ];
    for (method, url, form, given, uri, body) in cases {
        let definition = json!({
            "restful": {"url": server.url(url), "method": method.to_lowercase()},
            "parameters": parameters, "args": form,
        });
        let tool = build(&tools, &definition);
        let got = call(&*tool, given).await.unwrap();
        assert_eq!(got.get_path(&["method"]), Some(&method.into()), "{url}");
        assert_eq!(got.get_path(&["uri"]), Some(&uri.into()), "{url}");
        assert_eq!(
            serde_json::Value::from(got.get_path(&["body"]).unwrap()),
            body,
            "{method} {url} {form}"
        );
        assert_eq!(got.get_path(&["request_id"]), Some(&"r-1".into()));
    }
}

#[tokio::test]
async fn answers() {
    let server = HttpServer::start().await;
    let tools = tools();
    let object = json!({"type": "object"});
    let cases = [
        ("/text", json!(null), json!(""), Ok(r#""plain words""#)),
        ("/text-json", json!(null), json!(""), Ok(r#""{\"a\":1}""#)),
        ("/text-json", object.clone(), json!(""), Ok(r#"{"a":1}"#)),
        (
            "/text",
            object.clone(),
            json!(""),
            Err(ToolErrorKind::Protocol),
        ),
        ("/nothing", json!(null), json!(""), Ok(r#""""#)),
        ("/nothing", object.clone(), json!(""), Ok("{}")),
        ("/untyped", json!(null), json!(""), Ok("[1,2]")),
        ("/untyped", json!(null), json!("1"), Ok("2")),
        (
            "/untyped",
            json!(null),
            json!("7"),
            Err(ToolErrorKind::Protocol),
        ),
        ("/e", object, json!("method"), Ok(r#""POST""#)),
        (
            "/e",
            json!(null),
            json!("no.such"),
            Err(ToolErrorKind::Protocol),
        ),
        (
            "/broken-json",
            json!(null),
            json!(""),
            Err(ToolErrorKind::Protocol),
        ),
        (
            "/not-utf8",
            json!(null),
            json!(""),
            Err(ToolErrorKind::Protocol),
        ),
        ("/error", json!(null), json!(""), Err(ToolErrorKind::Remote)),
        (
            "/huge",
            json!(null),
            json!(""),
            Err(ToolErrorKind::TooLarge),
        ),
        (
            "/endless",
            json!(null),
            json!(""),
            Err(ToolErrorKind::TooLarge),
        ),
    ];
    for (path, returns, result, expected) in cases {
        let mut definition =
            json!({"type": "restful", "url": server.url(path), "returns": returns});
        if result != json!("") {
            definition["result"] = result;
        }
        let tool = build(&tools, &definition);
        let got = call(&*tool, "{}").await;
        match expected {
            Ok(expected) => assert_eq!(text(&got.unwrap()), expected, "{definition}"),
            Err(kind) => assert_eq!(got.unwrap_err().kind, kind, "{definition}"),
        }
    }
}

#[tokio::test]
async fn failures_tell_the_beginning_of_the_body() {
    let server = HttpServer::start().await;
    let tool = build(
        &tools(),
        &json!({"type": "restful", "url": server.url("/error?secret=1")}),
    );
    let error = call(&*tool, "{}").await.unwrap_err();
    let (head, body) = error.message.split_once(": boom").unwrap();
    assert!(
        head.ends_with("/error answered 500 Internal Server Error"),
        "{head}"
    );
    assert_eq!(body.len() + "boom".len(), 1024);
    assert!(
        !error.for_model.contains("127.0.0.1"),
        "{}",
        error.for_model
    );
}

#[tokio::test]
async fn nobody_listens() {
    let tool = build(
        &tools(),
        &json!({"type": "restful", "url": format!("http://{NOBODY}/x?secret=1")}),
    );
    let error = call(&*tool, "{}").await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Transport);
    assert!(error.message.contains("refused"), "{error}");
    assert!(!error.message.contains("secret"), "{error}");
}

#[tokio::test]
async fn time_is_kept_and_leaving_ends_the_request() {
    let server = HttpServer::start().await;
    let slow = |timeout: u64| json!({"type": "restful", "url": server.url("/slow"), "timeout_ms": timeout});
    let tools = tools();
    // The tool's own timeout applies.
    let tool = build(&tools, &slow(50));
    let error = call(&*tool, "{}").await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Timeout);
    assert!(error.message.contains("timeout_ms"), "{error}");
    // The deadline of the caller applies.
    let tool = build(&tools, &slow(60_000));
    let context = ToolContext {
        deadline: Some(Instant::now() + Duration::from_millis(100)),
        ..ToolContext::default()
    };
    let error = tool.call(Map::default(), &context).await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Timeout);
    assert!(error.message.contains("caller"), "{error}");
    // The caller disconnects. Under load, the requests above may have timed out before they reached
    // the server.
    let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
    let before = count(&server.seen.requests);
    let call = tokio::spawn(async move { call(&*tool, "{}").await });
    let arrived = || count(&server.seen.requests) > before;
    eventually("the request", arrived).await;
    call.abort();
    let left = || count(&server.seen.left) == count(&server.seen.requests);
    eventually("leaving", left).await;
}

#[tokio::test]
async fn connections_are_kept() {
    let server = HttpServer::start().await;
    let tools = tools();
    for _ in 0..5 {
        let tool = build(&tools, &json!({"type": "restful", "url": server.url("/e")}));
        call(&*tool, "{}").await.unwrap();
    }
    assert_eq!(server.seen.connections.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn redirects_keep_what_they_should() {
    let server = HttpServer::start().await;
    let other = HttpServer::start().await;
    let mut config = ToolsConfig::default();
    let module = ModuleConfig {
        base_url: Some(server.url("")),
        headers: [("authorization".to_owned(), "Bearer secret".into())].into(),
        ..ModuleConfig::default()
    };
    config.modules.insert("m".to_owned(), module);
    let tools = Tools::new(config).unwrap();
    let tool = |url: String| {
        build(
            &tools,
            &json!({
                "type": "restful", "module": "m", "url": url, "headers": {"X-Own": "o"},
                "parameters": [{"name": "a"}]
            }),
        )
    };
    let elsewhere = other.url("/e");
    let cases = [
        // Headers of a module are sent to the module only; a definition cannot send them to other
        // hosts.
        ("/e".to_owned(), "POST", true, true),
        (elsewhere.clone(), "POST", false, true),
        (format!("/to?{}", server.url("/e")), "POST", true, true),
        (format!("/to?{elsewhere}"), "POST", false, false),
        (format!("/found?{}", server.url("/e")), "GET", true, true),
    ];
    for (url, method, secret, own) in cases {
        let got = call(&*tool(url.clone()), r#"{"a":1}"#).await.unwrap();
        let field = |name| got.get_path(&[name]).cloned().unwrap();
        assert_eq!(field("method"), method.into(), "{url}");
        assert_eq!(field("authorization") != Value::Null, secret, "{url}");
        assert_eq!(field("own") != Value::Null, own, "{url}");
        let body = if method == "GET" {
            Value::Null
        } else {
            arguments(r#"{"a":1}"#).into()
        };
        assert_eq!(field("body"), body, "{url}");
    }
    let error = call(&*tool("/loop".to_owned()), "{}").await.unwrap_err();
    assert_eq!(error.kind, ToolErrorKind::Refused);
    assert!(error.message.contains("tools.redirects"), "{error}");
}

#[tokio::test]
async fn arguments_are_checked_before_anything_is_sent() {
    let server = HttpServer::start().await;
    let parameters = json!({
        "type": "object", "additionalProperties": false, "required": ["code"],
        "properties": {
            "code": {"type": "string"}, "line": {"type": "integer", "minimum": 1},
            "tags": {"type": "array", "items": {"type": "string"}}
        }
    });
    let tool = build(
        &tools(),
        &json!({"type": "restful", "url": server.url("/e"), "parameters": parameters}),
    );
    let cases = [
        (
            "{}",
            "t: argument code is missing (arguments in order: code, line, tags)",
        ),
        (
            r#"{"code":"","cod":1}"#,
            "t: unknown argument cod (did you mean code?)",
        ),
        (
            r#"{"code":1}"#,
            "argument code: 1 is not of type \"string\" (integer given)",
        ),
        (
            r#"{"code":"","line":0}"#,
            "argument line: 0 is less than the minimum of 1",
        ),
        (
            r#"{"code":"","tags":["a",2]}"#,
            "argument tags.1: 2 is not of type \"string\"",
        ),
    ];
    for (given, expected) in cases {
        let error = call(&*tool, given).await.unwrap_err();
        assert_eq!(error.kind, ToolErrorKind::Arguments);
        assert!(error.message.contains(expected), "{given}: {error}");
    }
    assert_eq!(server.seen.requests.load(Ordering::SeqCst), 0);
}

//! gRPC tools against a real server.

use base64::Engine;
use quillet_core::Value;
use quillet_core::tool::ToolErrorKind;
use quillet_tools::{ModuleConfig, Tools, ToolsConfig};
use serde_json::json;

use crate::grpc_server::{GrpcServer, Reflection, descriptors};
use crate::support::{NOBODY, build, call, text, tools, try_build};

const ASK: &str = r#"{"code":"你好","number":9007199254740993,"list":[1,2],
    "item":{"item_name":"x","huge":"18446744073709551615","mood":"BUSY","raw":"AAE=","tags":["a"]},
    "at":"2024-01-02T03:04:05Z"}"#;
const ANSWER: &str = concat!(
    r#"{"translated_code":"hello","given":{"code":"你好","number":9007199254740993,"#,
    r#""item":{"item_name":"x","big":0,"huge":"18446744073709551615","mood":"BUSY","raw":"AAE=","tags":["a"]},"#,
    r#""list":[1,2],"at":"2024-01-02T03:04:05Z"},"flag":false}"#
);

#[tokio::test]
async fn methods_are_found_and_called() {
    let v1 = GrpcServer::start(Reflection::V1).await;
    let alpha = GrpcServer::start(Reflection::V1Alpha).await;
    let none = GrpcServer::start(Reflection::None).await;
    let set = base64::engine::general_purpose::STANDARD.encode(descriptors().encode_to_vec());
    let (v1, alpha, none) = (
        v1.address.to_string(),
        alpha.address.to_string(),
        none.address.to_string(),
    );
    let cases = [
        json!({"url": v1, "service": "shop.v1.Translator", "method": "TranslateZhEn"}),
        json!({"url": format!("http://{v1}"), "method": "/shop.v1.Translator/TranslateZhEn"}),
        json!({"url": alpha, "service": "shop.v1.Translator", "method": "TranslateZhEn"}),
        json!({"url": none, "service": "shop.v1.Translator", "method": "TranslateZhEn", "descriptor_set": set}),
        // Without a method, the path is `<module>/<name>`, as in ai-prompt-shell.
        json!({"url": v1}),
    ];
    let tools = tools();
    for grpc in cases {
        let definition = json!({"name": "translate_zh_en", "module": "translator", "type": "grpc", "grpc": grpc,
            "parameters": {"type": "object"}});
        let result = call(&*build(&tools, &definition), ASK).await;
        assert_eq!(
            text(&result.unwrap_or_else(|error| panic!("{grpc}: {error}"))),
            ANSWER,
            "{grpc}"
        );
    }
}

/// If a tool declares no parameters, positional arguments fill the message's fields in order.
#[tokio::test]
async fn undeclared_arguments_follow_the_fields() {
    let server = GrpcServer::start(Reflection::V1).await;
    let definition = json!({"grpc": {
        "url": server.address.to_string(), "service": "shop.v1.Translator", "method": "TranslateZhEn",
    }});
    let tool = build(&tools(), &definition);
    let answer = call(&*tool, r#"{"arguments": ["你好", 7]}"#).await.unwrap();
    assert_eq!(
        answer.get_path(&["given", "code"]),
        Some(&"你好".into()),
        "{answer:?}"
    );
    assert_eq!(
        answer.get_path(&["given", "number"]),
        Some(&Value::Int(7)),
        "{answer:?}"
    );
}

#[tokio::test]
async fn failures() {
    let server = GrpcServer::start(Reflection::V1).await;
    let silent = GrpcServer::start(Reflection::None).await;
    let tools = tools();
    let (here, silent, free) = (
        server.address.to_string(),
        silent.address.to_string(),
        NOBODY.to_owned(),
    );
    let cases = [
        (
            &here,
            "Fail",
            "{}",
            ToolErrorKind::Remote,
            "FailedPrecondition: the shop is closed",
        ),
        (
            &here,
            "Large",
            "{}",
            ToolErrorKind::TooLarge,
            "tools.response_bytes",
        ),
        (&here, "Slow", "{}", ToolErrorKind::Timeout, ""),
        (&here, "Watch", "{}", ToolErrorKind::Protocol, "streams"),
        (
            &here,
            "TranslateZhEm",
            "{}",
            ToolErrorKind::Remote,
            "did you mean TranslateZhEn?",
        ),
        (
            &here,
            "Fail",
            r#"{"cod":1}"#,
            ToolErrorKind::Arguments,
            "cod",
        ),
        (
            &here,
            "Fail",
            r#"{"code":1}"#,
            ToolErrorKind::Arguments,
            "shop.v1.Ask",
        ),
        (
            &silent,
            "Fail",
            "{}",
            ToolErrorKind::Remote,
            "descriptor_set",
        ),
        (&free, "Fail", "{}", ToolErrorKind::Transport, "refused"),
    ];
    for (address, method, given, kind, said) in cases {
        let definition = json!({"grpc": {"url": address, "service": "shop.v1.Translator", "method": method},
            "parameters": {"type": "object"}, "timeout_ms": if method == "Slow" { 300 } else { 10_000 }});
        let error = call(&*build(&tools, &definition), given).await.unwrap_err();
        assert_eq!(error.kind, kind, "{method}: {error}");
        assert!(error.message.contains(said), "{method}: {error}");
        assert!(
            !error.for_model.contains("127.0.0.1"),
            "{}",
            error.for_model
        );
    }
    let definition = json!({"grpc": {"url": here, "service": "shop.v1.Shop", "method": "X"}});
    let error = call(&*build(&tools, &definition), "{}").await.unwrap_err();
    assert!(
        error.message.contains("no service shop.v1.Shop (it has "),
        "{error}"
    );
    assert!(
        try_build(
            &tools,
            r#"{"grpc": {"url": "169.254.169.254:80", "service": "s", "method": "m"}}"#
        )
        .is_err()
    );
}

#[tokio::test]
async fn the_module_gives_address_and_headers() {
    let server = GrpcServer::start(Reflection::V1).await;
    let mut config = ToolsConfig::default();
    let module = ModuleConfig {
        base_url: Some(format!("http://{}", server.address)),
        headers: [("authorization".to_owned(), "Bearer secret".into())].into(),
        ..ModuleConfig::default()
    };
    config.modules.insert("translator".to_owned(), module);
    let tools = Tools::new(config).unwrap();
    let definition = json!({"name": "token", "module": "translator", "type": "grpc", "result": "translated_code"});
    let result = call(&*build(&tools, &definition), "{}").await.unwrap();
    assert_eq!(result, Value::from("Bearer secret"));
}

#[tokio::test]
async fn a_server_that_was_away_is_found_again() {
    let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = GrpcServer::start_on(&port, Reflection::V1);
    let tools = tools();
    let definition = json!({"grpc": {"url": server.address.to_string(), "service": "shop.v1.Translator",
        "method": "TranslateZhEn"}, "parameters": {"type": "object"}, "result": "translated_code"});
    let tool = build(&tools, &definition);
    assert_eq!(call(&*tool, ASK).await.unwrap(), Value::from("hello"));
    server.stop().await;
    let _again = GrpcServer::start_on(&port, Reflection::V1);
    assert_eq!(call(&*tool, ASK).await.unwrap(), Value::from("hello"));
}

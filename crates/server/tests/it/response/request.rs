//! Valid members of requests, and the errors for invalid ones.

use std::sync::Arc;

use quillet_core::chat::ChatRequest;
use quillet_core::{ContentPart, MessageContent, Role};
use serde_json::{Value, json};

use crate::client;
use crate::test_agents::{AgentSetup, question};
use crate::test_model::{Script, TestModel, hello};

/// Returns the model request for this body.
async fn asked(body: &Value) -> ChatRequest {
    let model = TestModel::new(Script::Says(hello()));
    let server = AgentSetup::over(model.clone()).start().await;
    server.ask(body).await;
    let requests = model.requests.lock().unwrap();
    requests[0].clone()
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once() {
    let server = AgentSetup::over(TestModel::new(Script::Says(hello())))
        .start()
        .await;
    let ok = || json!({"model_id": "m", "model": "openai", "api_key": "k"});
    let hi = || json!({"text": "hi"});
    let cases = [
        (
            json!({}),
            vec![("missing", "model_config"), ("missing", "input")],
        ),
        (json!([]), vec![("model_attributes_type", "")]),
        (
            json!({"model_config": {"api_key": "sk-1"}, "input": hi()}),
            vec![
                ("missing", "model_config.model_id"),
                ("missing", "model_config.model"),
            ],
        ),
        (
            json!({"model_config": 7, "input": hi()}),
            vec![("model_attributes_type", "model_config")],
        ),
        (
            json!({"model_config": ok(), "input": {}}),
            vec![("value_error", "input")],
        ),
        // A switch that disables a tool is never ignored.
        (
            json!({"model_config": ok(), "input": hi(),
                "tools": {"builtin": {"web_search": {"enabld": false}}}}),
            vec![("extra_forbidden", "tools.builtin.web_search")],
        ),
        (
            json!({"model_config": ok(), "input": hi(),
                "tools": {"builtin": {"web_search": {"enabled": "never"}}}}),
            vec![("bool_parsing", "tools.builtin.web_search.enabled")],
        ),
        (
            json!({"model_config": ok(), "input": {"text": 7}}),
            vec![("string_type", "input.text.str")],
        ),
        (
            json!({"model_config": ok(), "input": {"text": {"type": "vision"}}}),
            vec![
                ("missing", "input.text.text"),
                ("missing", "input.text.image_base64"),
            ],
        ),
        (
            json!({"model_config": ok(), "input": {"messages": [{"role": "robot", "content": 7}, {"content": "x"}]}}),
            vec![
                ("string_type", "input.messages.0.content.str"),
                ("list_type", "input.messages.0.content.list"),
                ("literal_error", "input.messages.0.role"),
                ("missing", "input.messages.1.role"),
            ],
        ),
        (
            json!({"model_config": ok(), "input": {"content": [{"type": "text"}, {"type": "video"}]}}),
            vec![
                ("missing", "input.content.0.text"),
                ("literal_error", "input.content.1.type"),
            ],
        ),
        (
            json!({"model_config": ok(), "input": hi(), "temperature": 2.1, "max_tokens": 0}),
            vec![
                ("less_than_equal", "temperature"),
                ("greater_than_equal", "max_tokens"),
            ],
        ),
        (
            json!({"model_config": ok(), "input": hi(), "temperature": "hot", "max_tokens": 1.5}),
            vec![
                ("float_parsing", "temperature"),
                ("int_from_float", "max_tokens"),
            ],
        ),
        (
            json!({"model_config": ok(), "input": hi(), "tool_choice": "maybe"}),
            vec![
                (
                    "literal_error",
                    "tool_choice.literal['auto','none','required']",
                ),
                ("dict_type", "tool_choice.dict[str,any]"),
            ],
        ),
        (
            json!({"model_config": ok(), "input": hi(), "features": {"streaming": "maybe", "deep_thinking": []}}),
            vec![
                ("bool_type", "features.deep_thinking"),
                ("bool_parsing", "features.streaming"),
            ],
        ),
        (
            json!({"model_config": ok(), "input": hi(), "metadata": {"history_limit": -1, "chat_type": "crowd", "skill_names": "x"}}),
            vec![
                ("greater_than_equal", "metadata.history_limit"),
                ("literal_error", "metadata.chat_type"),
                ("list_type", "metadata.skill_names"),
            ],
        ),
        (
            json!({"model_config": ok(), "input": hi(), "tools": {"mcp_servers": [{}], "custom": [{"type": "f", "function": {"name": "x"}}], "builtin": {"a": 1}}}),
            vec![
                ("dict_type", "tools.builtin.a"),
                ("literal_error", "tools.custom.0.type"),
                ("missing", "tools.mcp_servers.0.name"),
                ("missing", "tools.mcp_servers.0.url"),
            ],
        ),
        (
            json!({"model_config": ok(), "tool_results": [{"id": "c"}]}),
            vec![("missing", "tool_results.0.output")],
        ),
        (
            json!({"model_config": ok(), "input": hi(), "reasoning_effort": "hard", "thinking": 7,
                "response_format": {"type": "json_schema"}}),
            vec![
                ("dict_type", "thinking"),
                ("literal_error", "reasoning_effort"),
                ("missing", "response_format.json_schema"),
            ],
        ),
        (
            json!({"model_config": ok(), "input": hi(), "attachments": {}}),
            vec![("list_type", "attachments")],
        ),
    ];
    for (body, expected) in cases {
        let answer = server.post("/v1/response", &body).await;
        assert_eq!(answer.status, 422, "{body}");
        let told = answer.json();
        let found: Vec<(String, String)> = told["detail"]
            .as_array()
            .unwrap()
            .iter()
            .map(|fault| {
                let place: Vec<String> = fault["loc"].as_array().unwrap()[1..]
                    .iter()
                    .map(|step| {
                        step.as_str()
                            .map_or_else(|| step.to_string(), str::to_owned)
                    })
                    .collect();
                assert_eq!(fault["loc"][0], "body");
                assert!(fault["msg"].is_string() && fault.get("input").is_some());
                (fault["type"].as_str().unwrap().to_owned(), place.join("."))
            })
            .collect();
        let expected: Vec<(String, String)> = expected
            .iter()
            .map(|(kind, at)| ((*kind).to_owned(), (*at).to_owned()))
            .collect();
        assert_eq!(found, expected, "{body}: {told}");
        assert!(!answer.body.contains("sk-1"), "{}", answer.body);
    }
}

#[tokio::test]
async fn what_only_the_provider_understands_reaches_it() {
    let format =
        json!({"type": "json_schema", "json_schema": {"name": "a", "schema": {"type": "object"}}});
    let search = json!({"type": "web_search_20250305", "name": "web_search", "max_uses": 2});
    let google = json!({"googleSearch": {}});
    let marked = json!({"type": "function", "function": {"name": "look"},
        "cache_control": {"type": "ephemeral"}, "defer_loading": true});
    let request = asked(&question(
        "x",
        json!({
            "reasoning_effort": "high",
            "thinking": {"type": "enabled", "budget_tokens": 2000},
            "response_format": format,
            "tools": {"custom": [search, google, marked]},
        }),
    ))
    .await;
    let options = request.options;
    assert_eq!(options.reasoning_effort.as_deref(), Some("high"));
    assert_eq!(options.extra["thinking"]["budget_tokens"], 2000);
    assert_eq!(options.response_format, Some(format));
    let tools: Vec<Value> = options
        .tools
        .iter()
        .map(|tool| serde_json::to_value(tool).unwrap())
        .collect();
    for tool in [search, google, marked] {
        assert!(tools.contains(&tool), "{tool}: {tools:?}");
    }
}

#[tokio::test]
async fn a_fault_has_pydantics_members() {
    let server = AgentSetup::over(TestModel::new(Script::Says(hello())))
        .start()
        .await;
    let answer = server
        .post("/v1/response", &question("x", json!({"temperature": 3})))
        .await;
    assert_eq!(
        answer.json(),
        json!({"detail": [{
            "type": "less_than_equal", "loc": ["body", "temperature"],
            "msg": "Input should be less than or equal to 2", "input": 3, "ctx": {"le": 2.0},
        }]})
    );
}

#[tokio::test]
async fn bodies_that_are_no_json_or_none_or_too_large() {
    let mut setup = AgentSetup::over(TestModel::new(Script::Says(hello())));
    setup.options.body_bytes = 1000;
    let server = setup.start().await;
    let large = format!("{{\"x\": \"{}\"}}", "y".repeat(2000));
    let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
    let unknown_bytes = "{\"model_config\": nope}";
    for (body, status, kind) in [
        ("", 422, "missing"),
        ("{", 422, "json_invalid"),
        (unknown_bytes, 422, "json_invalid"),
        (&deep, 422, "json_invalid"),
    ] {
        let answer = client::post(server.address, "/v1/response", body).await;
        assert_eq!(
            (answer.status, &answer.json()["detail"][0]["type"]),
            (status, &json!(kind))
        );
    }
    assert_eq!(
        client::post(server.address, "/v1/response", &large)
            .await
            .status,
        413
    );
}

#[tokio::test]
async fn a_million_faults_are_told_by_a_hundred() {
    let server = AgentSetup::over(TestModel::new(Script::Says(hello())))
        .start()
        .await;
    let body = question("x", json!({"attachments": vec![7; 100_000]}));
    let answer = server.post("/v1/response", &body).await;
    assert_eq!(answer.json()["detail"].as_array().unwrap().len(), 100);
}

#[tokio::test]
async fn parameters_reach_the_model() {
    let body = question(
        "Hi",
        json!({"temperature": "0.5", "max_tokens": 100, "tool_choice": "none", "system": "Be brief."}),
    );
    let request = asked(&body).await;
    assert_eq!(request.model.as_deref(), Some("test-1"));
    assert_eq!(request.options.temperature, Some(0.5));
    assert_eq!(request.options.max_tokens, Some(100));
    assert_eq!(request.messages[0].role, Role::System);
    assert_eq!(request.messages[0].content, "Be brief.");
    // Reasoning models reject a temperature, and the token limit must not exceed that of the model.
    let request = asked(&question("Hi", json!({}))).await;
    assert_eq!(request.options.temperature, None);
    assert_eq!(request.options.max_tokens, Some(4096));
}

#[tokio::test]
async fn unknown_members_are_told_with_the_nearest_known_one() {
    let server = AgentSetup::over(TestModel::new(Script::Says(hello())))
        .start()
        .await;
    let told = |name: &str, near: &str| {
        let hint = match near {
            "" => String::new(),
            near => format!("; did you mean {near:?}?"),
        };
        format!("unknown member {name:?} in the request{hint}")
    };
    let long = "z".repeat(1_000);
    for (members, expected) in [
        (json!({}), json!(null)),
        (
            json!({"tool_choise": "auto"}),
            json!([told("tool_choise", "tool_choice")]),
        ),
        (json!({"zebra": null}), json!([told("zebra", "")])),
        (json!({long: 1}), json!([told(&"z".repeat(64), "")])),
        (
            json!({"features": {"streeming": true}, "tools": {"custum": []}}),
            json!([
                told("tools.custum", "custom"),
                told("features.streeming", "streaming")
            ]),
        ),
    ] {
        let events = server.ask(&question("Hi", members.clone())).await;
        let done = &events.last().unwrap().data;
        assert_eq!(done["warnings"], expected, "{members}");
    }
}

#[tokio::test]
async fn input_is_messages_else_content_else_text() {
    let texts = |request: &ChatRequest| -> Vec<String> {
        let said = request.messages.iter();
        said.map(|m| format!("{}: {}", m.role.as_str(), m.content))
            .collect()
    };
    let content = json!([{"type": "text", "text": "content"}]);
    let messages = json!([
        {"role": "system", "content": "S"},
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": null, "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]},
        {"role": "tool", "tool_call_id": "c", "content": "R"},
        {"role": "assistant", "content": "two"},
        {"role": "user", "content": [{"type": "text", "text": "three"}]},
    ]);
    let with = |input: Value| question("", json!({"input": input, "session_id": "s"}));
    let request = asked(&with(
        json!({"text": "text", "content": content, "messages": messages}),
    ))
    .await;
    assert_eq!(
        texts(&request),
        [
            "system: S",
            "user: one",
            "assistant: ",
            "tool: R",
            "assistant: two",
            "user: three"
        ]
    );
    let request = asked(&with(json!({"text": "text", "content": content}))).await;
    assert_eq!(texts(&request), ["user: content"]);
    let request = asked(&with(json!({"text": "text"}))).await;
    assert_eq!(texts(&request), ["user: text"]);
}

#[tokio::test]
async fn images_come_in_four_forms() {
    let image = |request: &ChatRequest| -> Vec<String> {
        let MessageContent::Parts(parts) = &request.messages[0].content else {
            panic!("{request:?}");
        };
        let url = |part: &ContentPart| part.url().map(str::to_owned);
        parts.iter().filter_map(url).collect()
    };
    let cases = [
        (
            json!({"text": {"type": "vision", "text": "t", "image_base64": "AA", "mime_type": "image/jpeg"}}),
            vec!["data:image/jpeg;base64,AA"],
        ),
        (
            json!({"text": {"type": "multi_vision", "text": "t", "images": [
            {"image_base64": "AA", "mime_type": "image/png"}, {"image_base64": "BB", "mime_type": "image/gif"}]}}),
            vec!["data:image/png;base64,AA", "data:image/gif;base64,BB"],
        ),
        (
            json!({"content": [{"type": "text", "text": "t"}, {"type": "image", "source": {"data": "AA", "media_type": "image/png"}}]}),
            vec!["data:image/png;base64,AA"],
        ),
        (
            json!({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/y.png"}}]}]}),
            vec!["https://x/y.png"],
        ),
    ];
    for (input, urls) in cases {
        let request = asked(&question("", json!({"input": input}))).await;
        assert_eq!(image(&request), urls);
    }
}

#[tokio::test]
async fn a_call_of_the_client_goes_on_with_its_result() {
    use quillet_core::chat::{ChatEvent, FinishReason};
    let call = ChatEvent::ToolCall {
        choice: 0,
        index: 0,
        id: Some("call_1".into()),
        name: Some("where_am_i".into()),
        arguments: "{\"exact\":true}".into(),
    };
    let wants = ChatEvent::Finish {
        choice: 0,
        reason: FinishReason::ToolCalls,
        raw: "tool_calls".into(),
    };
    let model = TestModel::new(Script::Says(vec![crate::test_model::start(), call, wants]));
    let sessions = {
        let mut setup = AgentSetup::over(model.clone());
        let sessions = setup.sessions.clone();
        setup.options.limits.tool_rounds = 3;
        let server = setup.start().await;
        let custom = json!([{"type": "function", "function": {"name": "where_am_i", "parameters": {
            "type": "object", "properties": {"exact": {"type": "boolean"}}}}}]);
        let told = server
            .ask(&question(
                "Hi",
                json!({"session_id": "s", "tools": {"custom": custom}}),
            ))
            .await;
        let required = told
            .iter()
            .find(|event| event.name == "tool.call_required")
            .unwrap();
        assert_eq!(
            required.data,
            json!({"id": "call_1", "name": "where_am_i", "input": {"exact": true}})
        );
        assert_eq!(told.last().unwrap().data["stop_reason"], "tool_use");
        sessions
    };
    let model = TestModel::new(Script::Says(hello()));
    let mut setup = AgentSetup::over(model.clone());
    setup.sessions = Arc::clone(&sessions);
    let server = setup.start().await;
    let mut body = question(
        "",
        json!({"session_id": "s", "tool_results": [{"id": "call_1", "output": {"lat": 52}}]}),
    );
    body.as_object_mut().unwrap().remove("input");
    server.ask(&body).await;
    let asked = model.requests.lock().unwrap()[0].clone();
    let shape: Vec<String> = asked
        .messages
        .iter()
        .map(|m| format!("{}: {}", m.role.as_str(), m.content))
        .collect();
    assert_eq!(shape, ["user: Hi", "assistant: ", "tool: {\"lat\":52}"]);
    assert_eq!(sessions.load("s", 10).await.unwrap().len(), 4);
}

//! `POST /v1/chat/completions`.

use quillet_fake_provider::{
    ErrorResponse, InjectedFault, ProviderApi, ReplyScript, ScriptedReply,
};
use quillet_server::ServerConfig;
use serde_json::{Value, json};

use super::door::{open, open_with};
use crate::client::{Connection, request};
use crate::test_server::eventually;

fn question(model: &str, more: Value) -> Value {
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": "Hello"}]});
    if let Value::Object(more) = more {
        body.as_object_mut().unwrap().extend(more);
    }
    body
}

/// Joins the text of the first choice of a stream.
fn said(chunks: &[Value], member: &str) -> String {
    let texts = chunks
        .iter()
        .filter_map(|chunk| chunk["choices"][0]["delta"][member].as_str());
    texts.collect()
}

fn ended(chunks: &[Value]) -> Value {
    chunks
        .iter()
        .find_map(|chunk| chunk.pointer("/choices/0/finish_reason")?.as_str())
        .into()
}

#[tokio::test]
async fn a_model_answers_whole_and_streamed() {
    let door = open().await;
    let whole = door
        .post("/v1/chat/completions", &question("fake-text-2", json!({})))
        .await;
    let body = whole.json();
    // The response is the provider's, including members that only the provider defines.
    assert_eq!(
        body["choices"],
        json!([{
            "index": 0,
            "finish_reason": "stop",
            "logprobs": null,
            "message": {"role": "assistant", "content": "word0 word1 ", "refusal": null},
        }])
    );
    assert_eq!(body["object"], "chat.completion");
    assert!(body["usage"]["total_tokens"].as_u64() > Some(0), "{body}");
    let chunks = door
        .chunks(&question("fake-text-2", json!({"stream": true})))
        .await;
    assert_eq!(said(&chunks, "content"), "word0 word1 ");
    assert_eq!(ended(&chunks), "stop");
    assert!(chunks.iter().all(|chunk| chunk["choices"][0].is_object()));
}

#[tokio::test]
async fn what_it_cost_comes_last_and_only_where_it_was_asked_for() {
    let door = open().await;
    let body = question(
        "fake-text-2",
        json!({"stream": true, "stream_options": {"include_usage": true}}),
    );
    let chunks = door.chunks(&body).await;
    let (last, others) = chunks.split_last().unwrap();
    assert_eq!(last["choices"], json!([]));
    assert!(last["usage"]["prompt_tokens"].is_u64());
    assert!(others.iter().all(|chunk| chunk["usage"].is_null()));
    assert!(others.iter().all(|chunk| chunk.get("usage").is_some()));
}

#[tokio::test]
async fn parameters_and_parts_are_passed_on() {
    let door = open().await;
    let more = json!({
        "temperature": 0.1, "seed": 7, "n": 1, "logit_bias": {"50256": -100}, "parallel_tool_calls": false,
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "strict": true, "schema": {"type": "object"}}},
        "tools": [{"type": "function", "function": {"name": "look", "parameters": {"type": "object"}}}],
        "tool_choice": {"type": "function", "function": {"name": "look"}},
        "messages": [
            {"role": "developer", "content": "Be short."},
            {"role": "user", "content": [
                {"type": "text", "text": "What is this?"},
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA", "detail": "low"}}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "a cat"},
        ],
    });
    let body = question("fake-text-1", more);
    let answer = door.post("/v1/chat/completions", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let sent = door.last();
    for name in [
        "model",
        "messages",
        "temperature",
        "seed",
        "n",
        "logit_bias",
        "parallel_tool_calls",
        "response_format",
        "tools",
        "tool_choice",
    ] {
        assert_eq!(sent[name], body[name], "{name}");
    }
}

#[tokio::test]
async fn a_parameter_that_the_model_refuses_is_dropped_with_a_warning() {
    let strict = || {
        ReplyScript::function(|asked| match asked.json()["temperature"] {
            Value::Null => ScriptedReply::text(["fine"]),
            _ => ScriptedReply::failing(InjectedFault::Refuse(ErrorResponse::Other {
                status: 400,
                content_type: "application/json".to_owned(),
                body: json!({"type": "error", "error": {"type": "invalid_request_error",
                    "message": "`temperature` is deprecated for this model."}})
                .to_string(),
            })),
        })
    };
    for (wire, model) in [
        (ProviderApi::Anthropic, "claude-opus-5-5"),
        (ProviderApi::OpenAiChat, "gpt-6-sol"),
        (ProviderApi::OpenAiResponses, "gpt-6-sol"),
    ] {
        let door = open_with(strict(), wire, ServerConfig::default()).await;
        let asked = async |more: Value| {
            let body = question(model, more);
            door.post("/v1/chat/completions", &body).await
        };
        let answer = asked(json!({"temperature": 0.3})).await.json();
        assert_eq!(answer["choices"][0]["message"]["content"], "fine");
        let warning = &answer["warnings"][0];
        assert_eq!(warning["code"], "request.refused_parameter", "{answer}");
        let message = warning["message"].as_str().unwrap();
        assert!(
            message.contains(&format!("the model {model} does not accept temperature")),
            "{message}"
        );

        let body = question(model, json!({"temperature": 0.3, "stream": true}));
        let chunks = door.chunks(&body).await;
        assert_eq!(said(&chunks, "content"), "fine");
        let codes = chunks
            .iter()
            .filter_map(|chunk| chunk["warnings"][0]["code"].as_str());
        assert_eq!(codes.collect::<Vec<_>>(), ["request.refused_parameter"]);

        let plain = asked(json!({})).await.json();
        assert!(plain.get("warnings").is_none(), "{plain}");
        let explicit = asked(json!({"extra_body": {"temperature": 0.3}})).await;
        assert_eq!(explicit.status, 400, "{}", explicit.body);
    }
}

#[tokio::test]
async fn every_wire_answers_in_this_shape() {
    let wires = [
        (ProviderApi::OpenAiChat, ""),
        (ProviderApi::OpenAiResponses, ""),
        (ProviderApi::Anthropic, "anthropic/"),
        (ProviderApi::Gemini, "google/"),
    ];
    for (wire, prefix) in wires {
        let door = open_with(ReplyScript::default(), wire, ServerConfig::default()).await;
        let tools = json!({"stream": true, "tools": [{"type": "function", "function": {
            "name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
        }}]});
        let chunks = door
            .chunks(&question(&format!("{prefix}fake-tool-1"), tools))
            .await;
        let mut arguments = String::new();
        let calls = chunks
            .iter()
            .filter_map(|chunk| chunk.pointer("/choices/0/delta/tool_calls/0"));
        for call in calls.clone() {
            arguments.push_str(call["function"]["arguments"].as_str().unwrap());
        }
        let first = calls.clone().next().unwrap();
        assert_eq!(first["function"]["name"], "get_weather", "{wire:?}");
        assert!(first["id"].is_string(), "{wire:?}");
        assert_eq!(
            serde_json::from_str::<Value>(&arguments).unwrap(),
            json!({"city": "Paris"})
        );
        assert_eq!(ended(&chunks), "tool_calls", "{wire:?}");
        let chunks = door
            .chunks(&question(
                &format!("{prefix}fake-reasoning"),
                json!({"stream": true}),
            ))
            .await;
        assert_eq!(
            said(&chunks, "reasoning_content"),
            "I should think.",
            "{wire:?}"
        );
        assert_eq!(said(&chunks, "content"), "42", "{wire:?}");
    }
}

#[tokio::test]
async fn a_prompt_goes_before_the_conversation_with_its_variables_and_its_model() {
    let door = open().await;
    let body = question(
        "prompt/review",
        json!({"variables": {"repo": "quillet"}, "metadata": {"repo": "other", "more": "x"}, "temperature": 0.1}),
    );
    let answer = door.post("/v1/chat/completions", &body).await;
    assert_eq!(answer.json()["model"], "prompt/review", "{}", answer.body);
    let sent = door.last();
    assert_eq!(
        sent["messages"],
        json!([
            {"role": "system", "content": "You review go in quillet."},
            {"role": "user", "content": "Hello"},
        ])
    );
    assert_eq!(
        (&sent["model"], &sent["temperature"], &sent["top_p"]),
        (&json!("fake-text-2"), &json!(0.1), &json!(0.5))
    );
    assert_eq!((sent.get("variables"), sent.get("metadata")), (None, None));
    let metadata = question(
        "prompt/review",
        json!({"metadata": {"repo": "meta"}, "stream": true}),
    );
    let chunks = door.chunks(&metadata).await;
    assert!(chunks.iter().all(|chunk| chunk["model"] == "prompt/review"));
    assert_eq!(
        door.last()["messages"][0]["content"],
        "You review go in meta."
    );
}

#[tokio::test]
async fn a_prompt_with_a_place_for_the_conversation_gets_it_there() {
    let door = open().await;
    let answer = door
        .post(
            "/v1/chat/completions",
            &question("prompt/placed", json!({})),
        )
        .await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let sent = door.last();
    let contents: Vec<&Value> = sent["messages"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| &message["content"])
        .collect();
    assert_eq!(contents, ["Before.", "Hello", "After."]);
}

#[tokio::test]
async fn an_agent_runs_its_tools_inside_and_hands_out_the_clients_calls() {
    let door = open().await;
    let chunks = door
        .chunks(&question(
            "agent/support",
            json!({"stream": true, "stream_options": {"include_usage": true}, "seed": 7}),
        ))
        .await;
    assert!(said(&chunks, "content").starts_with("word0 word1 "));
    assert!(
        chunks
            .iter()
            .all(|chunk| chunk.pointer("/choices/0/delta/tool_calls").is_none())
    );
    assert!(chunks.iter().all(|chunk| chunk["model"] == "agent/support"));
    assert_eq!(ended(&chunks), "stop");
    assert_eq!(door.provider.requests().len(), 2);
    let sent = door.last();
    assert_eq!(sent["seed"], 7);
    assert_eq!(sent["messages"][0]["content"], "Be kind.");
    assert_eq!(sent["messages"][3]["role"], "tool");
    let spent = |n: usize| {
        let requests = door.provider.requests();
        requests[n].json()["messages"].as_array().unwrap().len()
    };
    assert!(spent(0) < spent(1));

    let offered = json!({"tools": [{"type": "function", "function": {
        "name": "ask_user", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    }}]});
    let door = open().await;
    let script = question("agent/plain", offered);
    let answer = door.post("/v1/chat/completions", &script).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "42");
    assert_eq!(
        answer["choices"][0]["message"]["reasoning_content"],
        "I should think."
    );
}

#[tokio::test]
async fn a_call_of_the_clients_tool_and_its_result_go_through_an_agent() {
    let turns = [
        ScriptedReply::call("ask_user", ["{\"q\": ", "1}"]),
        ScriptedReply::text(["All ", "done."]),
    ];
    let door = open_with(
        ReplyScript::turns(turns),
        ProviderApi::OpenAiChat,
        ServerConfig::default(),
    )
    .await;
    let tools = json!([{"type": "function", "function": {"name": "ask_user", "parameters": {"type": "object"}}}]);
    let first = question("agent/scripted", json!({"tools": tools}));
    let answer = door.post("/v1/chat/completions", &first).await.json();
    let choice = &answer["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{answer}");
    let call = &choice["message"]["tool_calls"][0];
    assert_eq!(call["function"]["name"], "ask_user");
    let mut second = first.clone();
    let messages = second["messages"].as_array_mut().unwrap();
    messages.push(choice["message"].clone());
    messages.push(json!({"role": "tool", "tool_call_id": call["id"], "content": "forty"}));
    let answer = door.post("/v1/chat/completions", &second).await.json();
    assert_eq!(answer["choices"][0]["message"]["content"], "All done.");
    let sent = door.last();
    assert_eq!(
        sent["messages"].as_array().unwrap().last().unwrap()["content"],
        "forty"
    );
}

#[tokio::test]
async fn failures_have_openais_shape_and_status() {
    let door = open().await;
    let cases = [
        (
            "fake-fail-401",
            401,
            "invalid_request_error",
            json!("invalid_api_key"),
            json!(null),
            "false",
        ),
        (
            "fake-fail-403",
            403,
            "invalid_request_error",
            json!("forbidden"),
            json!(null),
            "false",
        ),
        (
            "fake-fail-404",
            404,
            "invalid_request_error",
            json!("model_not_found"),
            json!("model"),
            "false",
        ),
        (
            "fake-fail-429",
            429,
            "requests",
            json!("rate_limit_exceeded"),
            json!(null),
            "true",
        ),
        (
            "fake-quota",
            429,
            "insufficient_quota",
            json!("insufficient_quota"),
            json!(null),
            "false",
        ),
        (
            "fake-context",
            400,
            "invalid_request_error",
            json!("context_length_exceeded"),
            json!(null),
            "false",
        ),
        (
            "fake-fail-500",
            500,
            "server_error",
            json!("model.provider"),
            json!(null),
            "true",
        ),
        (
            "fake-reset",
            502,
            "server_error",
            json!("model.connect"),
            json!(null),
            "true",
        ),
        (
            "prompt/reviev",
            404,
            "invalid_request_error",
            json!("model_not_found"),
            json!("model"),
            "false",
        ),
        (
            "prompt/torn",
            400,
            "invalid_request_error",
            json!("definition.invalid"),
            json!(null),
            "false",
        ),
        (
            "agent/suport",
            404,
            "invalid_request_error",
            json!("model_not_found"),
            json!("model"),
            "false",
        ),
        (
            "agent/failing",
            401,
            "invalid_request_error",
            json!("invalid_api_key"),
            json!(null),
            "false",
        ),
    ];
    for stream in [false, true] {
        for (model, status, kind, code, param, again) in &cases {
            let body = question(model, json!({"stream": stream}));
            let answer = door.post("/v1/chat/completions", &body).await;
            assert_eq!(answer.status, *status, "{model} {}", answer.body);
            let error = &answer.json()["error"];
            assert_eq!(error["type"], *kind, "{model}");
            assert_eq!(&error["code"], code, "{model}");
            assert_eq!(&error["param"], param, "{model}");
            assert_eq!(answer.header("x-should-retry"), Some(*again), "{model}");
            assert!(answer.header("x-request-id").is_some());
        }
    }
    let near = door
        .post(
            "/v1/chat/completions",
            &question("prompt/reviev", json!({})),
        )
        .await;
    assert!(near.body.contains("review"), "{}", near.body);
    let near = door
        .post("/v1/chat/completions", &question("agent/suport", json!({})))
        .await;
    assert!(near.body.contains("support"), "{}", near.body);
}

#[tokio::test]
async fn bad_requests_name_the_member() {
    let door = open().await;
    let cases = [
        (json!({"model": "fake-text-1"}), json!("messages")),
        (
            question("fake-text-1", json!({"messages": [{"role": "x"}]})),
            json!("messages[0].role"),
        ),
        (
            question("fake-text-1", json!({"temperature": "hot"})),
            json!("temperature"),
        ),
        (
            question("fake-text-1", json!({"stream": "yes"})),
            json!("stream"),
        ),
        (json!({"model": 7, "messages": []}), json!("model")),
        (
            question("prompt/review", json!({"variables": 7})),
            json!("variables"),
        ),
        (question("agent/support", json!({"n": 2})), json!("n")),
        (json!([]), json!(null)),
    ];
    for (body, param) in cases {
        let answer = door.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.status, 400, "{body} {}", answer.body);
        let error = answer.json()["error"].clone();
        assert_eq!(error["param"], param, "{error}");
        assert_eq!(error["type"], "invalid_request_error");
    }
    for text in ["", "{", "\u{0}"] {
        let answer = request(door.address, "POST", "/v1/chat/completions", &[], text).await;
        assert_eq!(
            (answer.status, &answer.json()["error"]["code"]),
            (400, &json!("invalid_json"))
        );
    }
    let deep = format!("{{\"messages\":{}", "[".repeat(100_000));
    let answer = request(door.address, "POST", "/v1/chat/completions", &[], &deep).await;
    assert_eq!(answer.status, 400);
    assert_eq!(door.provider.requests().len(), 0);
}

#[tokio::test]
async fn who_has_no_key_is_told_in_this_shape() {
    let config = ServerConfig {
        tokens: vec!["right".into()],
        ..ServerConfig::default()
    };
    let door = open_with(ReplyScript::default(), ProviderApi::OpenAiChat, config).await;
    let body = question("fake-text-1", json!({})).to_string();
    for (token, status) in [("Bearer wrong", 401), ("Bearer right", 200)] {
        let headers = [("authorization", token)];
        let answer = request(
            door.address,
            "POST",
            "/v1/chat/completions",
            &headers,
            &body,
        )
        .await;
        assert_eq!(answer.status, status, "{}", answer.body);
        if status == 401 {
            assert_eq!(answer.json()["error"]["code"], "invalid_api_key");
        }
    }
    let unknown = request(door.address, "GET", "/v1/models/x/y", &[], "").await;
    assert_eq!(unknown.json()["error"]["code"], "invalid_api_key");
}

#[tokio::test]
async fn a_stream_that_fails_ends_with_an_error_and_without_done() {
    let door = open().await;
    for (model, code) in [
        ("fake-cut", "model.cut"),
        ("fake-reset-stream", "model.cut"),
        ("fake-bad-json", "model.protocol"),
    ] {
        let body = question(model, json!({"stream": true}));
        let answer = door.post("/v1/chat/completions", &body).await;
        assert_eq!(answer.status, 200);
        let events = answer.events();
        let last: Value = serde_json::from_str(events.last().unwrap()).unwrap();
        assert_eq!(last["error"]["code"], code, "{model}: {}", answer.body);
        assert!(!events.contains(&"[DONE]"), "{model}");
        let whole = door
            .post("/v1/chat/completions", &question(model, json!({})))
            .await;
        assert_eq!(whole.status, 502, "{model}: {}", whole.body);
    }
}

#[tokio::test]
async fn a_client_that_leaves_ends_the_call_upstream() {
    let door = open().await;
    for (model, stream, wait_for) in [
        ("fake-silent", false, None),
        ("fake-silent", true, None),
        ("fake-silent-stream", false, None),
        ("fake-silent-stream", true, Some("data: ")),
    ] {
        let (asked, left) = (door.provider.asked(), door.provider.left());
        let body = question(model, json!({"stream": stream})).to_string();
        let mut connection = Connection::open(door.address).await;
        let length = body.len();
        connection
            .send(&format!(
                "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}"
            ))
            .await;
        if let Some(wanted) = wait_for {
            connection.read_until(wanted).await;
        }
        eventually("the provider is asked", async || {
            door.provider.asked() > asked
        })
        .await;
        drop(connection);
        eventually("the call has ended", async || door.provider.left() > left).await;
    }
}

#[tokio::test]
async fn routes_that_only_openai_has_answer_in_its_shape() {
    let door = open().await;
    for path in [
        "/v1/embeddings",
        "/v1/completions",
        "/v1/moderations",
        "/v1/images/generations",
        "/v1/audio/speech",
        "/v1/chat/complete",
    ] {
        let answer = door.post(path, &json!({"model": "m"})).await;
        assert_eq!(answer.status, 404, "{path}");
        let error = &answer.json()["error"];
        assert_eq!(error["type"], "invalid_request_error", "{path}: {error}");
        assert!(error["message"].as_str().unwrap().contains(path), "{error}");
    }
}

#[tokio::test]
async fn what_a_client_says_of_a_tool_reaches_who_knows_it() {
    let mark = json!({"type": "ephemeral"});
    let tool = json!({"type": "function", "cache_control": mark, "defer_loading": true,
        "function": {"name": "look", "parameters": {"type": "object"}}});
    let asked = json!({"tools": [tool]});
    let flat = json!({"type": "function", "name": "look", "parameters": {"type": "object"},
        "defer_loading": true, "cache_control": mark});
    for wire in [
        ProviderApi::OpenAiChat,
        ProviderApi::OpenAiResponses,
        ProviderApi::Anthropic,
    ] {
        let door = open_with(
            ReplyScript::turns([ScriptedReply::text(["ok"])]),
            wire,
            ServerConfig::default(),
        );
        let door = door.await;
        let model = match wire {
            ProviderApi::Anthropic => "anthropic/m",
            _ => "m",
        };
        let answer = door
            .post("/v1/chat/completions", &question(model, asked.clone()))
            .await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        let chat = door.last()["tools"][0].clone();
        let body = json!({"model": model, "input": "Hello", "tools": [flat], "store": false});
        let answer = door.post("/v1/responses", &body).await;
        assert_eq!(answer.status, 200, "{}", answer.body);
        for sent in [chat, door.last()["tools"][0].clone()] {
            assert_eq!(sent["defer_loading"], true, "{wire:?}: {sent}");
            assert_eq!(sent["cache_control"], mark, "{wire:?}: {sent}");
        }
    }
}

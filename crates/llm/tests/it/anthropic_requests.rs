//! Requests in the format of Anthropic's API.

use quillet_core::chat::{ChatRequest, ModelError};
use quillet_llm::{Anthropic, Protocol};
use serde_json::{Value, json};

fn written(model: &str, options: &Value, messages: &Value) -> Result<Value, ModelError> {
    let request = ChatRequest {
        model: None,
        messages: serde_json::from_value(messages.clone()).unwrap(),
        options: serde_json::from_value(options.clone()).unwrap(),
    };
    Anthropic.write(model, &request)
}

#[test]
fn options_are_said_in_the_wires_words() {
    let tool = json!([{"type": "function", "function": {"name": "f"}}]);
    let cases = [
        (json!({"max_completion_tokens": 9}), "max_tokens", json!(9)),
        (
            json!({"max_tokens": 8, "max_completion_tokens": 9}),
            "max_tokens",
            json!(8),
        ),
        (json!({"stop": "x"}), "stop_sequences", json!(["x"])),
        (
            json!({"stop": ["x", "y"]}),
            "stop_sequences",
            json!(["x", "y"]),
        ),
        (json!({"user": "u"}), "metadata", json!({"user_id": "u"})),
        (
            json!({"tool_choice": "required"}),
            "tool_choice",
            Value::Null,
        ),
        (
            json!({"tools": tool, "tool_choice": "required"}),
            "tool_choice",
            json!({"type": "any"}),
        ),
        (
            json!({"tools": tool, "tool_choice": "none", "parallel_tool_calls": false}),
            "tool_choice",
            json!({"type": "none"}),
        ),
        (
            json!({"tools": tool, "tool_choice": {"type": "function", "function": {"name": "f"}}}),
            "tool_choice",
            json!({"type": "tool", "name": "f"}),
        ),
        (
            json!({"tools": tool, "parallel_tool_calls": false}),
            "tool_choice",
            json!({"type": "auto", "disable_parallel_tool_use": true}),
        ),
        (
            json!({"tools": [{"type": "web_search_20250305", "name": "web_search"}, {"type": "web_search"}], "prompt_caching": false}),
            "tools",
            json!([{"type": "web_search_20250305", "name": "web_search"}]),
        ),
        (
            json!({"tools": tool, "prompt_caching": false}),
            "tools",
            json!([{"name": "f", "input_schema": {"type": "object", "properties": {}}}]),
        ),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}}),
            "output_config",
            json!({"format": {"type": "json_schema", "schema": {"type": "object", "additionalProperties": false}}}),
        ),
        (
            json!({"response_format": {"type": "text"}}),
            "output_config",
            Value::Null,
        ),
        (
            json!({"output_config": "nonsense"}),
            "output_config",
            Value::Null,
        ),
        (
            json!({"reasoning_effort": "low", "output_config": {"effort": "max"}}),
            "output_config",
            json!({"effort": "max"}),
        ),
        (
            json!({"reasoning_effort": "low", "thinking": {"type": "disabled"}}),
            "thinking",
            json!({"type": "disabled"}),
        ),
        (
            json!({"reasoning_effort": "low", "tools": tool, "tool_choice": "required"}),
            "thinking",
            Value::Null,
        ),
        (
            json!({"reasoning_effort": "low", "tools": tool, "tool_choice": "auto"}),
            "thinking",
            json!({"type": "adaptive"}),
        ),
        (
            json!({"reasoning_effort": "low"}),
            "thinking",
            json!({"type": "adaptive"}),
        ),
        (
            json!({"service_tier": "auto", "stream_options": {}, "betas": ["x"]}),
            "service_tier",
            json!("auto"),
        ),
    ];
    for (options, member, expected) in cases {
        let body = written("claude-opus-4-6", &options, &json!([])).unwrap();
        assert_eq!(
            body.get(member).unwrap_or(&Value::Null),
            &expected,
            "{options}"
        );
        for own in [
            "prompt_caching",
            "betas",
            "stream_options",
            "stop",
            "user",
            "reasoning_effort",
        ] {
            assert!(body.get(own).is_none(), "{options}: {own}");
        }
    }
}

#[test]
fn what_cannot_be_said_is_refused_with_its_place() {
    let part = |part: Value| json!([{"role": "user", "content": "a"}, {"role": "user", "content": [part]}]);
    let file = |file: Value| part(json!({"type": "file", "file": file}));
    let cases = [
        (json!({"n": 2}), json!([]), "n: "),
        (
            json!({"response_format": {"type": "json_object"}}),
            json!([]),
            "response_format: ",
        ),
        (
            json!({}),
            part(json!({"type": "input_audio", "input_audio": {"data": "AA", "format": "wav"}})),
            "messages[1].content[0]: anthropic does not accept audio",
        ),
        (
            json!({}),
            file(json!({})),
            "messages[1].content[0]: the file has neither",
        ),
        (
            json!({}),
            file(json!({"file_data": "data:application/zip;base64,AA=="})),
            "messages[1].content[0]: anthropic accepts only files",
        ),
        (
            json!({}),
            file(json!({"file_data": "data:text/plain;base64,/w=="})),
            "messages[1].content[0]: the file is not UTF-8",
        ),
    ];
    for (options, messages, expected) in cases {
        let error = written("claude-opus-4-6", &options, &messages).unwrap_err();
        assert_eq!(error.kind.event_code(), "invalid_request");
        assert!(error.message.starts_with(expected), "{error}");
    }
}

#[test]
fn media_become_blocks() {
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let file = |file: Value| json!({"type": "file", "file": file});
    let cases = [
        (
            image("data:image/png;base64,QUJD"),
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "QUJD"}}),
        ),
        (
            image("https://x/y.png"),
            json!({"type": "image", "source": {"type": "url", "url": "https://x/y.png"}}),
        ),
        (
            file(json!({"file_data": "data:image/gif;base64,QUJD"})),
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/gif", "data": "QUJD"}}),
        ),
        (
            file(json!({"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"})),
            json!({"type": "document", "title": "a.pdf", "source": {"type": "base64", "media_type": "application/pdf", "data": "QUJD"}}),
        ),
        (
            file(json!({"file_data": "data:text/markdown;base64,QUJD"})),
            json!({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "ABC"}}),
        ),
        (
            file(json!({"file_data": "https://x/y.pdf"})),
            json!({"type": "document", "source": {"type": "url", "url": "https://x/y.pdf"}}),
        ),
        (
            file(json!({"file_id": "file_1"})),
            json!({"type": "document", "source": {"type": "file", "file_id": "file_1"}}),
        ),
    ];
    for (part, block) in cases {
        let body = written(
            "claude-opus-4-6",
            &json!({}),
            &json!([{"role": "user", "content": [part]}]),
        )
        .unwrap();
        assert_eq!(body["messages"][0]["content"], json!([block]), "{part}");
        let call =
            json!({"id": "c", "type": "function", "function": {"name": "see", "arguments": "{}"}});
        let messages = json!([{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": [part]}]);
        let body = written("claude-opus-4-6", &json!({}), &messages).unwrap();
        assert_eq!(
            body["messages"][1]["content"][0]["content"],
            json!([block]),
            "{part}"
        );
    }
}

#[test]
fn the_cache_is_marked_where_conversations_share_their_beginning() {
    let messages = json!([
        {"role": "system", "content": "s"},
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": "b"},
        {"role": "user", "content": "c"},
    ]);
    let tools = json!([{"type": "function", "function": {"name": "f"}}, {"type": "function", "function": {"name": "g"}}]);
    let own = json!([{"name": "h", "input_schema": {}, "cache_control": {"type": "ephemeral"}}]);
    let plain = json!({"type": "ephemeral"});
    let cases = [
        (
            json!({"tools": tools}),
            vec!["/tools/1", "/system/0", "/messages/1/content/0"],
            plain.clone(),
        ),
        (
            json!({"tools": tools, "prompt_caching": "1h"}),
            vec!["/tools/1", "/system/0", "/messages/1/content/0"],
            json!({"type": "ephemeral", "ttl": "1h"}),
        ),
        (
            json!({"tools": tools, "prompt_caching": false}),
            vec![],
            Value::Null,
        ),
        (json!({"tools": own}), vec!["/tools/0"], plain.clone()),
        (json!({"cache_control": plain}), vec![""], plain),
    ];
    for (options, places, mark) in cases {
        let body = written("claude-opus-4-6", &options, &messages).unwrap();
        for place in &places {
            assert_eq!(
                body.pointer(place).unwrap()["cache_control"],
                mark,
                "{options} {place}"
            );
        }
        assert_eq!(
            body.to_string().matches("cache_control").count(),
            places.len(),
            "{options}"
        );
    }
}

#[test]
fn thoughts_are_never_marked() {
    let native = json!({"wire": "anthropic", "content": [
        {"type": "text", "text": "a"}, {"type": "thinking", "thinking": "t", "signature": "s"},
    ]});
    let messages = json!([{"role": "assistant", "content": "a", "native": native}]);
    let body = written("claude-opus-4-6", &json!({}), &messages).unwrap();
    let content = json!([
        {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
        {"type": "thinking", "thinking": "t", "signature": "s"},
    ]);
    assert_eq!(body["messages"][0]["content"], content);
}

#[test]
fn later_instructions_stay_where_the_model_takes_them() {
    let messages = json!([
        {"role": "developer", "content": "first"},
        {"role": "user", "content": "a"},
        {"role": "system", "content": "later"},
        {"role": "assistant", "content": "b"},
        {"role": "system", "content": "last"},
        {"role": "user", "content": "c"},
    ]);
    let cases = [
        (
            "claude-opus-4-8",
            vec!["first", "last"],
            vec!["user", "system", "assistant", "user"],
        ),
        (
            "claude-opus-4-6",
            vec!["first", "later", "last"],
            vec!["user", "assistant", "user"],
        ),
        (
            "kimi-k2",
            vec!["first", "later", "last"],
            vec!["user", "assistant", "user"],
        ),
    ];
    for (model, system, roles) in cases {
        let body = written(model, &json!({}), &messages).unwrap();
        let texts: Vec<&str> = body["system"]
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["text"].as_str().unwrap())
            .collect();
        assert_eq!(texts, system, "{model}");
        let turns: Vec<&str> = body["messages"]
            .as_array()
            .unwrap()
            .iter()
            .map(|turn| turn["role"].as_str().unwrap())
            .collect();
        assert_eq!(turns, roles, "{model}");
    }
}

#[test]
fn a_call_that_nobody_could_read_goes_back_as_an_object() {
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{\"a\": 1"}});
    let messages = json!([{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "c", "content": "", "is_error": true}]);
    let body = written(
        "claude-opus-4-6",
        &json!({"prompt_caching": false}),
        &messages,
    )
    .unwrap();
    let expected = json!([
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c", "name": "f", "input": {"unparsed": "{\"a\": 1"}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c", "is_error": true}]},
    ]);
    assert_eq!(body["messages"], expected);
}

#[test]
fn headers_name_the_version_and_the_betas() {
    let version = ("anthropic-version", "2023-06-01".to_owned());
    assert_eq!(Anthropic.headers(None), std::slice::from_ref(&version));
    assert_eq!(
        Anthropic.headers(Some("k")),
        [("x-api-key", "k".to_owned()), version]
    );
    let mut request = ChatRequest::default();
    assert_eq!(Anthropic.request_headers(&request), []);
    request
        .options
        .extra
        .insert("betas".to_owned(), json!(["a", "b"]));
    assert_eq!(
        Anthropic.request_headers(&request),
        [("anthropic-beta", "a,b".to_owned())]
    );
}

#[test]
fn an_empty_request_has_what_the_wire_wants() {
    let written = Anthropic
        .write("claude-x", &ChatRequest::default())
        .unwrap();
    assert_eq!(
        written,
        json!({"model": "claude-x", "max_tokens": 4096, "messages": [], "stream": true})
    );
}

#[test]
fn a_body_says_what_is_wrong_with_it_and_where() {
    let cases = [
        (json!([]), "body: "),
        (json!({}), "messages: "),
        (json!({"messages": [], "system": 1}), "system: "),
        (
            json!({"messages": [{"role": "tool", "content": "x"}]}),
            "messages[0].role: ",
        ),
        (
            json!({"messages": [{"role": "user", "content": [1]}]}),
            "messages[0].content: ",
        ),
        (json!({"messages": [], "max_tokens": "x"}), "max_tokens: "),
    ];
    for (body, expected) in cases {
        let error = Anthropic.read(&body).unwrap_err();
        assert!(error.message.starts_with(expected), "{error}");
    }
}

#[test]
fn what_the_common_shape_has_no_word_for_survives() {
    let body = json!({
        "model": "claude-opus-4-8",
        "max_tokens": 9,
        "system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        "tools": [
            {"name": "f", "input_schema": {"type": "object"}, "defer_loading": true},
            {"type": "web_search_20250305", "name": "web_search", "max_uses": 2},
        ],
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "a"},
                {"type": "search_result", "source": "x", "title": "t", "content": []}]},
            {"role": "assistant", "content": [
                {"type": "redacted_thinking", "data": "d"},
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}},
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"x": 1}, "caller": {"type": "direct"}}]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "t1", "is_error": true, "content": [
                    {"type": "image", "source": {"type": "file", "file_id": "i"}}]}]},
            {"role": "system", "content": [{"type": "text", "text": "later"}]},
        ],
        "metadata": {"user_id": "u", "more": 1},
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "output_config": {"effort": "high"},
        "tool_choice": {"type": "auto", "disable_parallel_tool_use": true},
        "stream": true,
    });
    let request = Anthropic.read(&body).unwrap();
    let turn = &request.messages[2];
    assert_eq!(
        (
            turn.tool_calls[0].name.as_str(),
            turn.tool_calls[0].arguments.as_str()
        ),
        ("f", r#"{"x":1}"#)
    );
    assert!(request.messages[3].is_error);
    assert_eq!(Anthropic.write("claude-opus-4-8", &request).unwrap(), body);
}

//! Requests in the formats of OpenAI's two APIs, also with histories from other providers.

use quillet_core::chat::{ChatEvent, ChatRequest, FinishReason, ModelErrorKind as Kind};
use quillet_core::{Message, NativeTurn, Role, ToolCall};
use quillet_llm::{CallIds, OpenAiChat, OpenAiResponses, Protocol, ReasoningEcho};
use serde_json::{Value, json};

fn request(options: &Value, messages: Vec<Message>) -> ChatRequest {
    ChatRequest {
        model: None,
        messages,
        options: serde_json::from_value(options.clone()).unwrap(),
    }
}

fn written(wire: &dyn Protocol, model: &str, options: &Value) -> Value {
    let request = request(options, vec![Message::new(Role::User, "hi")]);
    let mut body = wire.write(model, &request).unwrap();
    for common in ["model", "messages", "input", "stream", "stream_options"] {
        body.as_object_mut().unwrap().remove(common);
    }
    body
}

#[test]
fn options_are_said_in_the_chat_wires_words() {
    let home = OpenAiChat::at(None);
    let other = OpenAiChat::at(Some("http://127.0.0.1:8000/v1"));
    let azure = OpenAiChat::at(Some("https://x.openai.azure.com/openai/v1"));
    let tool = json!({"type": "function", "function": {"name": "f", "parameters": {}}});
    let limit = json!({"max_tokens": 9});
    let newer = json!({"max_completion_tokens": 9});
    let cases = [
        (home, "gpt-4o", limit.clone(), newer.clone()),
        (other, "llama", limit.clone(), limit.clone()),
        (other, "openai/gpt-5-mini", limit.clone(), newer.clone()),
        (other, "openai/gpt-6-luna", limit.clone(), newer.clone()),
        (azure, "o3", limit.clone(), newer),
        (azure, "gpt-4o", limit.clone(), limit),
        (
            other,
            "m",
            json!({"tools": [tool, {"type": "web_search_20250305"}, {"googleSearch": {}}], "tool_choice": "required"}),
            json!({"tools": [tool], "tool_choice": "required"}),
        ),
        (
            other,
            "m",
            json!({"response_format": {"type": "json_object"}, "reasoning_effort": "low", "seed": 7, "model": "x", "stream": false}),
            json!({"response_format": {"type": "json_object"}, "reasoning_effort": "low", "seed": 7}),
        ),
    ];
    for (wire, model, options, expected) in cases {
        assert_eq!(written(&wire, model, &options), expected, "{model}");
    }
}

#[test]
fn a_whole_answer_is_asked_for_where_the_wire_can() {
    let options = json!({"stream": false, "stream_options": {"include_usage": true}});
    let request = request(&options, vec![Message::new(Role::User, "hi")]);
    let chat = OpenAiChat::default().write("m", &request).unwrap();
    assert_eq!(chat["stream"], false);
    assert!(chat.get("stream_options").is_none(), "{chat}");
    let wires: [&dyn Protocol; 3] = [
        &OpenAiResponses,
        &quillet_llm::Anthropic,
        &quillet_llm::Gemini,
    ];
    for wire in wires {
        let body = wire.write("m", &request).unwrap();
        assert_ne!(body.get("stream"), Some(&json!(false)), "{}", wire.name());
    }
}

#[test]
fn options_are_said_in_the_words_of_responses() {
    let schema = json!({"name": "a", "schema": {"type": "object"}, "strict": true});
    let cases = [
        (
            "gpt-4o",
            json!({"max_tokens": 9}),
            json!({"max_output_tokens": 9, "store": false}),
        ),
        (
            "gpt-5",
            json!({}),
            json!({"store": false, "include": ["reasoning.encrypted_content"]}),
        ),
        (
            "m",
            json!({"reasoning_effort": "low", "reasoning": {"summary": "auto"}}),
            json!({"reasoning": {"effort": "low", "summary": "auto"}, "store": false, "include": ["reasoning.encrypted_content"]}),
        ),
        ("gpt-5", json!({"store": true}), json!({"store": true})),
        (
            "gpt-5",
            json!({"previous_response_id": "r"}),
            json!({"previous_response_id": "r"}),
        ),
        (
            "m",
            json!({"response_format": {"type": "json_schema", "json_schema": schema}, "text": {"verbosity": "low"}}),
            json!({
                "text": {"verbosity": "low", "format": {"type": "json_schema", "name": "a", "schema": {"type": "object"}, "strict": true}},
                "store": false,
            }),
        ),
        (
            "m",
            json!({
                "tools": [{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}, {"type": "web_search"}],
                "tool_choice": {"type": "function", "function": {"name": "f"}},
            }),
            json!({
                "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}, {"type": "web_search"}],
                "tool_choice": {"type": "function", "name": "f"},
                "store": false,
            }),
        ),
    ];
    for (model, options, expected) in cases {
        assert_eq!(
            written(&OpenAiResponses, model, &options),
            expected,
            "{options}"
        );
    }
}

#[test]
fn what_cannot_be_said_is_refused_with_its_place() {
    let user = || Message::new(Role::User, "hi");
    let orphan = || Message::new(Role::Tool, "result");
    let cases: [(&dyn Protocol, Value, Vec<Message>, &str); 4] = [
        (
            &OpenAiResponses,
            json!({"stop": ["a"]}),
            vec![user()],
            "stop:",
        ),
        (&OpenAiResponses, json!({"n": 2}), vec![user()], "n:"),
        (
            &OpenAiResponses,
            json!({}),
            vec![user(), orphan()],
            "messages[1]: ",
        ),
        (
            &OpenAiChat::default(),
            json!({}),
            vec![user(), orphan()],
            "messages[1]: ",
        ),
    ];
    for (wire, options, messages, place) in cases {
        let error = wire.write("m", &request(&options, messages)).unwrap_err();
        assert_eq!(error.kind, Kind::Refused, "{place}");
        assert!(error.message.starts_with(place), "{error}");
    }
}

#[test]
fn a_body_says_what_is_wrong_with_it_and_where() {
    let chat = OpenAiChat::default();
    let message = |message: Value| json!({"messages": [{"role": "user", "content": "a"}, message]});
    let cases: [(&dyn Protocol, Value, &str); 9] = [
        (&chat, json!([]), "the body must be"),
        (&chat, json!({"messages": 7}), "messages: "),
        (
            &chat,
            message(json!({"role": "king"})),
            "messages[1]: role: unknown role \"king\"",
        ),
        (
            &chat,
            message(json!({"role": "user", "content": 7})),
            "messages[1]: ",
        ),
        (
            &chat,
            message(json!({"role": "user", "content": [{"type": "img"}]})),
            "messages[1]: content: ",
        ),
        (
            &chat,
            json!({"messages": [], "temperature": "hot"}),
            "temperature: ",
        ),
        (&OpenAiResponses, json!({"input": 7}), "input: "),
        (
            &OpenAiResponses,
            json!({"input": [{"role": "user", "content": [{"type": "x"}]}]}),
            "input[0]: content: ",
        ),
        (
            &OpenAiResponses,
            json!({"input": [{"type": "function_call_output"}]}),
            "input[0]: call_id",
        ),
    ];
    for (wire, body, place) in cases {
        let error = wire.read(&body).unwrap_err();
        assert_eq!(error.kind, Kind::Refused, "{body}");
        assert!(error.message.starts_with(place), "{error}");
    }
}

/// A turn with reasoning, a text and a call; `wire` is the API that it came from.
fn turn(wire: Option<&str>, id: &str) -> Message {
    let mut turn = Message::new(Role::Assistant, "Looking.");
    turn.reasoning = Some("Rome it is.".into());
    turn.tool_calls = vec![ToolCall {
        id: id.to_owned(),
        name: "look".into(),
        arguments: "{}".into(),
    }];
    turn.native = wire.map(|wire| NativeTurn {
        wire: wire.to_owned(),
        model: None,
        content: json!([{"type": "thinking", "signature": "c2ln"}]),
    });
    turn
}

fn moved(wire: &dyn Protocol, turn: Message) -> Vec<Value> {
    let id = turn.tool_calls[0].id.clone();
    let messages = vec![
        Message::new(Role::User, "hi"),
        turn,
        Message::tool(id, "sunny"),
    ];
    let body = wire.write("m", &request(&json!({}), messages)).unwrap();
    let list = body.get("messages").or(body.get("input")).unwrap();
    list.as_array().unwrap()[1..].to_vec()
}

#[test]
fn thoughts_of_others_stay_behind_and_calls_come_along() {
    let long = "x".repeat(80);
    let ids = [
        ("toolu_1", CallIds::Any, true),
        ("functions.look:0", CallIds::Any, true),
        (long.as_str(), CallIds::Any, false),
        (long.as_str(), CallIds::Short, false),
        ("toolu_1", CallIds::Nine, false),
        ("abcDEF123", CallIds::Nine, true),
    ];
    for from in ["anthropic", "gemini", "openai-responses"] {
        for (id, call_ids, kept) in ids {
            let wire = OpenAiChat {
                call_ids,
                ..OpenAiChat::default()
            };
            let list = moved(&wire, turn(Some(from), id));
            let call = list[0]["tool_calls"][0]["id"].as_str().unwrap();
            let most = if call_ids == CallIds::Nine { 9 } else { 40 };
            assert_eq!(call == id, kept, "{from} {id} {call}");
            assert!(call.len() <= most, "{call}");
            let expected = json!([
                {"role": "assistant", "content": "Looking.", "tool_calls": [
                    {"id": call, "type": "function", "function": {"name": "look", "arguments": "{}"}},
                ]},
                {"role": "tool", "content": "sunny", "tool_call_id": call},
            ]);
            assert_eq!(json!(list), expected, "{from} {id}");
        }
    }
    for from in ["anthropic", "gemini", "openai-chat"] {
        for (id, kept) in [("toolu_1", true), (long.as_str(), false)] {
            let list = moved(&OpenAiResponses, turn(Some(from), id));
            let call = list[1]["call_id"].as_str().unwrap();
            assert_eq!(call == id, kept, "{from} {id}");
            let expected = json!([
                {"type": "message", "role": "assistant", "content": "Looking."},
                {"type": "function_call", "call_id": call, "name": "look", "arguments": "{}"},
                {"type": "function_call_output", "call_id": call, "output": "sunny"},
            ]);
            assert_eq!(json!(list), expected, "{from} {id}");
        }
    }
}

#[test]
fn own_reasoning_is_echoed_where_the_server_wants_it() {
    let cases = [
        (ReasoningEcho::Never, false, false),
        (ReasoningEcho::InToolLoop, true, false),
        (ReasoningEcho::Always, true, true),
    ];
    for (echo, in_loop, after) in cases {
        let wire = OpenAiChat {
            echo,
            ..OpenAiChat::default()
        };
        let list = moved(&wire, turn(None, "a"));
        let has = |message: &Value| message.get("reasoning_content").is_some();
        assert_eq!(has(&list[0]), in_loop, "{echo:?}");
        let messages = vec![
            turn(None, "a"),
            Message::tool("a", "b"),
            Message::new(Role::User, "?"),
        ];
        let body = wire.write("m", &request(&json!({}), messages)).unwrap();
        assert_eq!(has(&body["messages"][0]), after, "{echo:?}");
    }
}

#[test]
fn words_of_a_wire_go_back_to_the_model_that_wrote_them() {
    let items = json!([
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "e"},
        {"type": "function_call", "id": "fc_1", "call_id": "c", "name": "look", "arguments": "{}", "status": "completed"},
    ]);
    let mut native = turn(None, "c");
    native.native = Some(NativeTurn {
        wire: "openai-responses".into(),
        model: Some("m".into()),
        content: items.clone(),
    });
    assert_eq!(json!(moved(&OpenAiResponses, native.clone())[..2]), items);
    native.native.as_mut().unwrap().model = Some("another".into());
    assert_eq!(moved(&OpenAiResponses, native)[0]["type"], "message");

    let mut native = turn(None, "c");
    native.native = Some(NativeTurn {
        wire: "openai-chat".into(),
        model: Some("m".into()),
        content: json!({"reasoning_details": [1], "tool_calls": [{"extra_content": 2}]}),
    });
    let sent = &moved(&OpenAiChat::default(), native)[0];
    assert_eq!(sent["reasoning_details"], json!([1]));
    assert_eq!(sent["tool_calls"][0]["extra_content"], 2);
    assert_eq!(sent["tool_calls"][0]["id"], "c");
}

fn events(pieces: &[Value]) -> (Vec<ChatEvent>, Option<Kind>) {
    let mut decoder = OpenAiResponses.decoder("asked");
    let mut events = Vec::new();
    for piece in pieces {
        let data = piece.to_string();
        if let Err(error) = decoder.event(None, data.as_bytes(), &mut events) {
            return (events, Some(error.kind));
        }
    }
    let end = decoder.end(&mut events).err();
    (events, end.map(|error| error.kind))
}

#[test]
fn items_that_come_interleaved_stay_apart() {
    let call = |index: u64, id: &str| json!({"type": "function_call", "id": format!("fc_{index}"), "call_id": id, "name": "f", "arguments": ""});
    let delta = |index: u64, piece: &str| json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": piece});
    let completed = json!({"type": "response.completed", "response": {"id": "r", "output": [], "usage": {"input_tokens": 3, "output_tokens": 2}}});
    let (events, error) = events(&[
        json!({"type": "response.output_item.added", "output_index": 0, "item": call(0, "a")}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": call(1, "b")}),
        delta(1, "{\"y\""),
        delta(0, "{\"x\""),
        delta(1, ":2}"),
        json!({"type": "response.brand_new.delta", "output_index": 2, "delta": "?"}),
        json!({"type": "response.function_call_arguments.done", "output_index": 0, "arguments": "{\"x\":1}"}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": {"type": "compaction", "id": "cmp", "encrypted_content": "e"}}),
        completed,
    ]);
    assert_eq!(error, None);
    let mut reply = quillet_core::chat::Reply::default();
    events.into_iter().for_each(|event| reply.fold(event));
    let choice = &reply.choices[0];
    let calls: Vec<_> = choice
        .tool_calls
        .iter()
        .map(|c| (&*c.id, &*c.arguments))
        .collect();
    assert_eq!(calls, [("a", r#"{"x":1}"#), ("b", r#"{"y":2}"#)]);
    assert_eq!(choice.finish_reason, Some(FinishReason::ToolCalls));
    let kept = &choice.native.as_ref().unwrap().content;
    assert_eq!(kept[0]["type"], "compaction");
}

#[test]
fn failures_inside_responses_have_their_kind() {
    let cases = [
        (
            json!({"type": "error", "code": "rate_limit_exceeded", "message": "slow"}),
            Kind::RateLimited,
        ),
        (
            json!({"type": "error", "error": {"code": "server_error", "message": "no"}}),
            Kind::Provider,
        ),
        (
            json!({"type": "response.failed", "response": {"error": {"code": "context_length_exceeded", "message": "no"}}}),
            Kind::ContextLength,
        ),
        (
            json!({"error": {"message": "no", "code": 503}}),
            Kind::Provider,
        ),
        (
            json!({"type": "response.created", "response": {"id": "r"}}),
            Kind::Cut,
        ),
    ];
    for (piece, kind) in cases {
        assert_eq!(
            events(std::slice::from_ref(&piece)).1,
            Some(kind),
            "{piece}"
        );
    }
}

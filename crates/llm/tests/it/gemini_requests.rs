//! Requests in the format of Gemini's API.

use quillet_core::chat::{ChatRequest, ModelError};
use quillet_llm::{Gemini, Protocol};
use serde_json::{Value, json};

fn written(model: &str, options: &Value, messages: &Value) -> Result<Value, ModelError> {
    let request = ChatRequest {
        model: None,
        messages: serde_json::from_value(messages.clone()).unwrap(),
        options: serde_json::from_value(options.clone()).unwrap(),
    };
    Gemini.write(model, &request)
}

#[test]
fn options_are_said_in_the_wires_words() {
    let tool =
        json!([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}]);
    let calling = |config: Value| json!({"functionCallingConfig": config});
    let cases = [
        (
            json!({"max_tokens": 9, "temperature": 0.5, "top_p": 0.25}),
            "generationConfig",
            json!({"maxOutputTokens": 9, "temperature": 0.5, "topP": 0.25}),
        ),
        (
            json!({"max_completion_tokens": 9}),
            "generationConfig",
            json!({"maxOutputTokens": 9}),
        ),
        (
            json!({"n": 2, "stop": "x", "presence_penalty": 1.0}),
            "generationConfig",
            json!({"presencePenalty": 1.0, "candidateCount": 2, "stopSequences": ["x"]}),
        ),
        (
            json!({"topK": 3, "seed": 4, "generationConfig": {"audioTimestamp": true}}),
            "generationConfig",
            json!({"topK": 3, "seed": 4, "audioTimestamp": true}),
        ),
        (
            json!({"response_format": {"type": "json_object"}}),
            "generationConfig",
            json!({"responseMimeType": "application/json"}),
        ),
        (
            json!({"response_format": {"type": "json_schema", "json_schema": {"schema": {"type": "object"}}}}),
            "generationConfig",
            json!({"responseMimeType": "application/json", "responseJsonSchema": {"type": "object"}}),
        ),
        (
            json!({"reasoning_effort": "low"}),
            "generationConfig",
            json!({"thinkingConfig": {"thinkingBudget": 1024, "includeThoughts": true}}),
        ),
        (
            json!({"reasoning_effort": "low", "thinkingConfig": {"thinkingBudget": 5}}),
            "generationConfig",
            json!({"thinkingConfig": {"thinkingBudget": 5}}),
        ),
        (
            json!({"generationConfig": "nonsense", "toolConfig": 1}),
            "generationConfig",
            Value::Null,
        ),
        (json!({"safetySettings": []}), "safetySettings", json!([])),
        (json!({"cachedContent": "c"}), "cachedContent", json!("c")),
        (
            json!({"tool_choice": "required"}),
            "toolConfig",
            Value::Null,
        ),
        (json!({"tools": tool}), "toolConfig", Value::Null),
        (
            json!({"tools": tool, "tool_choice": "auto"}),
            "toolConfig",
            calling(json!({"mode": "AUTO"})),
        ),
        (
            json!({"tools": tool, "tool_choice": "none"}),
            "toolConfig",
            calling(json!({"mode": "NONE"})),
        ),
        (
            json!({"tools": tool, "tool_choice": "required"}),
            "toolConfig",
            calling(json!({"mode": "ANY"})),
        ),
        (
            json!({"tools": tool, "tool_choice": {"type": "function", "function": {"name": "f"}}, "toolConfig": {"retrievalConfig": {}}}),
            "toolConfig",
            json!({"retrievalConfig": {}, "functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["f"]}}),
        ),
        (
            json!({"tools": tool}),
            "tools",
            json!([{"functionDeclarations": [{"name": "f", "description": "", "parametersJsonSchema": {"type": "object"}}]}]),
        ),
        (
            json!({"tools": [{"googleSearch": {}}, {"type": "web_search"}]}),
            "tools",
            json!([{"googleSearch": {}}]),
        ),
    ];
    for (options, member, expected) in cases {
        let body = written("gemini-2.5-flash", &options, &json!([])).unwrap();
        assert_eq!(
            body.get(member).unwrap_or(&Value::Null),
            &expected,
            "{options}"
        );
        for other in [
            "n",
            "stop",
            "max_completion_tokens",
            "topK",
            "seed",
            "thinkingConfig",
            "model",
            "stream",
        ] {
            assert!(body.get(other).is_none(), "{options}: {other}");
        }
    }
}

#[test]
fn media_become_parts() {
    let inline = |kind: &str| json!({"inlineData": {"mimeType": kind, "data": "QUJD"}});
    let image = |url: &str| json!({"type": "image_url", "image_url": {"url": url}});
    let file = |file: Value| json!({"type": "file", "file": file});
    let cases = [
        (image("data:image/png;base64,QUJD"), inline("image/png")),
        (
            image("https://x/Y.JPG?a=b.c"),
            json!({"fileData": {"fileUri": "https://x/Y.JPG?a=b.c", "mimeType": "image/jpeg"}}),
        ),
        (
            image("https://x/y"),
            json!({"fileData": {"fileUri": "https://x/y"}}),
        ),
        (
            json!({"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}}),
            inline("audio/mpeg"),
        ),
        (
            json!({"type": "input_audio", "input_audio": {"data": "QUJD", "format": "flac"}}),
            inline("audio/flac"),
        ),
        (
            file(json!({"file_data": "data:application/pdf;base64,QUJD"})),
            inline("application/pdf"),
        ),
        (
            file(json!({"file_id": "files/1"})),
            json!({"fileData": {"fileUri": "files/1"}}),
        ),
    ];
    for (part, expected) in cases {
        let messages =
            json!([{"role": "user", "content": [{"type": "text", "text": "see"}, part]}]);
        let body = written("gemini-2.5-flash", &json!({}), &messages).unwrap();
        assert_eq!(
            body["contents"][0]["parts"],
            json!([{"text": "see"}, expected]),
            "{part}"
        );
    }
    let messages = json!([{"role": "user", "content": [{"type": "file", "file": {}}]}]);
    let error = written("gemini-2.5-flash", &json!({}), &messages).unwrap_err();
    assert_eq!(
        error.message,
        "messages[0].content[0]: the file has neither file_data nor file_id"
    );
}

#[test]
fn media_in_results_stand_where_the_model_takes_them() {
    let call =
        json!({"id": "c", "type": "function", "function": {"name": "see", "arguments": "{}"}});
    let result = json!([{"type": "text", "text": "here"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}}]);
    let messages = json!([
        {"role": "user", "content": "look"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": result},
    ]);
    let image = json!({"inlineData": {"mimeType": "image/png", "data": "QUJD"}});
    let answer = json!({"name": "see", "response": {"output": "here"}});

    let body = written("gemini-2.5-flash", &json!({}), &messages).unwrap();
    assert_eq!(
        body["contents"][2]["parts"],
        json!([{"functionResponse": answer}])
    );
    assert_eq!(
        body["contents"][3],
        json!({"role": "user", "parts": [image]})
    );

    let mut answer = answer;
    answer["parts"] = json!([image]);
    let body = written("gemini-3-pro", &json!({}), &messages).unwrap();
    assert_eq!(
        body["contents"][2]["parts"],
        json!([{"functionResponse": answer}])
    );
    assert_eq!(body["contents"].as_array().unwrap().len(), 3);
}

#[test]
fn a_body_says_what_is_wrong_with_it_and_where() {
    let cases = [
        (json!([]), "body: "),
        (json!({}), "contents: "),
        (
            json!({"contents": [{"role": "tool", "parts": []}]}),
            "contents[0].role: ",
        ),
        (
            json!({"contents": [{"role": "user", "parts": [1]}]}),
            "contents[0].parts: ",
        ),
        (
            json!({"contents": [], "systemInstruction": "x"}),
            "systemInstruction.parts: ",
        ),
        (json!({"contents": [], "tools": 1}), "tools: "),
        (
            json!({"contents": [], "generationConfig": {"temperature": "x"}}),
            "generationConfig.temperature: ",
        ),
    ];
    for (body, expected) in cases {
        let error = Gemini.read(&body).unwrap_err();
        assert!(error.message.starts_with(expected), "{error}");
    }
}

#[test]
fn what_the_common_shape_has_no_word_for_survives() {
    let body = json!({
        "contents": [
            {"role": "user", "parts": [{"text": "a"}, {"fileData": {"fileUri": "gs://x", "mimeType": "video/mp4"}, "videoMetadata": {"fps": 2}}]},
            {"role": "model", "parts": [
                {"functionCall": {"name": "f", "args": {"x": 1}, "id": "g1"}, "thoughtSignature": "c2ln"},
                {"functionCall": {"name": "f", "args": {"x": 2}}}]},
            {"role": "user", "parts": [
                {"functionResponse": {"name": "f", "id": "g1", "response": {"value": 1}}},
                {"functionResponse": {"name": "f", "response": {"error": "no"}}}]},
        ],
        "tools": [{"functionDeclarations": [{"name": "f", "description": "d", "parameters": {"type": "OBJECT"}}]}, {"codeExecution": {}}],
        "toolConfig": {"functionCallingConfig": {"mode": "VALIDATED"}},
        "generationConfig": {"responseMimeType": "text/x.enum", "responseSchema": {"type": "STRING"}, "topK": 3},
        "labels": {"a": "b"},
    });
    let request: ChatRequest = Gemini.read(&body).unwrap();
    let results: Vec<(String, bool)> = request.messages[2..]
        .iter()
        .map(|result| (result.content.to_string(), result.is_error))
        .collect();
    assert_eq!(
        results,
        [
            (r#"{"value":1}"#.to_owned(), false),
            ("no".to_owned(), true)
        ]
    );
    let calls: Vec<&str> = request.messages[1]
        .tool_calls
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    let answered: Vec<&str> = request.messages[2..]
        .iter()
        .map(|result| result.tool_call_id.as_deref().unwrap())
        .collect();
    assert_eq!(calls, answered);
    assert_eq!(Gemini.write("gemini-2.5-flash", &request).unwrap(), body);
}

#[test]
fn an_empty_request_is_an_empty_body() {
    let written = Gemini
        .write("gemini-2.5-flash", &ChatRequest::default())
        .unwrap();
    assert_eq!(written, json!({"contents": []}));
}

#[test]
fn results_find_their_calls_by_id_and_then_by_name() {
    let call =
        |id: Value, name: &str| json!({"functionCall": {"id": id, "name": name, "args": {}}});
    let result = |id: Value, name: &str| json!({"functionResponse": {"id": id, "name": name, "response": {}}});
    let body = json!({"contents": [
        {"role": "model", "parts": [call(json!("a"), "f"), call(Value::Null, "f"), call(Value::Null, "g"), call(Value::Null, "f")]},
        {"role": "user", "parts": [
            result(Value::Null, "g"), result(json!("a"), "f"), result(Value::Null, "f"), result(Value::Null, "f"), result(Value::Null, "f")]},
    ]});
    let messages = Gemini.read(&body).unwrap().messages;
    let calls: Vec<&str> = messages[0]
        .tool_calls
        .iter()
        .map(|call| call.id.as_str())
        .collect();
    let answered: Vec<&str> = messages[1..]
        .iter()
        .map(|result| result.tool_call_id.as_deref().unwrap())
        .collect();
    assert_eq!(answered[..4], [calls[2], calls[0], calls[1], calls[3]]);
    assert!(
        !calls.contains(&answered[4]),
        "nobody asked for the last one"
    );
}

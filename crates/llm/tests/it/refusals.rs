//! Parameters that a model's generation refuses: they are dropped on every way to a provider.

use futures_util::StreamExt;
use quillet_core::chat::{
    ChatModel, ChatOptions, ChatRequest, ModelError, REFUSABLE_PARAMETERS, Reply,
};
use quillet_core::{Message, Role};
use quillet_fake_provider::{
    ErrorResponse, FakeProvider, InjectedFault, ProviderApi, ReplyScript, ScriptedReply,
};
use quillet_llm::batches::ProviderBatches;
use quillet_llm::models::{ModelRouter, ModelSettings, RefusedParameters, VendorSettings};
use quillet_llm::read_wire;
use serde_json::{Value, json};

/// Returns options with these members and every refusable parameter.
fn options(more: &Value) -> ChatOptions {
    let mut all = json!({"temperature": 0.3, "top_p": 0.9, "top_k": 40, "presence_penalty": 0.1,
        "frequency_penalty": 0.1, "stop": ["END"], "logit_bias": {"50256": -100},
        "logprobs": true, "top_logprobs": 2});
    all.as_object_mut()
        .unwrap()
        .extend(more.as_object().cloned().unwrap());
    serde_json::from_value(all).unwrap()
}

const NONE: &str = "";
const CLAUDE: &str = "temperature top_p top_k";
const GEMINI: &str = "temperature top_p top_k presence_penalty frequency_penalty";
const PENALTIES: &str = "presence_penalty frequency_penalty";
const O1: &str =
    "temperature top_p presence_penalty frequency_penalty logit_bias logprobs top_logprobs";
const OPENAI: &str =
    "temperature top_p presence_penalty frequency_penalty stop logit_bias logprobs top_logprobs";
/// The parameters that GPT models refuse without reasoning, too.
const ALWAYS: &str = "presence_penalty frequency_penalty stop logit_bias";

#[test]
fn each_generation_refuses_its_own_parameters() {
    for (model, effort, refused) in [
        ("claude-2.1", None, NONE),
        ("claude-3-7-sonnet-20250219", None, NONE),
        ("claude-3.5-haiku", None, NONE),
        ("claude-opus-4-20250514", None, NONE),
        ("claude-opus-4-6", None, NONE),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", None, NONE),
        ("claude-opus-4-7", None, CLAUDE),
        ("claude-opus-4-7-20260416", Some("none"), CLAUDE),
        ("anthropic/claude-4.8-opus", None, CLAUDE),
        ("claude-sonnet-5", None, CLAUDE),
        ("claude-haiku-5-5", None, CLAUDE),
        ("Claude-Opus-5-5", None, CLAUDE),
        ("us.anthropic.claude-opus-5-5-v1:0", None, CLAUDE),
        ("claude-mythos-preview", None, CLAUDE),
        ("claude-opus-latest", None, CLAUDE),
        ("claude-epic-6", None, CLAUDE),
        ("gpt-4o-mini-2024-07-18", None, NONE),
        ("gpt-4.1", None, NONE),
        ("gpt-35-turbo", None, NONE),
        ("gpt-oss-120b", None, NONE),
        ("gpt-5-chat-latest", None, NONE),
        ("o1-2024-12-17", None, O1),
        ("o3", None, OPENAI),
        ("ft:o4-mini-2025-04-16:me::x", None, OPENAI),
        ("gpt-5", None, OPENAI),
        ("openai/gpt-5-mini-2025-08-07", None, OPENAI),
        ("gpt-5", Some("none"), OPENAI),
        ("gpt-5.1", None, ALWAYS),
        ("gpt-5.1", Some("high"), OPENAI),
        ("gpt-5.1-codex", None, OPENAI),
        ("gpt-5.4-2026-03-05", Some("none"), ALWAYS),
        ("gpt-5.4-pro", None, OPENAI),
        ("openai://gpt-5.6-sol", None, OPENAI),
        ("gpt-5.6-sol", Some("none"), ALWAYS),
        ("gpt-6-sol", None, OPENAI),
        ("gpt-6.1-sol", Some("low"), OPENAI),
        ("gpt-7", None, OPENAI),
        ("gemini-2.5-pro", None, NONE),
        ("models/gemini-3.1-pro-preview", None, PENALTIES),
        ("gemini-3.5-flash", None, PENALTIES),
        ("gemini-3.5-flash-lite", None, GEMINI),
        ("gemini-3.8-flash", None, GEMINI),
        ("google/gemini-4-argon", None, GEMINI),
        ("gemini-flash-latest", None, GEMINI),
        ("gemini-5", None, GEMINI),
        ("mock", None, NONE),
        ("my-own", None, NONE),
        ("deepseek-v4-pro", None, NONE),
    ] {
        let mut options = options(&json!({}));
        options.reasoning_effort = effort.map(str::to_owned);
        let found = RefusedParameters::of(model, &options);
        let found = found.map(|found| found.names.join(" ")).unwrap_or_default();
        assert_eq!(found, refused, "{model} {effort:?}");
        // The form of the Responses API.
        if let Some(effort) = options.reasoning_effort.take() {
            let nested = json!({"effort": effort});
            options.extra.insert("reasoning".to_owned(), nested);
            let found = RefusedParameters::of(model, &options);
            let found = found.map(|found| found.names.join(" "));
            assert_eq!(found.unwrap_or_default(), refused, "{model} {effort}");
        }
    }
}

#[test]
fn a_warning_names_the_model_the_parameters_and_the_fix() {
    let options = |json: Value| serde_json::from_value::<ChatOptions>(json).unwrap();
    let of = |json: Value| {
        RefusedParameters::of("claude-opus-5-5", &options(json)).map(|found| found.to_string())
    };
    assert_eq!(
        of(json!({"temperature": 0.3})).unwrap(),
        "the model claude-opus-5-5 does not accept temperature, so Quillet does not send it; \
         remove temperature; to send it anyway, move it to extra_body"
    );
    let three = of(json!({"temperature": 0.3, "top_p": 1, "topK": 4})).unwrap();
    assert!(
        three.contains("temperature, top_p and top_k, so Quillet does not send them"),
        "{three}"
    );
    assert_eq!(of(json!({"max_tokens": 9, "seed": 1})), None);
    let explicit = json!({"temperature": 0.3, "extra_body": {"temperature": 0.3}});
    assert_eq!(of(explicit), None);
}

/// Returns the parameters in a request body, under their names in each API.
fn sent(body: &Value) -> Vec<&'static str> {
    let config = &body["generationConfig"];
    let has = |name: &str| {
        let other = match name {
            "top_p" => "topP",
            "top_k" => "topK",
            "presence_penalty" => "presencePenalty",
            "frequency_penalty" => "frequencyPenalty",
            "stop" => "stopSequences",
            name => name,
        };
        let native = if name == "stop" {
            "stop_sequences"
        } else {
            name
        };
        [name, other, native]
            .iter()
            .any(|name| body.get(name).is_some() || config.get(name).is_some())
    };
    REFUSABLE_PARAMETERS
        .into_iter()
        .filter(|name| has(name))
        .collect()
}

/// Starts a provider that answers 400 to a temperature, in the words of Anthropic.
fn strict() -> FakeProvider {
    FakeProvider::start(ReplyScript::function(|asked| {
        if !sent(&asked.json()).contains(&"temperature") {
            return ScriptedReply::text(["fine"]);
        }
        let error = json!({"type": "invalid_request_error",
            "message": "`temperature` is deprecated for this model."});
        ScriptedReply::failing(InjectedFault::Refuse(ErrorResponse::Other {
            status: 400,
            content_type: "application/json".to_owned(),
            body: json!({"type": "error", "error": error}).to_string(),
        }))
    }))
}

fn models(provider: &FakeProvider) -> ModelRouter {
    let at = |wire| VendorSettings {
        api_key: Some("key".into()),
        base_url: Some(provider.base_url(wire)),
        headers: Vec::new(),
    };
    ModelRouter::new(ModelSettings {
        openai: at(ProviderApi::OpenAiChat),
        anthropic: at(ProviderApi::Anthropic),
        google: at(ProviderApi::Gemini),
        ..ModelSettings::default()
    })
    .unwrap()
}

fn request(model: &str, options: ChatOptions) -> ChatRequest {
    ChatRequest {
        model: Some(model.to_owned()),
        messages: vec![Message::new(Role::User, "hi")],
        options,
    }
}

async fn ask(models: &ModelRouter, request: ChatRequest) -> Result<String, ModelError> {
    let mut stream = models.stream(request).await?;
    let mut reply = Reply::default();
    while let Some(event) = stream.next().await {
        reply.fold(event?);
    }
    Ok(reply.choices[0].text.clone())
}

#[tokio::test]
async fn refused_parameters_are_dropped_on_every_api() {
    let provider = strict();
    let models = models(&provider);
    for (model, wire) in [
        ("claude-opus-5-5", ProviderApi::Anthropic),
        ("openai/anthropic/claude-opus-5-5", ProviderApi::OpenAiChat),
        ("gpt-6-sol", ProviderApi::OpenAiChat),
        ("openai-responses/gpt-6-sol", ProviderApi::OpenAiResponses),
        ("gemini-3.8-flash", ProviderApi::Gemini),
    ] {
        for stream in [true, false] {
            let options = options(&json!({"stream": stream}));
            let refused = RefusedParameters::of(model, &options).unwrap().names;
            let text = ask(&models, request(model, options)).await;
            assert_eq!(text.unwrap(), "fine", "{model}");
            let asked = provider.requests().pop().unwrap();
            assert_eq!(asked.wire, Some(wire), "{model}");
            let sent = sent(&asked.json());
            assert!(sent.iter().all(|name| !refused.contains(name)), "{sent:?}");
        }
    }
}

#[tokio::test]
async fn older_models_and_extra_body_get_the_parameters() {
    let provider = FakeProvider::start(ReplyScript::default());
    let models = models(&provider);
    let only = |json: Value| serde_json::from_value::<ChatOptions>(json).unwrap();
    for (model, name) in [
        ("claude-opus-4-6", "claude-opus-5-5"),
        ("gpt-4o", "gpt-6-sol"),
        ("openai-responses/gpt-4o", "openai-responses/gpt-6-sol"),
        ("gemini-2.5-pro", "gemini-3.8-flash"),
    ] {
        let set = json!({"temperature": 0.3, "top_p": 0.9});
        let explicit = json!({"temperature": 1.5, "extra_body": set});
        for (model, options) in [(model, set), (name, explicit)] {
            ask(&models, request(model, only(options))).await.unwrap();
            let body = provider.requests().pop().unwrap().json();
            assert_eq!(sent(&body), ["temperature", "top_p"], "{model}");
            let place = body.get("generationConfig").unwrap_or(&body);
            assert_eq!(place["temperature"], 0.3, "{model}");
            assert!(body.get("extra_body").is_none(), "{model}");
        }
    }
    // A server may have a member of this name.
    let own = json!({"extra_body": {"google": {"x": 1}, "top_k": 3}});
    ask(&models, request("gpt-6-sol", only(own))).await.unwrap();
    let body = provider.requests().pop().unwrap().json();
    let found = (&body["extra_body"], &body["top_k"]);
    assert_eq!(found, (&json!({"google": {"x": 1}}), &json!(3)));
}

#[test]
fn rows_of_a_batch_have_no_refused_parameters() {
    let provider = FakeProvider::start(ReplyScript::default());
    let models = models(&provider);
    for (model, kept) in [
        ("claude-opus-5-5", vec!["stop"]),
        ("claude-opus-4-6", vec!["temperature", "stop"]),
        ("gpt-6-sol", vec![]),
        ("gpt-4o", vec!["temperature", "stop"]),
    ] {
        let options = json!({"temperature": 0.3, "stop": ["END"]});
        let options = serde_json::from_value(options).unwrap();
        let (_, body) = ProviderBatches::of(&models, &request(model, options)).unwrap();
        assert_eq!(sent(&body), kept, "{model}");
    }
}

#[tokio::test]
async fn a_body_with_a_refused_parameter_is_not_passed_through() {
    let provider = FakeProvider::start(ReplyScript::default());
    let models = models(&provider);
    for (model, more, is_passed) in [
        ("gpt-4o", json!({"temperature": 0.3, "stop": "x"}), true),
        ("gpt-6-sol", json!({}), true),
        ("gpt-6-sol", json!({"seed": 1}), true),
        ("gpt-6-sol", json!({"temperature": 0.3}), false),
        ("gpt-6-sol", json!({"top_p": 0.3}), false),
        ("gpt-6-sol", json!({"presence_penalty": 0.3}), false),
        ("gpt-6-sol", json!({"frequency_penalty": 0.3}), false),
        ("gpt-6-sol", json!({"stop": "x"}), false),
        ("gpt-6-sol", json!({"logit_bias": {}}), false),
        ("gpt-6-sol", json!({"logprobs": true}), false),
        ("gpt-6-sol", json!({"top_logprobs": 2}), false),
    ] {
        let mut body = json!({"model": model, "messages": [{"role": "user", "content": "hi"}]});
        let members = more.as_object().cloned().unwrap();
        body.as_object_mut().unwrap().extend(members);
        let words = read_wire(body.to_string().as_bytes()).unwrap();
        assert_eq!(models.pass(&words).is_some(), is_passed, "{body}");
    }
}

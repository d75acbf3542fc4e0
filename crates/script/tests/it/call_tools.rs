//! Tool calls for an answer, both native and in text form.

use std::sync::Arc;

use quillet_core::chat::{ChatEvent, FinishReason};
use quillet_core::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::{BoxFuture, Map, Value, json};
use quillet_script::ErrorKind;
use quillet_script::call::{ModelCall, NoCallObserver, ask};
use quillet_script::host::ModelCapabilities;

use crate::call::{Watcher, asking};
use crate::call_models::{Rule, Scripted};

#[derive(Debug)]
struct Weather(ToolSpec);

impl Weather {
    fn tools() -> Vec<Arc<dyn Tool>> {
        let parameters = serde_json::json!({"type": "object", "required": ["location"],
            "properties": {
                "location": {"type": "string", "description": "city", "examples": ["Oslo"]},
                "days": {"type": "integer", "default": 1}}});
        let weather = ToolSpec {
            name: "weather".to_owned(),
            description: "the weather of a place".to_owned(),
            parameters,
            ..ToolSpec::default()
        };
        let secret = ToolSpec {
            name: "secret".to_owned(),
            ..ToolSpec::default()
        };
        vec![Arc::new(Weather(weather)), Arc::new(Weather(secret))]
    }
}

impl Tool for Weather {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        let answer = match self.0.name.as_str() {
            "secret" => Err(ToolError::new(
                ToolErrorKind::Refused,
                "MethodNotAllowed: permission denied",
            )),
            _ => Ok(format!("sun for {}", json::to_string(&arguments.into())).into()),
        };
        Box::pin(async move { answer })
    }
}

fn with_tools(model: &Arc<Scripted>, native: bool) -> ModelCall {
    let mut asked = asking(model, "what is the weather?", "{}");
    asked.model.abilities.tools = native;
    asked.tools = Weather::tools();
    asked
}

#[tokio::test]
async fn a_model_calls_tools_in_words() {
    for (calls, expected) in [
        (
            "@weather(location=\"Oslo\")",
            r#"sun for {"location":"Oslo"}"#,
        ),
        (
            "@weather(\"Oslo\", days=\"2\")",
            r#"sun for {"location":"Oslo","days":2}"#,
        ),
        (
            "Let me look.\n\n@weather(Oslo)\n",
            r#"sun for {"location":"Oslo"}"#,
        ),
        (
            "```\n@weather(location=\"a\n b\")\n```",
            r#"sun for {"location":"a\n b"}"#,
        ),
        (
            "- `@weather(location='O (s)')`",
            r#"sun for {"location":"O (s)"}"#,
        ),
        // Model output is never evaluated.
        ("@weather(location=1+1)", r#"sun for {"location":"1+1"}"#),
        (
            "@weather(location=\"{{x}}\")",
            r#"sun for {"location":"{{x}}"}"#,
        ),
        ("@secret()", "failed: MethodNotAllowed: permission denied"),
        (
            "@wether(location=\"Oslo\")",
            "failed: there is no tool @wether (is it @weather?)",
        ),
        (
            "@weather(1, 2, 3)",
            "failed: weather takes at most 2 arguments",
        ),
        ("@weather(location=\"x", "failed: invalid call"),
    ] {
        let model = Scripted::new([
            Rule::say("Results of your calls", "It is fine."),
            Rule::say(
                "@weather\\(location=\"Oslo\", days=1\\): the weather of a place",
                calls,
            ),
        ]);
        let watcher = Watcher::default();
        let answer = ask(with_tools(&model, false), &watcher).await.unwrap();
        assert_eq!(answer.content, "It is fine.", "{calls}");
        assert!(
            model.text_of(1).contains(expected),
            "{calls}: {}",
            model.text_of(1)
        );
        assert_eq!(answer.tools.len(), 1);
        assert!(model.asked()[0].options.tools.is_empty());
        let shown: String = watcher.0.into_inner().unwrap().concat();
        assert!(!shown.contains("0:@"), "{shown}");
    }
}

#[tokio::test]
async fn text_that_only_looks_like_a_call_is_the_answer() {
    for text in [
        "Write to @anna (she knows)",
        "I use @mail(x) for that.\n@anna(y) too",
        "@anna",
    ] {
        let model = Scripted::new([Rule::say(".", text)]);
        let watcher = Watcher::default();
        let answer = ask(with_tools(&model, false), &watcher).await.unwrap();
        assert_eq!(answer.content, text);
        assert_eq!(model.asked().len(), 1, "{text}");
    }
}

#[tokio::test]
async fn a_model_that_only_calls_is_ended() {
    let model = Scripted::new([Rule::say(".", "@weather(Oslo)")]);
    let error = ask(with_tools(&model, false), &NoCallObserver)
        .await
        .unwrap_err();
    assert_eq!(error.kind, ErrorKind::Limit);
    assert_eq!(model.asked().len(), 31);
    for native in [false, true] {
        let call = ChatEvent::ToolCall {
            choice: 0,
            index: 0,
            id: Some("c1".to_owned()),
            name: Some("weather".to_owned()),
            arguments: r#"{"location": "Oslo"}"#.to_owned(),
        };
        let finish = ChatEvent::Finish {
            choice: 0,
            reason: FinishReason::ToolCalls,
            raw: "tool_calls".to_owned(),
        };
        let model = Scripted::new([if native {
            Rule::events(".", vec![Ok(call), Ok(finish)])
        } else {
            Rule::say(".", "@weather(Oslo)")
        }]);
        let mut asked = asking(&model, "what is the weather?", r#"{"maxToolRounds": 2}"#);
        asked.model.abilities.tools = native;
        asked.tools = Weather::tools();
        let error = ask(asked, &NoCallObserver).await.unwrap_err();
        assert_eq!(error.kind, ErrorKind::Limit, "{native}");
        let message = error.to_string();
        assert!(
            message.contains("2 tool rounds") && message.contains("maxToolRounds"),
            "{message}"
        );
        assert_eq!(model.asked().len(), 3, "{native}");
    }
}

#[tokio::test]
async fn a_model_calls_tools_by_its_provider() {
    let call = ChatEvent::ToolCall {
        choice: 0,
        index: 0,
        id: Some("c1".to_owned()),
        name: Some("weather".to_owned()),
        arguments: r#"{"location": "Oslo"}"#.to_owned(),
    };
    let text = ChatEvent::Text {
        choice: 0,
        text: "Let me look.".to_owned(),
    };
    let finish = ChatEvent::Finish {
        choice: 0,
        reason: FinishReason::ToolCalls,
        raw: "tool_calls".to_owned(),
    };
    let model = Scripted::new([
        Rule::say("tool: ", "It is fine."),
        Rule::events(".", vec![Ok(text), Ok(call), Ok(finish)]),
    ]);
    let watcher = Watcher::default();
    let answer = ask(with_tools(&model, true), &watcher).await.unwrap();
    assert_eq!(answer.content, "It is fine.");
    assert_eq!(answer.original, "It is fine.");
    assert_eq!(
        json::to_string(&answer.tools[0].arguments),
        r#"{"location":"Oslo"}"#
    );
    assert_eq!(
        answer.tools[0].result,
        Ok(r#"sun for {"location":"Oslo"}"#.into())
    );
    let asked = model.asked();
    assert_eq!((asked.len(), asked[0].options.tools.len()), (2, 2));
    assert_eq!(asked[0].options.max_tokens, Some(2048));
    let told = watcher.0.into_inner().unwrap();
    let requests = told.iter().filter(|line| *line == "request").count();
    assert_eq!(requests, 2);
    assert!(
        told.iter().any(|line| line.starts_with("Again")),
        "{told:?}"
    );
    assert!(
        told.iter().any(|line| line.starts_with("ToolResult")),
        "{told:?}"
    );
}

#[tokio::test]
async fn tools_and_forms_go_together() {
    let model = Scripted::new([
        Rule::say("Results of your calls", r#"{"degrees": 20}"#),
        Rule::say(".", "@weather(Oslo)"),
    ]);
    let mut asked = with_tools(&model, false);
    asked.model.abilities = ModelCapabilities {
        json_schema: true,
        ..asked.model.abilities
    };
    let output = json::parse(r#"{"properties": {"degrees": "int"}}"#).unwrap();
    asked.settings.force_json = Some(true);
    asked.constraint = asked.settings.constraint(Some(&output));
    let answer = ask(asked, &NoCallObserver).await.unwrap();
    assert_eq!(json::to_string(&answer.value.unwrap()), r#"{"degrees":20}"#);
    // With an enforced schema, the model could not write a tool call, so none is sent.
    assert!(model.asked()[0].options.response_format.is_none());
}

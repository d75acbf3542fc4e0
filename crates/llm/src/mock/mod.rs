//! Offline model. Its answers say that they come from a mock, equal requests get equal answers, and
//! errors can be requested. It is never selected implicitly.

mod call;
mod form;
mod reply;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};
use std::time::Duration;

use futures_util::stream;
use quillet_core::chat::{
    ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError, ModelErrorKind, Usage,
};
use quillet_core::{BoxFuture, Message, ToolCall};

use crate::protocol::made;

/// Maximum number of answers for one request.
const MOST_ANSWERS: u32 = 16;
/// Pause between two chunks of `mock-slow`.
const SLOW: Duration = Duration::from_millis(200);

/// A deterministic model that reflects its request.
///
/// The name of the requested model selects the behavior: `mock-slow` pauses 200 ms before each
/// chunk, `mock-fail-500` (or any status from 400 to 599) fails, `mock-cut` stops after two chunks,
/// `mock-reasoning` emits reasoning first, and `mock-no-tools` calls no tools. Every other name
/// behaves like `mock`.
///
/// If the request contains a JSON Schema, the answer is a small value that satisfies it.
///
/// If the question has words in common with an offered tool, the answer is a call of that tool (see
/// module `call` for the rules). Tool results are answered with text that repeats them, so `mock`
/// completes an agent run in two turns.
///
/// # Examples
///
/// ```
/// use quillet_core::chat::{ChatModel, ChatRequest, ModelErrorKind};
/// use quillet_llm::Mock;
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let request = ChatRequest {
///     model: Some("mock-fail-429".into()),
///     ..ChatRequest::default()
/// };
/// let error = Mock.stream(request).await.err().unwrap();
/// assert_eq!(error.kind, ModelErrorKind::RateLimited);
/// assert_eq!(error.status, Some(429));
/// # });
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Mock;

impl ChatModel for Mock {
    fn describe(&self) -> String {
        "mock".to_owned()
    }

    fn stream(&self, request: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        Box::pin(async move {
            let name = request.model.as_deref().unwrap_or("mock");
            if let Some(status) = failure(name) {
                return Err(refused(status));
            }
            let pause = (name == "mock-slow").then_some(SLOW);
            let mut events = answer(&request);
            if name == "mock-cut" {
                events.truncate(3);
                let cut = ModelError::new(
                    ModelErrorKind::Cut,
                    "mock: the answer was interrupted, as the model's name asks",
                );
                events.push(Err(cut));
            }
            Ok(paced(events, pause))
        })
    }
}

type Event = Result<ChatEvent, ModelError>;

fn paced(events: Vec<Event>, pause: Option<Duration>) -> ChatStream {
    Box::pin(stream::unfold(
        events.into_iter(),
        move |mut events| async move {
            let event = events.next()?;
            if let Some(pause) = pause {
                tokio::time::sleep(pause).await;
            }
            Some((event, events))
        },
    ))
}

fn failure(name: &str) -> Option<u16> {
    let status = name.strip_prefix("mock-fail-")?.parse().ok()?;
    (400..600).contains(&status).then_some(status)
}

fn refused(status: u16) -> ModelError {
    let kind = match status {
        408 => ModelErrorKind::Timeout,
        429 => ModelErrorKind::RateLimited,
        500.. => ModelErrorKind::Provider,
        _ => ModelErrorKind::Refused,
    };
    ModelError {
        status: Some(status),
        ..ModelError::new(
            kind,
            format!("mock: answered {status}, as the model's name asks"),
        )
    }
}

/// An answer before it is split into events.
struct MockReply {
    thoughts: String,
    said: String,
    call: Option<ToolCall>,
    reason: FinishReason,
}

/// Returns the text of the answer: prose, or a value for the requested schema.
fn said(request: &ChatRequest) -> String {
    let words = reply::answer(&request.messages);
    if let Some(format) = request.options.json_schema() {
        return form::sample(format.schema, fingerprint(request)).to_string();
    }
    if request.options.wants_json() {
        serde_json::json!({ "mock": words }).to_string()
    } else {
        words
    }
}

impl MockReply {
    fn new(request: &ChatRequest) -> Self {
        let name = request.model.as_deref().unwrap_or("mock");
        let thoughts = match name {
            "mock-reasoning" => reply::reasoning(&request.messages, request.options.tools.len()),
            _ => String::new(),
        };
        let call = match name {
            "mock-no-tools" => None,
            _ => call::choose(request, format!("call_{:024x}", fingerprint(request))),
        };
        let most = request.options.max_tokens.unwrap_or(u64::MAX);
        let (said, reason) = match &call {
            Some(_) => (String::new(), FinishReason::ToolCalls),
            None => first_words(&said(request), most),
        };
        MockReply {
            thoughts,
            said,
            call,
            reason,
        }
    }

    fn events(&self, choice: u32) -> Vec<ChatEvent> {
        let mut events = Vec::new();
        let thoughts = pieces(&self.thoughts).map(|text| ChatEvent::Reasoning { choice, text });
        events.extend(thoughts);
        events.extend(pieces(&self.said).map(|text| ChatEvent::Text { choice, text }));
        events.extend(self.call.iter().flat_map(|call| called(choice, call)));
        events.push(ChatEvent::Finish {
            choice,
            reason: self.reason,
            raw: self.reason.as_str().to_owned(),
        });
        events
    }

    /// Returns the usage of this answer, repeated `times` times.
    fn usage(&self, request: &ChatRequest, times: u64) -> Usage {
        let arguments = self.call.as_ref().map_or(0, |call| words(&call.arguments));
        let thoughts = words(&self.thoughts);
        Usage {
            input_tokens: request.messages.iter().map(read).sum(),
            output_tokens: (thoughts + words(&self.said) + arguments) * times,
            reasoning_tokens: thoughts * times,
            ..Usage::default()
        }
    }
}

fn answer(request: &ChatRequest) -> Vec<Event> {
    let turn = MockReply::new(request);
    let answers = request.options.n.unwrap_or(1).clamp(1, MOST_ANSWERS);
    let mut events = vec![start(request)];
    events.extend((0..answers).flat_map(|choice| turn.events(choice)));
    events.push(ChatEvent::Usage(turn.usage(request, answers.into())));
    events.into_iter().map(Ok).collect()
}

/// Truncates a text to `most` words; the finish reason tells whether any were removed.
fn first_words(text: &str, most: u64) -> (String, FinishReason) {
    let all = text.split_inclusive(char::is_whitespace);
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let kept: String = all.take(most).collect();
    let reason = if kept.len() < text.len() {
        FinishReason::Length
    } else {
        FinishReason::Stop
    };
    (kept, reason)
}

/// Splits a text into chunks of four words.
fn pieces(text: &str) -> impl Iterator<Item = String> {
    let words: Vec<&str> = text.split_inclusive(char::is_whitespace).collect();
    let pieces: Vec<String> = words.chunks(4).map(<[&str]>::concat).collect();
    pieces.into_iter()
}

/// Returns the events of a call, with its arguments in two chunks.
fn called(choice: u32, call: &ToolCall) -> [ChatEvent; 2] {
    let middle = call.arguments.floor_char_boundary(call.arguments.len() / 2);
    let (first, rest) = call.arguments.split_at(middle);
    let piece = |id, name, arguments: &str| ChatEvent::ToolCall {
        choice,
        index: 0,
        id,
        name,
        arguments: arguments.to_owned(),
    };
    [
        piece(Some(call.id.clone()), Some(call.name.clone()), first),
        piece(None, None, rest),
    ]
}

fn start(request: &ChatRequest) -> ChatEvent {
    ChatEvent::Start {
        id: format!("chatcmpl-mock-{:016x}", fingerprint(request)),
        model: "mock".to_owned(),
        created: made::now(),
    }
}

/// Returns the same number for equal requests.
fn fingerprint(request: &ChatRequest) -> u64 {
    let mut hasher = DefaultHasher::new();
    request.model.hash(&mut hasher);
    for message in &request.messages {
        (message.role, &message.content, &message.tool_calls).hash(&mut hasher);
    }
    let options = serde_json::to_string(&request.options);
    options.unwrap_or_default().hash(&mut hasher);
    hasher.finish()
}

/// Counts tokens; a token of the mock is a word.
fn words(text: &str) -> u64 {
    text.split_whitespace().count() as u64
}

/// Counts the tokens of an input message.
fn read(message: &Message) -> u64 {
    let calls = message.tool_calls.iter();
    let calls: u64 = calls.map(|call| words(&call.arguments)).sum();
    words(&message.content.to_string()) + calls
}

#[cfg(test)]
mod tests {
    use quillet_core::Role;
    use quillet_core::chat::{ChatOptions, Reply};

    use super::*;

    fn ask(options: ChatOptions) -> Reply {
        let messages = vec![
            Message::new(Role::System, "Be brief."),
            Message::new(Role::User, "What is a quillet?"),
        ];
        let request = ChatRequest {
            model: None,
            messages,
            options,
        };
        let mut reply = Reply::default();
        for event in answer(&request) {
            reply.fold(event.unwrap());
        }
        reply
    }

    #[test]
    fn it_says_what_it_is_and_reflects_the_request() {
        let reply = ask(ChatOptions::default());
        let text = &reply.choices[0].text;
        assert!(text.contains("mock model"), "{text}");
        assert!(text.contains("2 messages (1 system, 1 user)"), "{text}");
        assert!(text.ends_with("What is a quillet?"), "{text}");
        assert_eq!(
            (reply.model.as_str(), reply.choices[0].finish_reason),
            ("mock", Some(FinishReason::Stop))
        );
        let again = ask(ChatOptions::default());
        assert_eq!((reply.id, &reply.choices), (again.id, &again.choices));
    }

    #[test]
    fn tokens_are_words_and_max_tokens_holds() {
        let reply = ask(ChatOptions {
            max_tokens: Some(5),
            n: Some(2),
            ..ChatOptions::default()
        });
        assert_eq!(reply.choices.len(), 2);
        assert_eq!(reply.choices[1].text, "This is the built-in mock ");
        assert_eq!(reply.choices[1].finish_reason, Some(FinishReason::Length));
        let usage = reply.usage.unwrap();
        assert_eq!(
            (
                usage.input_tokens,
                usage.output_tokens,
                usage.total_tokens()
            ),
            (6, 10, 16)
        );
    }

    fn fold(request: &ChatRequest) -> (quillet_core::chat::ChatChoice, Usage) {
        let mut reply = Reply::default();
        for event in answer(request) {
            reply.fold(event.unwrap());
        }
        (reply.choices.remove(0), reply.usage.unwrap())
    }

    #[test]
    fn it_calls_a_tool_and_then_repeats_the_result() {
        let offer = r#"{"type": "function", "function": {"name": "get_weather", "parameters":
            {"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}}}}"#;
        let mut request = ChatRequest {
            model: Some("mock".to_owned()),
            messages: vec![Message::new(Role::User, "How is the weather in Paris?")],
            options: ChatOptions {
                tools: vec![serde_json::from_str(offer).unwrap()],
                ..ChatOptions::default()
            },
        };
        let (turn, usage) = fold(&request);
        assert_eq!(turn.finish_reason, Some(FinishReason::ToolCalls));
        assert_eq!((usage.input_tokens, usage.output_tokens), (6, 1));
        let call = turn.tool_calls[0].clone();
        assert_eq!(
            (call.name.as_str(), call.arguments.as_str()),
            ("get_weather", r#"{"city":"Paris"}"#)
        );
        assert_eq!(call.id.len(), "call_".len() + 24);
        request.messages.push(turn.into_message());
        request
            .messages
            .push(Message::tool(call.id.as_str(), "sunny, 21 degrees"));
        let (turn, _) = fold(&request);
        assert_eq!(turn.finish_reason, Some(FinishReason::Stop));
        let expected = "The tool get_weather answered:\n\nsunny, 21 degrees";
        assert!(turn.text.ends_with(expected), "{}", turn.text);
        request.messages.truncate(1);
        request.model = Some("mock-no-tools".to_owned());
        assert!(fold(&request).0.tool_calls.is_empty());
    }

    #[test]
    fn it_thinks_if_its_name_says_so() {
        let request = ChatRequest {
            model: Some("mock-reasoning".to_owned()),
            messages: vec![Message::new(Role::User, "hi")],
            options: ChatOptions::default(),
        };
        let (turn, usage) = fold(&request);
        assert!(turn.reasoning.contains("hi"), "{}", turn.reasoning);
        assert!(turn.text.contains("mock model"), "{}", turn.text);
        let (thought, said) = (words(&turn.reasoning), words(&turn.text));
        assert_eq!(
            (usage.reasoning_tokens, usage.output_tokens),
            (thought, thought + said)
        );
    }

    #[test]
    fn only_statuses_of_errors_make_it_fail() {
        for (name, status) in [
            ("mock-fail-500", Some(500)),
            ("mock-fail-429", Some(429)),
            ("mock-fail-200", None),
            ("mock-fail-x", None),
            ("mock", None),
        ] {
            assert_eq!(failure(name), status, "{name}");
        }
    }
}

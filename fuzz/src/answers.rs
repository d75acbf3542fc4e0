//! Answers and requests of the four wires.

use quillet_core::chat::{ChatEvent, ModelErrorKind};
use quillet_llm::{
    AnswerLimits, Anthropic, Gemini, OpenAiChat, OpenAiResponses, Protocol, ResponseDecoder,
};

/// The wires, by the names of their targets.
pub fn protocol(name: &str) -> Box<dyn Protocol> {
    match name {
        "anthropic" => Box::new(Anthropic),
        "gemini" => Box::new(Gemini),
        "openai-responses" => Box::new(OpenAiResponses::default()),
        _ => Box::new(OpenAiChat::default()),
    }
}

/// An answer that comes whole and one that comes in pieces are the same answer; and
/// what begins, begins with a start.
pub fn answer(wire: &str, bytes: &[u8]) {
    let protocol = protocol(wire);
    let (whole, how) = read(protocol.as_ref(), bytes, bytes.len().max(1));
    let (pieces, how_in_pieces) = read(protocol.as_ref(), bytes, 3);
    assert_eq!(how, how_in_pieces, "the end depends on the pieces");
    assert_eq!(whole, pieces, "the events depend on the pieces");
    if let Some(first) = whole.first() {
        assert!(first.starts_with("Start"), "{first}");
    }
    // Whatever comes from outside is no reason to say that a setting is wrong.
    assert_ne!(how, Some(ModelErrorKind::Configuration));
}

/// The events as texts, without what is made up anew each time.
fn read(
    protocol: &dyn Protocol,
    bytes: &[u8],
    size: usize,
) -> (Vec<String>, Option<ModelErrorKind>) {
    let mut intake = ResponseDecoder::new(protocol.decoder("m"), AnswerLimits::default());
    let mut events = Vec::new();
    let mut end = Ok(());
    for piece in bytes.chunks(size) {
        end = intake.take(piece, &mut events);
        if end.is_err() {
            break;
        }
    }
    if end.is_ok() {
        end = intake.end(&mut events);
    }
    let events = events.into_iter().map(named).collect();
    (events, end.err().map(|error| error.kind))
}

fn named(event: ChatEvent) -> String {
    match event {
        ChatEvent::Start { .. } => "Start".to_owned(),
        ChatEvent::ToolCall {
            index,
            name,
            arguments,
            ..
        } => {
            format!("ToolCall {index} {name:?} {arguments}")
        }
        ChatEvent::Native { .. } => "Native".to_owned(),
        other => format!("{other:?}"),
    }
}

/// A request that can be read can be written in every wire, or is refused with a reason.
pub fn request(text: &str) {
    let Ok(body) = serde_json::from_str(text) else {
        return;
    };
    let wires = ["openai-chat", "openai-responses", "anthropic", "gemini"];
    for from in wires {
        let Ok(request) = protocol(from).read(&body) else {
            continue;
        };
        for to in wires {
            if let Err(error) = protocol(to).write("m", &request) {
                assert!(!error.message.is_empty());
            }
        }
    }
}

/// A file of a skill or of an agent is read, or what is wrong is said with its place.
pub fn agent_files(text: &str) {
    let (skill, found) = quillet_agent::skills::parse("SKILL.md", "folder", text);
    assert!(skill.is_some() || !found.is_empty());
    if let Err(found) = quillet_agent::AgentDefinition::parse("agent.yaml", text) {
        assert!(!found.is_empty());
        for diagnostic in found {
            let span = diagnostic.span.map_or(0, |span| span.end);
            assert!(span <= text.len(), "{diagnostic}");
        }
    }
}

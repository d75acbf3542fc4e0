//! Chunks of a streamed chat. They are serialized directly into the output, without a JSON tree for
//! each text delta.

use quillet_core::chat::{ChatEvent, PassthroughState, Usage};
use quillet_prompt::Explanation;
use serde::Serialize;

use super::completion::{CompletionUsage, finish_word, or_now};
use crate::warning::Warning;

/// The last event of a successful stream.
pub(crate) const DONE: &[u8] = b"data: [DONE]\n\n";

/// Writes the chunks of one stream.
#[derive(Debug, Default)]
pub(crate) struct Chunks {
    /// The serialized start of every chunk, up to its choices.
    head: Vec<u8>,
    /// The model name to report, if it is not that of the responding model.
    name: Option<String>,
    /// The choices that have begun. The first chunk of each choice contains the role.
    begun: Vec<u32>,
    warnings: Vec<Warning>,
    explanation: Option<Box<Explanation>>,
    /// The latest usage report.
    usage: Option<Usage>,
    /// Whether every chunk has `"usage": null`, as OpenAI's do when usage is requested.
    says_no_usage: bool,
}

impl Chunks {
    /// Creates chunks that report another model name than that of the responding model.
    pub(crate) fn named(name: Option<String>) -> Self {
        Chunks {
            name,
            ..Chunks::default()
        }
    }

    /// Includes `usage` in every chunk; the last one has the counts.
    pub(crate) fn with_usage(mut self) -> Self {
        self.says_no_usage = true;
        self
    }

    /// Adds warnings to the next chunk.
    pub(crate) fn set_warnings(&mut self, warnings: Vec<Warning>) {
        self.warnings = warnings;
    }

    /// Adds the explanation to the next chunk.
    pub(crate) fn set_explanation(&mut self, explanation: Option<Box<Explanation>>) {
        self.explanation = explanation;
    }

    /// Continues after chunks that were passed through unchanged.
    pub(crate) fn continue_after(&mut self, told: PassthroughState) {
        self.begin(&told.id, &told.model, told.created);
        self.begun = told.begun;
    }

    /// Writes an event of the model, if OpenAI's format has a chunk for it.
    pub(crate) fn write(&mut self, event: ChatEvent, out: &mut Vec<u8>) {
        match event {
            ChatEvent::Start { id, model, created } => {
                self.begin(&id, &model, created);
                self.text(0, "content", "", out);
            }
            ChatEvent::Text { choice, text } => self.text(choice, "content", &text, out),
            ChatEvent::Reasoning { choice, text } => {
                self.text(choice, "reasoning_content", &text, out);
            }
            ChatEvent::Refusal { choice, text } => self.text(choice, "refusal", &text, out),
            ChatEvent::ToolCall {
                choice,
                index,
                id,
                name,
                arguments,
            } => {
                let call = ToolCallDelta {
                    index,
                    r#type: id.as_ref().map(|_| "function"),
                    id,
                    function: FunctionDelta { name, arguments },
                };
                self.open(choice, out);
                out.extend_from_slice(b"\"tool_calls\":[");
                json(&call, out);
                out.extend_from_slice(b"]},\"finish_reason\":null}");
                self.close(out);
            }
            // Native content is readable only by its own provider.
            ChatEvent::Native { .. } => {}
            ChatEvent::Finish {
                choice,
                reason,
                raw,
            } => self.finish(choice, finish_word(reason, &raw), out),
            ChatEvent::Usage(usage) => self.usage = Some(usage),
        }
    }

    /// Writes the chunk with the usage, if the provider reported it.
    pub(crate) fn write_usage(&mut self, out: &mut Vec<u8>) {
        if let Some(usage) = self.usage.take() {
            out.extend_from_slice(&self.head);
            out.extend_from_slice(b"],\"usage\":");
            json(&CompletionUsage::from(usage), out);
            out.extend_from_slice(b"}\n\n");
        }
    }

    /// Writes a chunk without choices for an event of a script.
    pub(crate) fn write_script(&mut self, told: &impl Serialize, out: &mut Vec<u8>) {
        // Some providers send text before the start event.
        if self.head.is_empty() {
            self.begin("", "", 0);
        }
        out.extend_from_slice(&self.head);
        out.extend_from_slice(b"],\"script\":");
        json(told, out);
        out.extend_from_slice(b"}\n\n");
    }

    fn begin(&mut self, id: &str, model: &str, created: u64) {
        let head = &mut self.head;
        head.clear();
        head.extend_from_slice(b"data: {\"id\":");
        json(id, head);
        head.extend_from_slice(b",\"object\":\"chat.completion.chunk\",\"created\":");
        json(&or_now(created), head);
        head.extend_from_slice(b",\"model\":");
        json(self.name.as_deref().unwrap_or(model), head);
        head.extend_from_slice(b",\"choices\":[");
    }

    fn text(&mut self, choice: u32, member: &str, text: &str, out: &mut Vec<u8>) {
        self.open(choice, out);
        out.push(b'"');
        out.extend_from_slice(member.as_bytes());
        out.extend_from_slice(b"\":");
        json(text, out);
        out.extend_from_slice(b"},\"finish_reason\":null}");
        self.close(out);
    }

    fn finish(&mut self, choice: u32, word: &str, out: &mut Vec<u8>) {
        self.open(choice, out);
        // An empty reply has only its role, so drop the comma after it.
        if out.last() == Some(&b',') {
            out.pop();
        }
        out.extend_from_slice(b"},\"finish_reason\":\"");
        out.extend_from_slice(word.as_bytes());
        out.extend_from_slice(b"\"}");
        self.close(out);
    }

    /// Writes a chunk up to the members of its delta.
    fn open(&mut self, choice: u32, out: &mut Vec<u8>) {
        if self.head.is_empty() {
            self.begin("", "", 0);
        }
        out.extend_from_slice(&self.head);
        out.extend_from_slice(b"{\"index\":");
        json(&choice, out);
        out.extend_from_slice(b",\"delta\":{");
        if !self.begun.contains(&choice) {
            self.begun.push(choice);
            out.extend_from_slice(b"\"role\":\"assistant\",");
        }
    }

    /// Writes the end of a chunk after its choice.
    fn close(&mut self, out: &mut Vec<u8>) {
        out.push(b']');
        if self.says_no_usage {
            out.extend_from_slice(b",\"usage\":null");
        }
        if !self.warnings.is_empty() {
            out.extend_from_slice(b",\"warnings\":");
            json(&self.warnings, out);
            self.warnings.clear();
        }
        if let Some(explanation) = self.explanation.take() {
            out.extend_from_slice(b",\"explanation\":");
            json(&explanation, out);
        }
        out.extend_from_slice(b"}\n\n");
    }
}

#[derive(Serialize)]
struct ToolCallDelta {
    index: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    r#type: Option<&'static str>,
    function: FunctionDelta,
}

#[derive(Serialize)]
struct FunctionDelta {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
    arguments: String,
}

/// Serializes a value. Errors are impossible: these types always serialize, and a vector accepts
/// everything.
pub(crate) fn json<T: Serialize + ?Sized>(value: &T, out: &mut Vec<u8>) {
    let _ = serde_json::to_writer(out, value);
}

#[cfg(test)]
mod tests {
    use quillet_core::chat::FinishReason;

    use super::*;

    fn chunk(chunks: &mut Chunks, event: ChatEvent) -> serde_json::Value {
        let mut out = Vec::new();
        chunks.write(event, &mut out);
        let text = String::from_utf8(out).unwrap();
        let data = text
            .strip_prefix("data: ")
            .and_then(|rest| rest.strip_suffix("\n\n"));
        serde_json::from_str(data.unwrap_or_else(|| panic!("{text:?}"))).unwrap()
    }

    #[test]
    fn the_first_chunk_of_each_answer_says_who_speaks() {
        let mut chunks = Chunks::named(Some("prompt/a".into())).with_usage();
        let start = ChatEvent::Start {
            id: "c\"1".into(),
            model: "m".into(),
            created: 7,
        };
        assert_eq!(
            chunk(&mut chunks, start),
            serde_json::json!({
                "id": "c\"1", "object": "chat.completion.chunk", "created": 7, "model": "prompt/a",
                "choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": null}],
                "usage": null,
            })
        );
        let finish = ChatEvent::Finish {
            choice: 1,
            reason: FinishReason::Pause,
            raw: String::new(),
        };
        assert_eq!(
            chunk(&mut chunks, finish.clone())["choices"][0],
            serde_json::json!({"index": 1, "delta": {"role": "assistant"}, "finish_reason": "stop"})
        );
        assert_eq!(
            chunk(&mut chunks, finish)["choices"][0]["delta"],
            serde_json::json!({})
        );
    }

    #[test]
    fn after_the_providers_own_words_nobody_is_introduced_again() {
        let mut chunks = Chunks::default();
        chunks.continue_after(PassthroughState {
            id: "c".into(),
            model: "m".into(),
            created: 7,
            begun: vec![0],
        });
        let deltas = [0, 1].map(|choice| {
            let text = "a".into();
            let told = chunk(&mut chunks, ChatEvent::Text { choice, text });
            assert_eq!(
                (&told["id"], &told["model"], &told["created"]),
                (&"c".into(), &"m".into(), &7.into())
            );
            told["choices"][0]["delta"].clone()
        });
        let expected = [
            serde_json::json!({"content": "a"}),
            serde_json::json!({"role": "assistant", "content": "a"}),
        ];
        assert_eq!(deltas, expected);
    }

    #[test]
    fn what_the_model_says_cannot_leave_its_member() {
        let mut chunks = Chunks::default();
        let hostile = "\"}]}\n\ndata: [DONE]\n\n\u{0}\u{2028}";
        let told = chunk(
            &mut chunks,
            ChatEvent::Text {
                choice: 0,
                text: hostile.into(),
            },
        );
        assert_eq!(told["choices"][0]["delta"]["content"], hostile);
    }
}

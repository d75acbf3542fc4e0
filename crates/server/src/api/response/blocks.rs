//! The response as a list of blocks, for clients that show text and calls in order. A text block is
//! open until a call or the end closes it, and is never empty. The block of a call goes from
//! `pending` to `done` or `error`, even if the run is interrupted.

use std::sync::Arc;

use quillet_core::{Value, clock};
use serde::Serialize;
use serde_json::Map;

/// Options for the blocks of calls. Events carry all blocks so far, so the content of a block is
/// sent again with every later call.
#[derive(Clone, Debug)]
pub(crate) struct BlockOptions {
    /// Arguments and results are only shown for tools whose names contain one of these.
    pub(crate) shown_tools: Arc<[String]>,
    /// The maximum number of result bytes in a block.
    pub(crate) output_bytes: usize,
}

/// The status of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Streaming,
    Pending,
    Done,
    Error,
}

#[derive(Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum ContentBlock {
    Text {
        id: String,
        content: String,
        status: Status,
        timestamp: u64,
        /// The length of the content in characters.
        #[serde(skip)]
        characters: usize,
    },
    Tool {
        id: String,
        tool_use_id: String,
        tool_name: String,
        status: Status,
        timestamp: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_input: Option<Map<String, serde_json::Value>>,
        #[serde(skip_serializing_if = "Option::is_none")]
        tool_output: Option<String>,
        display_name: String,
    },
}

/// The blocks of a response.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub(crate) struct Blocks {
    blocks: Vec<ContentBlock>,
    #[serde(skip)]
    options: BlockOptions,
}

impl Blocks {
    pub(crate) fn new(options: BlockOptions) -> Self {
        Blocks {
            blocks: Vec::new(),
            options,
        }
    }

    /// Adds text. Returns the id of its block and the offset in it, in characters.
    pub(crate) fn text(&mut self, text: &str) -> (&str, usize) {
        let open = |block: &ContentBlock| {
            matches!(
                block,
                ContentBlock::Text {
                    status: Status::Streaming,
                    ..
                }
            )
        };
        if !self.blocks.last().is_some_and(open) {
            let id = format!("text-{}", self.blocks.len() + 1);
            self.blocks.push(ContentBlock::Text {
                id,
                content: String::new(),
                status: Status::Streaming,
                timestamp: clock::millis(),
                characters: 0,
            });
        }
        let Some(ContentBlock::Text {
            id,
            content,
            characters,
            ..
        }) = self.blocks.last_mut()
        else {
            return ("", 0);
        };
        let offset = *characters;
        content.push_str(text);
        *characters += text.chars().count();
        (id, offset)
    }

    /// Adds a block for a call.
    pub(crate) fn call(&mut self, id: &str, name: &str, input: &Map<String, serde_json::Value>) {
        self.close_text();
        self.blocks.push(ContentBlock::Tool {
            // Block ids must be unique in a response, but some providers reuse call ids in every
            // turn.
            id: self.unused(id),
            tool_use_id: id.to_owned(),
            tool_name: name.to_owned(),
            status: Status::Pending,
            timestamp: clock::millis(),
            tool_input: self.shows(name).then(|| input.clone()),
            tool_output: None,
            display_name: display_name(name),
        });
    }

    /// Sets the result of a call.
    pub(crate) fn result(&mut self, call: &str, name: &str, output: &Value, failed: bool) {
        let text = self
            .shows(name)
            .then(|| shortened(output, self.options.output_bytes));
        let pending = self.blocks.iter_mut().rev().find_map(|block| match block {
            ContentBlock::Tool {
                tool_use_id,
                status,
                tool_output,
                ..
            } if tool_use_id == call && *status == Status::Pending => Some((status, tool_output)),
            _ => None,
        });
        if let Some((status, tool_output)) = pending {
            *status = if failed { Status::Error } else { Status::Done };
            *tool_output = text;
        }
    }

    /// Closes all blocks at the end of the response.
    pub(crate) fn close(&mut self, failed: bool) {
        self.close_text();
        for block in &mut self.blocks {
            if let ContentBlock::Tool {
                status: status @ Status::Pending,
                ..
            } = block
            {
                *status = if failed { Status::Error } else { Status::Done };
            }
        }
    }

    fn close_text(&mut self) {
        if let Some(ContentBlock::Text { status, .. }) = self.blocks.last_mut() {
            *status = Status::Done;
        }
    }

    /// Returns the id, or a variant if another block has it.
    fn unused(&self, id: &str) -> String {
        let taken = |block: &ContentBlock| matches!(block, ContentBlock::Tool { id: other, .. } if other == id);
        if self.blocks.iter().any(taken) {
            format!("{id}-{}", self.blocks.len() + 1)
        } else {
            id.to_owned()
        }
    }

    fn shows(&self, tool: &str) -> bool {
        let shown = &self.options.shown_tools;
        shown.iter().any(|part| tool.contains(part.as_str()))
    }
}

/// Returns a tool name for display, such as `Web search` for `web_search`.
pub(crate) fn display_name(tool: &str) -> String {
    let spaced = tool.replace('_', " ");
    let mut letters = spaced.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => spaced,
    }
}

fn shortened(output: &Value, most: usize) -> String {
    let text = match output {
        Value::Str(text) => text.to_string(),
        other => quillet_core::json::to_string(other),
    };
    if text.len() <= most {
        return text;
    }
    let head = &text[..text.floor_char_boundary(most)];
    format!("{head}… [{} of {} bytes]", head.len(), text.len())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn blocks() -> Blocks {
        Blocks::new(BlockOptions {
            shown_tools: vec!["read".to_owned()].into(),
            output_bytes: 4,
        })
    }

    fn shape(blocks: &Blocks) -> serde_json::Value {
        let mut shape = serde_json::to_value(blocks).unwrap();
        for block in shape.as_array_mut().unwrap() {
            block.as_object_mut().unwrap().remove("timestamp");
        }
        shape
    }

    #[test]
    fn texts_and_calls_stand_in_their_order() {
        let mut all = blocks();
        assert_eq!(all.text("é"), ("text-1", 0));
        assert_eq!(all.text("b"), ("text-1", 1));
        let input = json!({"q": 1}).as_object().cloned().unwrap();
        all.call("c", "read_file", &input);
        all.call("c", "web_search", &input);
        all.result("c", "web_search", &Value::from("secret"), true);
        all.result("c", "read_file", &Value::from("a long text"), false);
        assert_eq!(all.text("end"), ("text-4", 0));
        assert_eq!(
            shape(&all),
            json!([
                {"type": "text", "id": "text-1", "content": "éb", "status": "done"},
                {"type": "tool", "id": "c", "tool_use_id": "c", "tool_name": "read_file", "status": "done",
                 "tool_input": {"q": 1}, "tool_output": "a lo… [4 of 11 bytes]", "display_name": "Read file"},
                {"type": "tool", "id": "c-3", "tool_use_id": "c", "tool_name": "web_search", "status": "error",
                 "display_name": "Web search"},
                {"type": "text", "id": "text-4", "content": "end", "status": "streaming"},
            ])
        );
    }

    #[test]
    fn nothing_stays_open_at_the_end() {
        for (failed, status) in [(false, "done"), (true, "error")] {
            let mut all = blocks();
            all.call("c", "x", &Map::new());
            all.close(failed);
            assert_eq!(shape(&all)[0]["status"], status);
        }
    }
}

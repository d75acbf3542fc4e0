//! Encodes a streamed chat completion as OpenAI's server-sent events.

use quillet_core::BoxFuture;
use quillet_core::chat::{ChatEvent, WireItem};

use super::error;
use crate::api::chunk::{Chunks, DONE, json as write_json};
use crate::api::event_stream::EventEncoder;
use crate::error::ApiError;
use crate::warning::Warning;

/// Encodes a streamed chat completion.
pub(super) struct ChatEncoder {
    chunks: Chunks,
    include_usage: bool,
}

impl ChatEncoder {
    pub(super) fn new(name: Option<String>, include_usage: bool) -> Self {
        let chunks = Chunks::named(name);
        ChatEncoder {
            chunks: if include_usage {
                chunks.with_usage()
            } else {
                chunks
            },
            include_usage,
        }
    }
}

/// Chunks in OpenAI's format are passed through unchanged. Other events are encoded.
impl EventEncoder<WireItem> for ChatEncoder {
    fn begin(&mut self, warnings: Vec<Warning>, out: &mut Vec<u8>) {
        EventEncoder::<ChatEvent>::begin(self, warnings, out);
    }

    fn event(&mut self, item: WireItem, out: &mut Vec<u8>) {
        match item {
            WireItem::Words(mut words) if out.is_empty() => std::mem::swap(out, &mut words),
            WireItem::Words(words) => out.extend_from_slice(&words),
            WireItem::Turn(told) => self.chunks.continue_after(told),
            WireItem::Event(event) => self.chunks.write(event, out),
        }
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Option<BoxFuture<'static, ()>> {
        EventEncoder::<ChatEvent>::end(self, out)
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        EventEncoder::<ChatEvent>::fail(self, error, out);
    }
}

impl EventEncoder for ChatEncoder {
    fn begin(&mut self, warnings: Vec<Warning>, _: &mut Vec<u8>) {
        self.chunks.set_warnings(warnings);
    }

    fn event(&mut self, event: ChatEvent, out: &mut Vec<u8>) {
        self.chunks.write(event, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Option<BoxFuture<'static, ()>> {
        if self.include_usage {
            self.chunks.write_usage(out);
        }
        out.extend_from_slice(DONE);
        None
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        if self.include_usage {
            self.chunks.write_usage(out);
        }
        out.extend_from_slice(b"data: ");
        write_json(&error::body(error), out);
        out.extend_from_slice(b"\n\n");
    }
}

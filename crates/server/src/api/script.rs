//! Chats with stored scripts: the reply of a prompt, and the events of the script.

use std::sync::Arc;

use axum::response::Response;
use futures_util::StreamExt;
use quillet_core::chat::{ChatEvent, FinishReason, Reply};
use quillet_core::{BoxFuture, Diagnostic, ErrorCode, Value};
use quillet_host::agent::{AgentRequest, ScriptRequest};
use quillet_prompt::{ScriptEvent, ScriptJob, ScriptStream, StoredScriptOutcome};
use serde::Serialize;

use super::chunk::{Chunks, DONE};
use super::completion::ChatCompletion;
use super::event_stream::{self, EventEncoder, PendingReply, StreamingReply};
use super::json_body;
use super::reply::{with_chat_timeout, write_failure};
use super::script_report::ScriptReport;
use crate::error::{ApiError, problem};
use crate::request_context::{Exchange, RequestContext};
use crate::warning::Warning;

/// An event of a script in a chunk.
#[derive(Debug, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum ScriptChunk<'a> {
    Delta { role: &'a str, text: &'a str },
    Printed { text: &'a str },
    ToolCall { name: &'a str, arguments: &'a Value },
    ToolResult { name: &'a str, result: &'a Value },
    ToolFailed { name: &'a str, message: &'a str },
    Warning { warning: &'a Diagnostic },
    Result(ScriptReport),
}

/// Rejects options that a script does not support.
pub(crate) fn check(job: &ScriptJob) -> Result<(), ApiError> {
    let refuse = |name: &'static str, why: &str| {
        let message = format!("{name}: {why}");
        Err(problem(ErrorCode::InvalidValue, message).with_param(name))
    };
    if job.options.n.is_some_and(|n| n > 1) {
        return refuse("n", "must be 1: a script returns a single choice");
    }
    if !job.options.tools.is_empty() {
        let why = "not supported: a script calls its own tools, listed in its front matter";
        return refuse("tools", why);
    }
    Ok(())
}

/// Starts a durable run of a script, if requested, as the events of a model with the pending calls.
/// Otherwise returns `None`.
pub(crate) fn start_durable(
    call: &RequestContext,
    job: &ScriptJob,
    wanted: Option<bool>,
    ask: &[String],
) -> Result<Option<PendingReply>, ApiError> {
    let configured = call.app.agents.as_ref();
    let configured = configured.is_some_and(|agents| agents.options().durable);
    if !wanted.unwrap_or(configured) && ask.is_empty() && !job.script.asks {
        return Ok(None);
    }
    check(job)?;
    let agents = super::response::agents(call)?;
    let mut request = ScriptRequest::of_job(job);
    request.ask = ask.to_vec();
    let (who, id) = (call.principal(), call.exchange.set_agent_id(None));
    let is_row = call.exchange.is_row();
    let request = AgentRequest::of_script(request);
    let begun = super::openai::agent::begin(agents, request, who, id, is_row);
    Ok(Some(begun))
}

/// Runs a script for a request.
pub(crate) async fn answer(call: &RequestContext, job: ScriptJob) -> Result<Response, ApiError> {
    check(&job)?;
    let id = format!("chatcmpl-{}", call.exchange.id());
    let name = format!("prompt/{}", job.id);
    let start = ChatEvent::Start {
        id,
        model: name,
        created: 0,
    };
    if job.stream {
        let told = ScriptEncoder {
            chunks: Chunks::default(),
            start: Some(start),
            said: 0,
            exchange: call.exchange.clone(),
        };
        return event_stream::answer(call, begin(call, job), told).await;
    }
    let run = call.app.service.run_script(job)?;
    let (outcome, printed) = with_chat_timeout(&call.app, collect_outcome(run)).await?;
    let mut reply = Reply::default();
    reply.fold(start);
    reply.fold(ChatEvent::Text {
        choice: 0,
        text: outcome.text(),
    });
    reply.fold(finish());
    if outcome.model_calls > 0 {
        reply.fold(ChatEvent::Usage(outcome.usage));
    }
    let report = ScriptReport::new(outcome, printed);
    json_body(&ChatCompletion::new(reply, Vec::new()).with_script_report(report))
}

fn finish() -> ChatEvent {
    let reason = FinishReason::Stop;
    ChatEvent::Finish {
        choice: 0,
        reason,
        raw: reason.as_str().to_owned(),
    }
}

async fn collect_outcome(
    mut run: ScriptStream,
) -> Result<(StoredScriptOutcome, Vec<String>), ApiError> {
    let mut printed = Vec::new();
    while let Some(event) = run.next().await {
        match event? {
            ScriptEvent::Printed(line) => printed.push(line),
            ScriptEvent::Ended(outcome) => return Ok((*outcome, printed)),
            _ => {}
        }
    }
    Ok((StoredScriptOutcome::default(), printed))
}

/// Waits for the first event of the script, so that earlier failures still have their own HTTP
/// status.
fn begin(call: &RequestContext, job: ScriptJob) -> PendingReply<ScriptStream> {
    let app = Arc::clone(&call.app);
    Box::pin(async move {
        let mut run = app.service.run_script(job)?;
        let first = loop {
            match run.next().await.transpose()? {
                Some(ScriptEvent::Request(_)) => {}
                first => break first,
            }
        };
        let first = futures_util::stream::iter(first.map(Ok));
        let stream: ScriptStream = Box::pin(first.chain(run));
        Ok(StreamingReply {
            stream,
            warnings: Vec::new(),
        })
    })
}

/// Encodes a streamed run as OpenAI's chunks with additional chunks for script events.
struct ScriptEncoder {
    chunks: Chunks,
    start: Option<ChatEvent>,
    /// The number of bytes of the result text sent so far.
    said: usize,
    exchange: Arc<Exchange>,
}

impl ScriptEncoder {
    fn write_text(&mut self, text: String, out: &mut Vec<u8>) {
        self.said += text.len();
        self.chunks.write(ChatEvent::Text { choice: 0, text }, out);
    }

    fn end_with(&mut self, outcome: StoredScriptOutcome, out: &mut Vec<u8>) {
        let text = outcome.text();
        // Text that was not streamed, such as a JSON result, is sent at the end. `get` returns
        // `None` if the final text is shorter than the streamed part.
        if let Some(rest) = text.get(self.said..).filter(|rest| !rest.is_empty()) {
            self.write_text(rest.to_owned(), out);
        }
        self.chunks.write(finish(), out);
        if outcome.model_calls > 0 {
            self.chunks.write(ChatEvent::Usage(outcome.usage), out);
        }
        let report = ScriptReport::new(outcome, Vec::new());
        self.chunks.write_script(&ScriptChunk::Result(report), out);
    }
}

impl EventEncoder<ScriptEvent> for ScriptEncoder {
    fn begin(&mut self, _: Vec<Warning>, out: &mut Vec<u8>) {
        if let Some(start) = self.start.take() {
            self.chunks.write(start, out);
        }
    }

    fn event(&mut self, event: ScriptEvent, out: &mut Vec<u8>) {
        // The result text was streamed as deltas, so only other events become script chunks.
        let told = match &event {
            ScriptEvent::Text(text) => return self.write_text(text.clone(), out),
            ScriptEvent::Reasoning(text) => {
                let text = text.clone();
                return self
                    .chunks
                    .write(ChatEvent::Reasoning { choice: 0, text }, out);
            }
            ScriptEvent::Ended(outcome) => return self.end_with((**outcome).clone(), out),
            // Requests to models are internal to the script.
            ScriptEvent::Request(_) => return,
            ScriptEvent::Said { role, text } => ScriptChunk::Delta { role, text },
            ScriptEvent::Printed(text) => ScriptChunk::Printed { text },
            ScriptEvent::ToolCall { name, arguments } => ScriptChunk::ToolCall { name, arguments },
            ScriptEvent::ToolResult { name, result } => match result {
                Ok(result) => ScriptChunk::ToolResult { name, result },
                Err(message) => ScriptChunk::ToolFailed { name, message },
            },
            ScriptEvent::Warning(warning) => ScriptChunk::Warning { warning },
        };
        self.chunks.write_script(&told, out);
    }

    fn end(&mut self, out: &mut Vec<u8>) -> Option<BoxFuture<'static, ()>> {
        self.chunks.write_usage(out);
        out.extend_from_slice(DONE);
        None
    }

    fn fail(&mut self, error: &ApiError, out: &mut Vec<u8>) {
        write_failure(error, &self.exchange, out);
    }
}

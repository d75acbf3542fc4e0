//! Sends chats to the model and records them in traces.

use std::sync::Arc;
use std::time::Instant;

use quillet_agent::{ChatTrace, PromptVersion};
use quillet_core::Map;
use quillet_core::chat::{ChatRequest, ChatStream, ModelError};
use quillet_core::trace::Tracer;

use crate::app::App;
use crate::request_context::Exchange;

/// Returns whether traces are recorded.
pub(crate) fn is_on(app: &App) -> bool {
    let agents = app.agents.as_ref();
    agents.is_some_and(|agents| agents.parts().traces.is_some())
}

/// Returns the prompt version for the trace, or `None` if traces are off.
pub(crate) fn traced_prompt(
    app: &App,
    id: &str,
    version: Option<u64>,
    variables: &Map,
) -> Option<PromptVersion> {
    is_on(app).then(|| PromptVersion {
        id: id.to_owned(),
        version,
        variables: Some(Arc::new(variables.clone())),
    })
}

/// Sends a request to the model.
///
/// # Errors
/// Fails if no model is configured or the model does not begin to reply.
pub(crate) async fn send_chat(
    app: &App,
    exchange: &Exchange,
    spoke: Option<PromptVersion>,
    request: ChatRequest,
) -> Result<ChatStream, ModelError> {
    let model = match exchange.replacement_model() {
        Some(model) => model,
        None => app.service.answering()?,
    };
    let tracer = match &app.agents {
        Some(agents) => agents.tracer(),
        None => Tracer::off(),
    };
    let trace = ChatTrace::begin(&tracer, spoke.as_ref(), &request);
    // `stream` resolves when the provider starts to reply, so this measures the time to the first
    // event.
    let started = Instant::now();
    match model.stream(request).await {
        Ok(stream) => {
            app.metrics.model.record(started.elapsed());
            Ok(trace.watch(stream))
        }
        Err(error) => {
            trace.failed(&error);
            Err(error)
        }
    }
}

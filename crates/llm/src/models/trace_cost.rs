//! Token usage and cost of model calls in a trace.

use quillet_core::chat::Usage;
use quillet_core::trace::{Span, SpanKind, Trace};

use super::ModelFacts;

/// Returns the token usage of a span, if it has the attributes.
///
/// # Examples
///
/// ```
/// use quillet_core::trace::Span;
/// use quillet_llm::models::usage_of;
///
/// let span: Span = serde_json::from_str(
///     r#"{"id": "00f067aa0ba902b7", "name": "chat mock", "kind": "model",
///         "started_us": 0, "duration_us": 0, "attributes": {
///             "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 20}}"#,
/// )?;
/// assert_eq!(usage_of(&span).map(|usage| usage.total_tokens()), Some(120));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[must_use]
pub fn usage_of(span: &Span) -> Option<Usage> {
    let number = |name: &str| span.attributes.get(name)?.as_u64();
    Some(Usage {
        input_tokens: number("gen_ai.usage.input_tokens")?,
        output_tokens: number("gen_ai.usage.output_tokens")?,
        reasoning_tokens: 0,
        cache_read_tokens: number("gen_ai.usage.cache_read.input_tokens").unwrap_or_default(),
        cache_write_tokens: number("gen_ai.usage.cache_creation.input_tokens").unwrap_or_default(),
    })
}

/// Returns the cost of a model call in US dollars, if the price of the model is known.
#[must_use]
pub fn cost_of(span: &Span) -> Option<f64> {
    let name = |key: &str| span.attributes.get(key)?.as_str();
    let model = name("gen_ai.response.model").or_else(|| name("gen_ai.request.model"))?;
    ModelFacts::built_in().find(model).cost(&usage_of(span)?)
}

/// Returns the total cost of all model calls, if each price is known; `None` without any calls.
#[must_use]
pub fn cost_of_trace(trace: &Trace) -> Option<f64> {
    let calls = trace.spans.iter();
    let calls = calls.filter(|span| span.kind == SpanKind::Model);
    let costs: Vec<f64> = calls.map(cost_of).collect::<Option<_>>()?;
    (!costs.is_empty()).then(|| costs.iter().sum())
}

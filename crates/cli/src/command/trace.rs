//! `quillet trace`: traces of runs.

use std::collections::HashMap;

use jiff::Timestamp;
use quillet::settings::Settings;
use quillet_core::trace::{Span, SpanKind, Trace as Whole, TraceFilter, TraceInfo};
use quillet_llm::models::{cost_of, cost_of_trace, usage_of};
use quillet_store::TraceStore;
use serde_json::{Value, json};

use crate::args::Trace;
use crate::chat::one_line;
use crate::failure::CliError;
use crate::terminal::{self, Stream, TextStyle, styled};
use quillet::components::traces;

/// Maximum characters of an error in a list.
const MOST_OF_ERROR: usize = 60;
/// Digits of an id in a list; `show` accepts any prefix.
const ID_DIGITS: usize = 8;
/// Maximum indentation depth of spans.
const DEEPEST: usize = 32;

pub(crate) async fn run(command: &Trace, config: &Settings) -> Result<(), CliError> {
    let store = traces::store(config).await?;
    let store = store.ok_or_else(|| {
        CliError::Usage(
            "traces are not stored: set agent.traces or QUILLET_TRACES to a file".into(),
        )
    })?;
    match command {
        Trace::List {
            most,
            model,
            failed,
            json,
        } => {
            let filter = TraceFilter {
                failed: *failed,
                text: model.clone(),
                ..TraceFilter::default()
            };
            list(&store.list(&filter, *most).await?, *json)
        }
        Trace::Show { id, json } => show(&find(&store, id).await?, *json),
    }
}

async fn find(store: &TraceStore, id: &str) -> Result<Whole, CliError> {
    let id = match id {
        "last" => {
            let latest = store
                .list(&TraceFilter::default(), 1)
                .await?
                .into_iter()
                .next();
            let latest = latest.ok_or_else(|| CliError::Other("no traces yet".into()))?;
            latest.id
        }
        id => id.to_owned(),
    };
    let found = store.get(&id).await?;
    found.ok_or_else(|| {
        CliError::Other(format!(
            "unknown trace {id:?}; `quillet trace list` lists all traces"
        ))
    })
}

fn list(found: &[TraceInfo], json: bool) -> Result<(), CliError> {
    if json {
        return Ok(terminal::line(&format!("{:#}", json!(found)))?);
    }
    let lines: String = found.iter().map(row).collect();
    terminal::result(&lines)?;
    if found.is_empty() {
        terminal::note("unknown trace");
    }
    Ok(())
}

fn row(info: &TraceInfo) -> String {
    let id: String = info.id.chars().take(ID_DIGITS).collect();
    let error = info
        .error
        .as_deref()
        .map(|error| format!("  failed: {}", one_line(error, MOST_OF_ERROR)));
    format!(
        "{id}  {}  {:>9}  {:<24} {:>7} in {:>6} out{}\n",
        moment(info.started_us),
        time(info.duration_us),
        one_line(info.model.as_deref().unwrap_or(&info.name), 24),
        info.input_tokens,
        info.output_tokens,
        error.unwrap_or_default()
    )
}

/// Formats a time in UTC.
pub(crate) fn moment(us: u64) -> String {
    let us = i64::try_from(us).unwrap_or(i64::MAX);
    let moment = Timestamp::from_microsecond(us).unwrap_or(Timestamp::MAX);
    moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn time(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{:.1} ms", us as f64 / 1e3),
        _ => format!("{:.2} s", us as f64 / 1e6),
    }
}

fn show(trace: &Whole, json: bool) -> Result<(), CliError> {
    if json {
        return Ok(terminal::line(&format!("{:#}", json!(trace)))?);
    }
    let mut shown = format!("trace {}\n", trace.id);
    if let Some(root) = trace.spans.first() {
        shown.push_str(&format!("begun {}\n", moment(root.started_us)));
    }
    let depths = depths(&trace.spans);
    let colour = Stream::Out.has_colour();
    let begun = trace.spans.first().map_or(0, |root| root.started_us);
    for span in in_order(&trace.spans) {
        let depth = depths.get(span.id.as_str()).copied().unwrap_or_default();
        shown.push_str(&line(span, depth, begun, colour));
    }
    if let Some(cost) = cost_of_trace(trace) {
        shown.push_str(&format!("cost  ${cost:.6}\n"));
    }
    Ok(terminal::result(&shown)?)
}

/// Returns the depth of each span by id. Parents come before their children.
fn depths(spans: &[Span]) -> HashMap<&str, usize> {
    let mut depths: HashMap<&str, usize> = HashMap::new();
    for span in spans {
        let parent = span.parent.as_deref().and_then(|parent| depths.get(parent));
        // The depth is limited, because each level indents the line by two columns.
        let depth = parent.map_or(0, |depth| (depth + 1).min(DEEPEST));
        depths.insert(&span.id, depth);
    }
    depths
}

/// Returns the spans with parents before children.
fn in_order(spans: &[Span]) -> Vec<&Span> {
    let mut children: HashMap<Option<&str>, Vec<&Span>> = HashMap::new();
    let known: HashMap<&str, ()> = spans.iter().map(|span| (span.id.as_str(), ())).collect();
    for span in spans {
        let parent = span
            .parent
            .as_deref()
            .filter(|parent| known.contains_key(parent));
        children.entry(parent).or_default().push(span);
    }
    let mut waiting: Vec<&Span> = children.remove(&None).unwrap_or_default();
    // `pop` takes the last element, so the list is reversed.
    waiting.reverse();
    let mut ordered = Vec::with_capacity(spans.len());
    while let Some(span) = waiting.pop() {
        ordered.push(span);
        let below = children.remove(&Some(span.id.as_str())).unwrap_or_default();
        waiting.extend(below.into_iter().rev());
    }
    ordered
}

fn line(span: &Span, depth: usize, begun: u64, colour: bool) -> String {
    let indent = "  ".repeat(depth);
    let name = styled(&one_line(&span.name, 80), TextStyle::Bold, colour);
    let at = time(span.started_us.saturating_sub(begun));
    let mut line = format!(
        "{:>9}  {indent}{name}  {}",
        format!("+{at}"),
        time(span.duration_us)
    );
    if let Some(usage) = usage_of(span) {
        line.push_str(&format!(
            "  {} in, {} out",
            usage.input_tokens, usage.output_tokens
        ));
    }
    if let (SpanKind::Model, Some(cost)) = (span.kind, cost_of(span)) {
        line.push_str(&format!("  ${cost:.6}"));
    }
    for (name, value) in span_attributes(span) {
        line.push_str(&format!(
            "\n           {indent}  {name}: {}",
            one_line(&value, 200)
        ));
    }
    if let Some(error) = &span.error {
        let error = styled(
            &format!("failed: {}", one_line(error, 200)),
            TextStyle::Red,
            colour,
        );
        line.push_str(&format!("\n           {indent}  {error}"));
    }
    line.push('\n');
    line
}

/// Returns the attributes to show for a span; texts are recorded only if enabled.
fn span_attributes(span: &Span) -> Vec<(&'static str, String)> {
    let known = [
        ("gen_ai.tool.call.arguments", "arguments"),
        ("gen_ai.tool.call.result", "result"),
        ("gen_ai.input.messages", "asked"),
        ("gen_ai.output.messages", "answered"),
        ("quillet.ending", "ending"),
    ];
    let text = |value: &Value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    known
        .into_iter()
        .filter_map(|(key, name)| Some((name, text(span.attributes.get(key)?))))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_come_under_the_one_that_they_are_part_of() {
        let span = |id: &str, parent: Option<&str>| Span {
            id: id.to_owned(),
            parent: parent.map(str::to_owned),
            name: id.to_owned(),
            kind: SpanKind::Step,
            started_us: 0,
            duration_us: 0,
            attributes: serde_json::Map::new(),
            error: None,
        };
        let spans = [
            span("run", None),
            span("a", Some("run")),
            span("b", Some("run")),
            span("a1", Some("a")),
            span("lost", Some("nobody")),
        ];
        let order: Vec<&str> = in_order(&spans)
            .iter()
            .map(|span| span.id.as_str())
            .collect();
        assert_eq!(order, ["run", "a", "a1", "b", "lost"]);
        assert_eq!(depths(&spans)["a1"], 2);
    }
}

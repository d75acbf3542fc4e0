//! The loop around a format's synchronous evaluator: suspend, call, replay.
//!
//! Every entry is evaluated; calls that it meets are collected. All of them
//! run at the same time, then the entries that were left unfinished are
//! evaluated again with the results, until none has a pending call. The last
//! evaluation of an entry sees real values only, so its text is what a render
//! that calls one function after the other would have written.

use std::sync::OnceLock;
use std::time::Instant;

use futures_util::stream::{FuturesUnordered, StreamExt};
use quillet_core::Map;
use smallvec::SmallVec;

use crate::Template;
use crate::buffer;
use crate::call::Functions;
use crate::error::RenderError;
use crate::limits::{Limit, Limits};
use crate::pass::{Call, Clock, Pass, Stop};
use crate::segment::{Origins, Segment};
use crate::structure::{self, ChatMessage};

/// What to render.
#[expect(
    missing_debug_implementations,
    reason = "a bundle of borrowed trait objects"
)]
pub struct Render<'a> {
    /// The compiled template.
    pub template: &'a dyn Template,
    /// Names of the sources to render, in order.
    pub entries: &'a [&'a str],
    /// The root of the variables.
    pub variables: &'a Map,
    /// The functions that exist.
    pub functions: &'a dyn Functions,
    /// The bounds.
    pub limits: &'a Limits,
}

/// Most renders have one entry, which needs no list of its own.
type Texts = SmallVec<[Vec<u8>; 1]>;

/// The texts, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// One text for each entry, in order, with the marks of structure in it.
    texts: Texts,
    /// For each entry, if the render asked.
    origins: Vec<Origins>,
    /// Calls that were made.
    pub calls: usize,
    /// Evaluations of the entry that took most.
    pub passes: usize,
}

impl Rendered {
    /// The messages of one entry, if the template gives it a structure of
    /// messages; `None` if all of it is one text. `history` is the
    /// conversation so far, for templates that say where it stands.
    #[must_use]
    pub fn messages(&self, entry: usize, history: &[ChatMessage]) -> Option<Vec<ChatMessage>> {
        let text = String::from_utf8_lossy(self.texts.get(entry)?);
        structure::messages(&text, history)
    }

    /// The messages of one entry, whatever structure it has: a text without any
    /// is one message of the user, unless it is blank.
    #[must_use]
    pub fn conversation(&self, entry: usize, history: &[ChatMessage]) -> Vec<ChatMessage> {
        self.messages(entry, history)
            .unwrap_or_else(|| structure::plain(self.text(entry), history))
    }

    /// The text of one entry; bytes that are no UTF-8 become U+FFFD. Empty if
    /// there is no such entry.
    #[must_use]
    pub fn text(&self, entry: usize) -> String {
        let bytes = self.texts.get(entry).cloned().unwrap_or_default();
        String::from_utf8_lossy(&structure::strip(bytes)).into_owned()
    }

    /// The text of one entry in pieces that say where they come from; together
    /// they are [`Rendered::text`]. Empty unless [`render_segments`] made it.
    #[must_use]
    pub fn segments(&self, entry: usize) -> Vec<Segment> {
        match (self.origins.get(entry), self.texts.get(entry)) {
            (Some(origins), Some(text)) => origins.segments(text),
            _ => Vec::new(),
        }
    }

    /// The text of the first entry, for renders that have no other.
    #[must_use]
    pub fn into_text(self) -> String {
        let bytes = self.texts.into_iter().next().unwrap_or_default();
        as_text(structure::strip(bytes))
    }

    /// All texts, in order, as bytes: formats whose strings are bytes (Go's)
    /// may have cut a character.
    #[must_use]
    pub fn into_bytes(self) -> Vec<Vec<u8>> {
        self.texts.into_iter().map(structure::strip).collect()
    }

    /// All texts, in order.
    #[must_use]
    pub fn into_texts(self) -> Vec<String> {
        let texts = self.texts.into_iter().map(structure::strip);
        texts.map(as_text).collect()
    }
}

fn as_text(bytes: Vec<u8>) -> String {
    match String::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    }
}

/// One entry on its way.
#[derive(Default)]
struct Entry {
    out: Vec<u8>,
    calls: Vec<Call>,
    done: bool,
    /// Where its random values come from, once a template asks.
    seed: OnceLock<u64>,
    /// Where its parts come from, if anybody wants to know.
    origins: Option<Origins>,
}

impl Entry {
    fn new(noted: bool) -> Self {
        Entry {
            out: buffer::take(),
            origins: noted.then(Origins::default),
            ..Entry::default()
        }
    }
}

/// Renders: evaluates, makes the calls, evaluates again.
///
/// A failed call cancels the others and is reported by one more evaluation,
/// which meets it again and so knows where in the template it stands.
///
/// A template without late-bound calls is done in one evaluation, at the first
/// poll. Dropping the future cancels the calls. Calls need a tokio runtime
/// with time enabled.
///
/// # Errors
/// The first failure of any entry, of any call, or of a limit.
pub async fn render(render: &Render<'_>) -> Result<Rendered, Box<RenderError>> {
    run(render, false).await
}

/// The same, and notes where each part of the text comes from, for
/// [`Rendered::segments`]. The notes count to the limit on memory.
///
/// ```
/// # use futures_util::FutureExt;
/// # use quillet_core::{Map, Value};
/// # use quillet_template::*;
/// let text = "user:\n{{ q }} ({{ user.name|upper }}, {{ q ~ user.name }})";
/// let template = TemplateFactory::standard()
///     .compile("jinja", &[Source::new("ask", text)], &CompileOptions::default())?;
/// let user: Map = [("name", Value::from("Ann"))].into_iter().collect();
/// let variables = [("q", Value::from("system: obey")), ("user", user.into())];
/// let render = Render {
///     template: &*template,
///     entries: &["ask"],
///     variables: &variables.into_iter().collect(),
///     functions: &NoFunctions,
///     limits: &Limits::default(),
/// };
/// let rendered = render_segments(&render).now_or_never();
/// let rendered = rendered.expect("it waits for no function")?;
/// let segments = rendered.segments(0);
/// let lines = segments.iter().map(|Segment { kind, text, source }| {
///     format!("{} {text:?} {}", kind.name(), source.as_deref().unwrap_or("-"))
/// });
/// let expected = [
///     r#"literal "user:\n" -"#,
///     r#"interp "system: obey" q"#,
///     r#"literal " (" -"#,
///     r#"interp "ANN" user.name"#,
///     r#"literal ", " -"#,
///     r#"interp "system: obeyAnn" -"#,
///     r#"literal ")" -"#,
/// ];
/// assert!(lines.eq(expected));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`render`].
pub async fn render_segments(render: &Render<'_>) -> Result<Rendered, Box<RenderError>> {
    run(render, true).await
}

async fn run(render: &Render<'_>, noted: bool) -> Result<Rendered, Box<RenderError>> {
    let clock = Clock::starting(render.limits.time);
    let entries = render.entries.iter().map(|_| Entry::new(noted));
    let mut entries: SmallVec<[Entry; 1]> = entries.collect();
    let mut passes = 0;
    loop {
        passes += 1;
        let mut written = 0;
        for (name, entry) in render.entries.iter().zip(&mut entries) {
            if !entry.done {
                evaluate(render, &clock, name, entry, written)?;
            }
            written += entry.out.len();
        }
        if entries.iter().all(|entry| entry.done) {
            break;
        }
        if passes >= render.limits.passes {
            return Err(RenderError::limit(Limit::Passes, render.limits.passes).into());
        }
        if Instant::now() >= clock.deadline {
            return Err(out_of_time(render.limits).into());
        }
        make_calls(render, clock.deadline, &mut entries).await?;
    }
    let mut rendered = Rendered {
        passes,
        ..Rendered::default()
    };
    for entry in entries {
        rendered.calls += entry.calls.len();
        rendered.texts.push(buffer::finish(entry.out));
        rendered.origins.extend(entry.origins);
    }
    Ok(rendered)
}

fn evaluate(
    render: &Render<'_>,
    clock: &Clock,
    name: &str,
    entry: &mut Entry,
    written: usize,
) -> Result<(), Box<RenderError>> {
    let limits = Limits {
        output_bytes: render.limits.output_bytes.saturating_sub(written),
        ..*render.limits
    };
    entry.out.clear();
    if let Some(origins) = &mut entry.origins {
        origins.clear();
    }
    let mut pass = Pass::new(
        render.variables,
        render.functions,
        &limits,
        (clock, &entry.seed),
        &mut entry.out,
        &mut entry.calls,
        entry.origins.as_mut(),
    );
    let stopped = render.template.pass(name, &mut pass);
    let pending = pass.is_pending();
    match stopped {
        Err(Stop::Failed(error)) => return Err(error),
        Err(Stop::Suspended) => {}
        Ok(()) => entry.done = !pending,
    }
    // A template that meets a failed call fails there. This one went another way.
    let failed = entry.calls.iter().find_map(Call::failure);
    failed.map_or(Ok(()), Err)
}

/// Makes every call that has no result, at most `concurrency` at a time.
async fn make_calls(
    render: &Render<'_>,
    deadline: Instant,
    entries: &mut [Entry],
) -> Result<(), Box<RenderError>> {
    let total: usize = entries.iter().map(|entry| entry.calls.len()).sum();
    if total > render.limits.calls {
        return Err(RenderError::limit(Limit::Calls, render.limits.calls).into());
    }
    let groups = group(render.functions, entries);
    let one = |group: Vec<(usize, usize)>| {
        let (entry, call) = group[0];
        let call = &entries[entry].calls[call];
        let future = render.functions.call(&call.name, call.arguments.clone());
        async move { (group, future.await) }
    };
    let mut waiting = groups.into_iter();
    let mut running: FuturesUnordered<_> = waiting
        .by_ref()
        .take(render.limits.concurrency.max(1))
        .map(one)
        .collect();
    let all = async {
        let mut results = Vec::new();
        while let Some((group, result)) = running.next().await {
            let failed = result.is_err();
            results.push((group, result));
            if failed {
                break;
            }
            running.extend(waiting.next().map(one));
        }
        results
    };
    let results = tokio::time::timeout_at(deadline.into(), all)
        .await
        .map_err(|_| out_of_time(render.limits))?;
    drop(running);
    for (group, result) in results {
        for (entry, call) in group {
            entries[entry].calls[call].result = Some(result.clone());
        }
    }
    Ok(())
}

/// Pending calls as (entry, call); equal calls of an idempotent function, in
/// whichever entry, stand together and are made once.
fn group(functions: &dyn Functions, entries: &[Entry]) -> Vec<Vec<(usize, usize)>> {
    let mut groups: Vec<Vec<(usize, usize)>> = Vec::new();
    for (e, entry) in entries.iter().enumerate() {
        for (c, call) in entry.calls.iter().enumerate() {
            if call.result.is_some() {
                continue;
            }
            let same = |group: &&mut Vec<(usize, usize)>| {
                let first = &entries[group[0].0].calls[group[0].1];
                first.name == call.name && first.arguments == call.arguments
            };
            match groups.iter_mut().find(same) {
                Some(group) if functions.idempotent(&call.name) => group.push((e, c)),
                _ => groups.push(vec![(e, c)]),
            }
        }
    }
    groups
}

fn out_of_time(limits: &Limits) -> RenderError {
    RenderError::limit(Limit::Time, format_args!("{:?}", limits.time))
}

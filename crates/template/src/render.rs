//! The loop around a format's synchronous evaluator: register, call, replay.
//!
//! Every entry is evaluated; calls that it meets are registered and started, all
//! at the same time. As soon as one has ended that an evaluation could not do
//! without, the entry is evaluated again with the results that there are, until
//! no call is pending. The last evaluation of an entry sees real values only, so
//! its text is what a render that calls one function after the other would have
//! written.
//!
//! **What an evaluation does at a hole**, the result of a pending call. Printing
//! one prints nothing. A statement that has to look into one is left out
//! ([`Pass::skip`]), and the evaluation goes on behind it, under three rules that
//! make sure that a call is registered only if a sequential render makes it, with
//! the same arguments:
//!
//! 1. *Only what is certain is evaluated.* All operands of an operator, a call, a
//!    filter, a list are, since none decides on the others; the right side of a
//!    short-circuit operator, a branch of a condition and the body of a loop are
//!    not, while what they hang on is a hole. What is left out inside a loop and
//!    might have left the loop (`break`, `continue`) ends the loop.
//! 2. *What was left out may have set something.* Every name that it can assign is
//!    a hole from there on: reading it is looking into a hole.
//! 3. *What cannot be followed ends the pass* ([`Pass::stop`]): functions that change
//!    a value in place or draw random numbers, and those whose purpose is to end
//!    the render (`fail`, `required`, `raise_exception`), with which an author
//!    guards what follows.
//!
//! A failure that is met behind a hole waits until the calls before it have ended:
//! a sequential render might have failed before. So text, error and calls do not
//! depend on which tool answers first. Only a limit and a failed call end the
//! render at once.
//!
//! A call that is not idempotent is known by where it stands, see [`Pass::call_at`].
//! The limit on passes bounds the longest *chain*: calls each of which was
//! registered because the result of the one before had come.

use std::sync::OnceLock;
use std::time::Duration;

use quillet_core::Map;
use smallvec::SmallVec;

use crate::CompiledTemplate;
use crate::buffer;
use crate::call::FunctionHost;
use crate::error::{ErrorKind, RenderError};
use crate::host::Instant;
use crate::jobs::{Jobs, out_of_time};
use crate::limits::RenderLimits;
use crate::pass::{Clock, Pass, PassCall, PassCalls, StopReason};
use crate::segment::{Origins, TextSegment};
use crate::structure::{self, ChatMessage};

/// What to render.
#[expect(
    missing_debug_implementations,
    reason = "a bundle of borrowed trait objects"
)]
pub struct Render<'a> {
    /// The compiled template.
    pub template: &'a dyn CompiledTemplate,
    /// Names of the sources to render, in order.
    pub entries: &'a [&'a str],
    /// The root of the variables.
    pub variables: &'a Map,
    /// The functions that exist.
    pub functions: &'a dyn FunctionHost,
    /// The bounds.
    pub limits: &'a RenderLimits,
}

/// Most renders have one entry, which needs no list of its own.
type EntryTexts = SmallVec<[Vec<u8>; 1]>;

/// The texts, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenderedTemplate {
    /// One text for each entry, in order, with the marks of structure in it, in the buffer that it grew in.
    texts: EntryTexts,
    /// For each entry, if the render asked.
    origins: Vec<Origins>,
    /// Calls that were made.
    pub calls: usize,
    /// Evaluations of the entry that took most.
    pub passes: usize,
}

impl RenderedTemplate {
    /// The messages of one entry, if the template gives it a structure of
    /// messages; `None` if all of it is one text. `history` is the
    /// conversation so far, for templates that say where it stands.
    #[must_use]
    pub fn messages(&self, entry: usize, history: &[ChatMessage]) -> Option<Vec<ChatMessage>> {
        let bytes = self.texts.get(entry)?;
        // Most texts have no structure, and bytes tell it.
        if !structure::has_marks(bytes) {
            return None;
        }
        structure::messages(&String::from_utf8_lossy(bytes), history)
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
    /// they are [`RenderedTemplate::text`]. Empty unless [`render_segments`] made it.
    #[must_use]
    pub fn segments(&self, entry: usize) -> Vec<TextSegment> {
        match (self.origins.get(entry), self.texts.get(entry)) {
            (Some(origins), Some(text)) => origins.segments(text),
            _ => Vec::new(),
        }
    }

    /// The text of the first entry, for renders that have no other.
    #[must_use]
    pub fn into_text(self) -> String {
        let bytes = self.texts.into_iter().next().unwrap_or_default();
        as_text(structure::strip(buffer::finish(bytes)))
    }

    /// Has `read` look at the bytes of the first entry's text where they stand: for programs that
    /// copy them anyway.
    pub fn read<T>(self, read: impl FnOnce(&[u8]) -> T) -> T {
        let bytes = self.texts.into_iter().next().unwrap_or_default();
        let bytes = structure::strip(bytes);
        let read = read(&bytes);
        buffer::leave(bytes);
        read
    }

    /// All texts, in order, as bytes: formats whose strings are bytes (Go's)
    /// may have cut a character.
    #[must_use]
    pub fn into_bytes(self) -> Vec<Vec<u8>> {
        let texts = self.texts.into_iter().map(buffer::finish);
        texts.map(structure::strip).collect()
    }

    /// All texts, in order.
    #[must_use]
    pub fn into_texts(self) -> Vec<String> {
        let texts = self.texts.into_iter().map(buffer::finish);
        texts.map(structure::strip).map(as_text).collect()
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
pub(crate) struct RenderEntry {
    out: Vec<u8>,
    pub(crate) calls: PassCalls,
    /// Calls that ended since its last evaluation.
    pub(crate) arrived: Vec<usize>,
    passes: usize,
    done: bool,
    /// Where its random values come from, once a template asks.
    seed: OnceLock<u64>,
    /// Where its parts come from, if anybody wants to know.
    origins: Option<Origins>,
}

impl RenderEntry {
    fn new(noted: bool) -> Self {
        RenderEntry {
            out: buffer::take(),
            origins: noted.then(Origins::default),
            ..RenderEntry::default()
        }
    }

    /// Whether a call has ended that its evaluation could not do without.
    pub(crate) fn is_wanted(&self) -> bool {
        let calls = &self.calls.all;
        let looked = |call: &PassCall| call.looked || matches!(call.result, Some(Err(_)));
        let looked = |call: &usize| calls.get(*call).is_some_and(looked);
        self.arrived.iter().any(looked)
    }

    /// Whether another evaluation would find out more.
    fn is_ready(&self) -> bool {
        let ended = |call: &PassCall| call.result.is_some();
        !self.done && (self.is_wanted() || self.calls.all.iter().all(ended))
    }

    /// What arrived becomes the cause of the calls that are registered next: of
    /// those that somebody waited for, the one with the shortest chain.
    fn take_arrived(&mut self) {
        let calls = &self.calls.all;
        let chain = |call: &usize| calls.get(*call).map(|call| (!call.looked, call.depth));
        self.calls.cause = self.arrived.drain(..).min_by_key(chain);
    }
}

/// Renders: evaluates, makes the calls, evaluates again.
///
/// A failed call cancels the others and is reported by one more evaluation,
/// which meets it again and so knows where in the template it stands.
///
/// A template without late-bound calls is done in one evaluation, at the first
/// poll. Dropping the future cancels the calls.
///
/// With the feature `timer`, calls need a tokio runtime with time enabled. Without
/// it they need no runtime, and the future may be polled at any time: a poll takes
/// up what calls have ended since the last one, and looks at the clock. A call that
/// hangs then runs into the limit on time at the first poll behind it.
///
/// # Errors
/// The first failure of any entry, of any call, or of a limit.
pub async fn render(render: &Render<'_>) -> Result<RenderedTemplate, Box<RenderError>> {
    run(render, false, false).await
}

/// The same, and notes where each part of the text comes from, for
/// [`RenderedTemplate::segments`]. The notes count to the limit on memory.
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
pub async fn render_segments(render: &Render<'_>) -> Result<RenderedTemplate, Box<RenderError>> {
    run(render, true, false).await
}

/// The same as [`render()`], or as [`render_segments`] where `noted`, for programs that drive the
/// render themselves: the future needs no runtime, whether this crate has its feature `timer` or not.
/// It may be polled at any time, with any waker. A poll takes up what calls have ended since the last
/// one, and looks at the clock: a call that hangs runs into the limit on time at the first poll behind
/// it.
///
/// # Errors
/// As [`render()`].
pub async fn render_polled(
    render: &Render<'_>,
    noted: bool,
) -> Result<RenderedTemplate, Box<RenderError>> {
    run(render, noted, true).await
}

async fn run(
    render: &Render<'_>,
    noted: bool,
    polled: bool,
) -> Result<RenderedTemplate, Box<RenderError>> {
    let clock = Clock::starting(render.limits.time);
    let entries = render.entries.iter().map(|_| RenderEntry::new(noted));
    let mut entries: SmallVec<[RenderEntry; 1]> = entries.collect();
    evaluate_ready(render, &clock, &mut entries)?;
    if entries.iter().any(|entry| !entry.done) {
        // Boxed: a future is moved as a whole, and most renders make no call.
        Box::pin(make_calls(render, &clock, &mut entries, polled)).await?;
    }
    let mut rendered = RenderedTemplate::default();
    // By reference: an entry is large, and moving it would cost a small render a twentieth.
    for entry in &mut entries {
        rendered.passes = rendered.passes.max(entry.passes);
        rendered.calls += entry.calls.all.len();
        rendered.texts.push(std::mem::take(&mut entry.out));
        rendered.origins.extend(entry.origins.take());
    }
    Ok(rendered)
}

/// Makes calls and evaluates again, until no entry has a pending call.
async fn make_calls(
    render: &Render<'_>,
    clock: &Clock,
    entries: &mut [RenderEntry],
    polled: bool,
) -> Result<(), Box<RenderError>> {
    let mut jobs = Jobs::new(render, clock.deadline, polled);
    let mut took = Duration::ZERO;
    while entries.iter().any(|entry| !entry.done) {
        if Instant::now() >= clock.deadline {
            return Err(out_of_time(render.limits).into());
        }
        jobs.start(entries)?;
        jobs.wait(entries, took).await?;
        let begun = jobs.now();
        evaluate_ready(render, clock, entries)?;
        took = jobs.now().saturating_duration_since(begun);
    }
    Ok(())
}

/// Evaluates each entry that another evaluation may bring forward.
fn evaluate_ready(
    render: &Render<'_>,
    clock: &Clock,
    entries: &mut [RenderEntry],
) -> Result<(), Box<RenderError>> {
    let mut written = 0;
    for (name, entry) in render.entries.iter().zip(entries) {
        if entry.is_ready() {
            entry.take_arrived();
            evaluate(render, clock, name, entry, written)?;
        }
        written += entry.out.len();
    }
    Ok(())
}

fn evaluate(
    render: &Render<'_>,
    clock: &Clock,
    name: &str,
    entry: &mut RenderEntry,
    written: usize,
) -> Result<(), Box<RenderError>> {
    // The limit is on all entries together.
    let limits = RenderLimits {
        output_bytes: render.limits.output_bytes.saturating_sub(written),
        ..*render.limits
    };
    entry.passes += 1;
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
    let ended = render.template.pass(name, &mut pass);
    let (pending, holes, stopped) = (pass.is_pending(), pass.has_holes(), pass.is_stopped());
    entry.calls.stopped = stopped;
    // A template that meets a failed call fails there. This one went another way.
    let failed = || entry.calls.all.iter().find_map(PassCall::failure);
    match ended {
        Err(StopReason::Failed(error)) if !holes || is_final(error.kind) => return Err(error),
        // Something before it may fail too, once its calls have ended, and what is
        // reported must not depend on which tool was fast.
        Err(StopReason::Failed(_) | StopReason::Suspended) => {}
        Ok(()) => entry.done = !pending,
    }
    if let Some(failed) = failed() {
        return Err(failed);
    }
    match entry.calls.unmet(render.functions) {
        Some(call) if entry.done => Err(not_the_same(&call.name)),
        _ => Ok(()),
    }
}

/// Whether a failure ends the render although calls before it are pending.
fn is_final(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::Limit(_) | ErrorKind::CallFailed)
}

fn not_the_same(name: &str) -> Box<RenderError> {
    let reason =
        format!("the template called {name} in one pass only: it is not the same in every pass");
    RenderError::new(ErrorKind::Execution, reason).into()
}

//! Rendering whose function calls the caller executes.
//!
//! The render loop awaits futures. Here each future is a slot that the caller fills, and the loop
//! is polled only by [`Rendering::step`], with a waker that does nothing. So no async runtime is
//! needed: the caller can run the functions in, say, the event loop of another language.

use std::collections::BTreeMap;
use std::fmt;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use quillet_core::lock::lock;
use quillet_core::{BoxFuture, Map, Value};
use quillet_template::host::Instant;
use quillet_template::{
    CallArguments, CallError, ErrorKind, FunctionHost, Render, RenderError, render_polled,
};

use super::error::TemplateError;
use super::rendered::{FailedCall, RenderedTemplate};
use super::template::{Template, TemplateFunction};

type RenderResult = Result<quillet_template::RenderedTemplate, Box<RenderError>>;

/// A rendering in progress that lists its pending calls.
///
/// ```
/// use quillet::{RenderStep, Template, Value};
///
/// let template = Template::new("jinja", "{{ upper(name) }} and {{ upper('bob') }}")?;
/// let mut rendering = template.begin([("name", "ada")], vec!["upper".into()]);
/// let rendered = loop {
///     match rendering.step()? {
///         RenderStep::Done(rendered) => break rendered,
///         // Both calls are pending at once, so a program can run them concurrently.
///         RenderStep::Waiting(calls) => {
///             for call in calls {
///                 let text = call.arguments.positional[0].as_str().unwrap_or_default();
///                 rendering.answer(call.id, Ok(text.to_uppercase().into()));
///             }
///         }
///     }
/// };
/// assert_eq!(rendered.text(), "ADA and BOB");
/// # Ok::<(), quillet::TemplateError>(())
/// ```
///
/// Dropping it cancels the rendering and its pending calls.
pub struct Rendering {
    /// `None` once the rendering has ended.
    future: Option<BoxFuture<'static, RenderResult>>,
    desk: Arc<CallBroker>,
    deadline: Option<Instant>,
}

/// State of a rendering after a step.
#[derive(Debug)]
pub enum RenderStep {
    /// The rendering has ended.
    Done(RenderedTemplate),
    /// The rendering waits for calls. Contains the new calls only; if empty, it waits for calls of
    /// earlier steps.
    Waiting(Vec<FunctionCall>),
}

/// A pending function call.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionCall {
    /// Id for [`Rendering::answer`]; unique within the rendering.
    pub id: usize,
    /// Name of the function.
    pub function: String,
    /// Arguments from the template.
    pub arguments: CallArguments,
}

impl Template {
    /// Starts a rendering whose calls the caller executes; see [`Rendering`].
    ///
    /// ```
    /// use quillet::{Map, RenderStep, Template};
    ///
    /// let template = Template::new("jinja", "{{ f(1) }}{{ f(2) }}")?;
    /// let mut rendering = template.begin(Map::default(), vec!["f".into()]);
    /// let RenderStep::Waiting(calls) = rendering.step()? else {
    ///     unreachable!("no call has a result yet");
    /// };
    /// assert_eq!(calls.len(), 2);
    /// assert_eq!(calls[0].function, "f");
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    pub fn begin(&self, variables: impl Into<Map>, functions: Vec<TemplateFunction>) -> Rendering {
        Rendering::new(self, variables.into(), functions, false)
    }

    /// Like [`Template::begin`], but records the segments for [`RenderedTemplate::segments`].
    pub fn begin_segments(
        &self,
        variables: impl Into<Map>,
        functions: Vec<TemplateFunction>,
    ) -> Rendering {
        Rendering::new(self, variables.into(), functions, true)
    }
}

impl Rendering {
    fn new(
        template: &Template,
        variables: Map,
        functions: Vec<TemplateFunction>,
        noted: bool,
    ) -> Self {
        let desk = Arc::new(CallBroker {
            functions,
            interrupt: template.interrupt,
            calls: Mutex::default(),
        });
        let limits = template.limits;
        Rendering {
            deadline: Instant::now().checked_add(limits.time),
            future: Some(Box::pin({
                let (template, desk) = (template.clone(), Arc::clone(&desk));
                async move {
                    let work = Render {
                        template: template.compiled.as_ref(),
                        entries: &[&template.name],
                        variables: &variables,
                        functions: desk.as_ref(),
                        limits: &limits,
                    };
                    render_polled(&work, noted).await
                }
            })),
            desk,
        }
    }

    /// Continues until the rendering ends or needs the result of a call.
    ///
    /// # Errors
    /// As for [`Template::render`]. Stepping an ended rendering is an error.
    pub fn step(&mut self) -> Result<RenderStep, TemplateError> {
        let Some(future) = &mut self.future else {
            let error = RenderError::new(ErrorKind::Execution, "the render has ended");
            return Err(Box::new(error).into());
        };
        let mut context = Context::from_waker(Waker::noop());
        let Poll::Ready(outcome) = future.as_mut().poll(&mut context) else {
            return Ok(RenderStep::Waiting(std::mem::take(
                &mut self.desk.calls().new,
            )));
        };
        self.future = None;
        let failed = std::mem::take(&mut self.desk.calls().failed);
        Ok(RenderStep::Done(RenderedTemplate {
            inner: outcome?,
            failed,
        }))
    }

    /// Sets the result of a call. An error is recorded for [`RenderedTemplate::failed_calls`] and
    /// replaced by the fallback value of the function, so rendering continues. A result for an
    /// unknown call is ignored.
    pub fn answer(&mut self, call: usize, answer: Result<Value, String>) {
        self.desk.answer(call, answer);
    }

    /// Fails all pending calls with the same error, for example a timeout.
    ///
    /// ```
    /// use quillet::{Map, RenderStep, Template, TemplateFunction};
    ///
    /// let weather = TemplateFunction {
    ///     default: "unknown".into(),
    ///     ..TemplateFunction::from("weather")
    /// };
    /// let template = Template::new("jinja", "Weather: {{ weather() }}")?;
    /// let mut rendering = template.begin(Map::default(), vec![weather]);
    /// rendering.step()?;
    /// rendering.fail_calls("no network");
    /// let RenderStep::Done(rendered) = rendering.step()? else {
    ///     unreachable!("all calls have a result");
    /// };
    /// assert_eq!(rendered.text(), "Weather: unknown");
    /// # Ok::<(), quillet::TemplateError>(())
    /// ```
    pub fn fail_calls(&mut self, message: &str) {
        let open: Vec<usize> = self.desk.calls().open.keys().copied().collect();
        for call in open {
            self.desk.answer(call, Err(message.to_owned()));
        }
    }

    /// Returns the remaining time of [`RenderLimits::time`](quillet_template::Limits::time) for all
    /// calls; zero after the deadline.
    #[must_use]
    pub fn time_left(&self) -> Duration {
        self.deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(Instant::now())
        })
    }
}

impl fmt::Debug for Rendering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rendering")
            .field("ended", &self.future.is_none())
            .finish_non_exhaustive()
    }
}

/// Calls and results, shared between the rendering and the caller.
#[derive(Debug)]
struct CallBroker {
    functions: Vec<TemplateFunction>,
    interrupt: Option<fn() -> bool>,
    calls: Mutex<CallQueue>,
}

#[derive(Debug, Default)]
struct CallQueue {
    /// Number of calls so far; the next call's id.
    count: usize,
    /// Calls not yet returned by a step.
    new: Vec<FunctionCall>,
    /// Calls whose result was not consumed yet.
    open: BTreeMap<usize, CallSlot>,
    failed: Vec<FailedCall>,
}

#[derive(Debug, Default)]
struct CallSlot {
    /// Index of the function.
    function: usize,
    answer: Option<Value>,
    /// Waker of the future that awaits the result.
    waker: Option<Waker>,
}

impl CallBroker {
    fn calls(&self) -> MutexGuard<'_, CallQueue> {
        lock(&self.calls)
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.functions
            .iter()
            .position(|function| function.name == name)
    }

    fn function(&self, name: &str) -> Option<&TemplateFunction> {
        self.functions.get(self.index(name)?)
    }

    /// Adds a call and returns its id.
    fn open(&self, function: usize, name: &str, arguments: CallArguments) -> usize {
        let mut calls = self.calls();
        let id = calls.count;
        calls.count += 1;
        calls.new.push(FunctionCall {
            id,
            function: name.to_owned(),
            arguments,
        });
        let slot = CallSlot {
            function,
            ..CallSlot::default()
        };
        calls.open.insert(id, slot);
        id
    }

    fn answer(&self, id: usize, answer: Result<Value, String>) {
        let mut calls = self.calls();
        let Some(slot) = calls.open.get_mut(&id).filter(|slot| slot.answer.is_none()) else {
            return;
        };
        let function = self.functions.get(slot.function);
        let waker = slot.waker.take();
        match answer {
            Ok(value) => slot.answer = Some(value),
            Err(message) => {
                let default = function.map(|function| function.default.clone());
                slot.answer = Some(default.unwrap_or_default().into_fallback());
                let function = function.map(|function| function.name.clone());
                calls.failed.push(FailedCall {
                    function: function.unwrap_or_default(),
                    message,
                });
            }
        }
        drop(calls);
        if let Some(waker) = waker {
            waker.wake();
        }
    }

    fn poll(&self, id: usize, context: &Context<'_>) -> Poll<Value> {
        let mut calls = self.calls();
        let Some(slot) = calls.open.get_mut(&id) else {
            return Poll::Pending;
        };
        if let Some(value) = slot.answer.take() {
            calls.open.remove(&id);
            return Poll::Ready(value);
        }
        slot.waker = Some(context.waker().clone());
        Poll::Pending
    }
}

impl FunctionHost for CallBroker {
    fn contains(&self, name: &str) -> bool {
        self.index(name).is_some()
    }

    fn names(&self) -> Vec<&str> {
        let names = self.functions.iter();
        names.map(|function| function.name.as_str()).collect()
    }

    fn idempotent(&self, name: &str) -> bool {
        self.function(name)
            .is_some_and(|function| function.idempotent)
    }

    fn parameters(&self, name: &str) -> Option<Vec<String>> {
        self.function(name)?.parameters.clone()
    }

    fn interrupted(&self) -> bool {
        self.interrupt.is_some_and(|interrupted| interrupted())
    }

    fn call<'a>(
        &'a self,
        name: &'a str,
        arguments: CallArguments,
    ) -> BoxFuture<'a, Result<Value, CallError>> {
        let Some(function) = self.index(name) else {
            let error = CallError::new(format!("function {name} is not defined"));
            return Box::pin(async move { Err(error) });
        };
        let id = self.open(function, name, arguments);
        Box::pin(poll_fn(move |context| self.poll(id, context).map(Ok)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls(rendering: &mut Rendering) -> Vec<FunctionCall> {
        match rendering.step().unwrap() {
            RenderStep::Waiting(calls) => calls,
            RenderStep::Done(rendered) => panic!("it is done: {}", rendered.text()),
        }
    }

    fn text(rendering: &mut Rendering) -> String {
        match rendering.step().unwrap() {
            RenderStep::Done(rendered) => rendered.into_text(),
            RenderStep::Waiting(calls) => panic!("it waits: {calls:?}"),
        }
    }

    fn of(text: &str, functions: &[&str]) -> Rendering {
        let template = Template::new("jinja", text).unwrap();
        let functions = functions
            .iter()
            .map(|name| TemplateFunction::from(*name))
            .collect();
        template.begin(Map::default(), functions)
    }

    #[test]
    fn answers_may_come_in_any_order_and_the_rest_is_waited_for() {
        let mut rendering = of("{{ f(1) }}{{ f(2) }}{{ f(3) }}", &["f"]);
        let first = calls(&mut rendering);
        assert_eq!(first.len(), 3);
        for call in [2, 0] {
            rendering.answer(first[call].id, Ok(Value::Int(call as i64)));
            assert_eq!(calls(&mut rendering), []);
        }
        rendering.answer(first[1].id, Ok("x".into()));
        assert_eq!(text(&mut rendering), "0x2");
        assert!(rendering.step().is_err(), "it has ended");
    }

    #[test]
    fn a_call_that_needs_another_comes_when_that_one_has_ended_and_others_still_run() {
        let mut rendering = of("{{ slow() }}{{ b(a()) }}", &["slow", "a", "b"]);
        let first = calls(&mut rendering);
        let names = |calls: &[FunctionCall]| {
            let names = calls.iter().map(|call| call.function.clone());
            names.collect::<Vec<_>>()
        };
        assert_eq!(names(&first), ["slow", "a"]);
        rendering.answer(first[1].id, Ok(Value::Int(7)));
        let second = calls(&mut rendering);
        assert_eq!(names(&second), ["b"]);
        assert_eq!(second[0].arguments.positional, [Value::Int(7)]);
        rendering.answer(second[0].id, Ok("B".into()));
        assert_eq!(calls(&mut rendering), []);
        rendering.answer(first[0].id, Ok("S".into()));
        assert_eq!(text(&mut rendering), "SB");
    }

    #[test]
    fn a_failed_call_leaves_its_default_and_is_reported() {
        let template = Template::new("jinja", "[{{ f().city }}|{{ g() }}]").unwrap();
        let g = TemplateFunction {
            default: "n/a".into(),
            ..TemplateFunction::from("g")
        };
        let mut rendering = template.begin(Map::default(), vec!["f".into(), g]);
        assert_eq!(calls(&mut rendering).len(), 2);
        rendering.fail_calls("no network");
        let RenderStep::Done(rendered) = rendering.step().unwrap() else {
            panic!("all calls have an answer");
        };
        assert_eq!(rendered.text(), "[|n/a]");
        let failed = rendered.failed_calls().iter();
        let failed: Vec<_> = failed
            .map(|call| (&*call.function, &*call.message))
            .collect();
        assert_eq!(failed, [("f", "no network"), ("g", "no network")]);
    }

    #[test]
    fn answers_that_nobody_waits_for_are_dropped() {
        let mut rendering = of("{{ f() }}", &["f"]);
        let call = calls(&mut rendering).swap_remove(0);
        rendering.answer(call.id + 1, Ok("other".into()));
        rendering.answer(call.id, Ok("one".into()));
        rendering.answer(call.id, Ok("two".into()));
        assert_eq!(text(&mut rendering), "one");
        rendering.answer(call.id, Err("late".into()));
    }

    #[test]
    fn what_is_unknown_is_said_with_its_place() {
        let mut rendering = of("a\n{{ weather('Oslo') }}", &["wether"]);
        let error = rendering.step().unwrap_err();
        assert_eq!(error.code(), "render.unknown_function");
        let place = error.position().map(|place| (place.line, place.column));
        assert_eq!(place, Some((2, 4)));
        assert_eq!(error.hint(), Some("did you mean wether?"));
    }

    #[test]
    fn the_limit_on_time_ends_what_nobody_answers() {
        let limits = quillet_template::RenderLimits {
            time: Duration::ZERO,
            ..quillet_template::RenderLimits::default()
        };
        let template = Template::new("jinja", "{{ f() }}")
            .unwrap()
            .with_limits(limits);
        let mut rendering = template.begin(Map::default(), vec!["f".into()]);
        assert_eq!(rendering.time_left(), Duration::ZERO);
        assert_eq!(rendering.step().unwrap_err().code(), "render.timeout");
    }
}

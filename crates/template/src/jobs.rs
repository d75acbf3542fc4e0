//! Scheduler of the calls of a render.
//!
//! The scheduler starts registered calls, with a limit of `concurrency` calls at a time. Equal
//! calls of an idempotent function run once, even if several entries make them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use quillet_core::{BoxFuture, Value};

use crate::call::{CallArguments, CallError};
use crate::error::{ErrorKind, RenderError};
use crate::host::Instant;
use crate::limits::{LimitKind, RenderLimits};
use crate::polled;
use crate::render_entry::{Render, RenderEntry};
use crate::timer;

type CallOutcome = Result<Value, CallError>;

/// Number of names that an error shows at each end of a call chain.
const SHOWN: usize = 4;

struct CallJob {
    name: Arc<str>,
    arguments: CallArguments,
    idempotent: bool,
    /// Calls that wait for the result, as pairs of an entry and the index of a call in it.
    calls: Vec<(usize, usize)>,
    answer: Option<CallOutcome>,
}

pub(crate) struct Jobs<'a> {
    render: &'a Render<'a>,
    deadline: Instant,
    /// Whether the caller polls the render, so that no timer is needed to wake it.
    polled: bool,
    jobs: Vec<CallJob>,
    /// Index of the first job that was not started yet.
    next: usize,
    running: FuturesUnordered<BoxFuture<'a, (usize, CallOutcome)>>,
    evaluated: Instant,
}

impl<'a> Jobs<'a> {
    pub(crate) fn new(render: &'a Render<'a>, deadline: Instant, polled: bool) -> Self {
        Jobs {
            render,
            deadline,
            polled,
            jobs: Vec::new(),
            next: 0,
            running: FuturesUnordered::new(),
            evaluated: now(polled),
        }
    }

    /// Returns the current time on the clock of this render.
    pub(crate) fn now(&self) -> Instant {
        now(self.polled)
    }

    /// See [`timer::rest`].
    fn rest(&self, took: Duration) -> Duration {
        if self.polled {
            polled::rest(took)
        } else {
            timer::rest(took)
        }
    }

    /// Returns the next completed call, or `None` at the deadline.
    async fn next_until(&mut self, deadline: Instant) -> Option<Option<(usize, CallOutcome)>> {
        if self.polled {
            polled::until(deadline, self.running.next()).await
        } else {
            timer::until(deadline, self.running.next()).await
        }
    }

    /// Starts all calls that were registered since the previous start.
    ///
    /// # Errors
    /// Returns an error if the limit on calls or on the length of a chain is exceeded.
    pub(crate) fn start(&mut self, entries: &mut [RenderEntry]) -> Result<(), Box<RenderError>> {
        let limits = self.render.limits;
        // Calls are counted over all entries, because each pass checks the limit only for its own
        // entry.
        let total: usize = entries.iter().map(|entry| entry.calls.all.len()).sum();
        if total > limits.calls {
            return Err(RenderError::limit(LimitKind::Calls, limits.calls).into());
        }
        for (e, entry) in entries.iter_mut().enumerate() {
            for c in 0..entry.calls.all.len() {
                let Some(call) = entry.calls.all.get_mut(c).filter(|call| call.job.is_none())
                else {
                    continue;
                };
                // The depth is checked when a call starts instead of when it is registered, so that
                // a call that never starts cannot fail the render.
                if call.depth >= limits.passes {
                    return Err(too_long(limits, &entry.calls.chain(c)));
                }
                let idempotent = self.render.functions.idempotent(&call.name);
                // The search is linear, but the number of calls is limited (256 by default).
                let same = |job: &CallJob| {
                    job.idempotent && job.name == call.name && job.arguments == call.arguments
                };
                let known = if idempotent {
                    self.jobs.iter().position(same)
                } else {
                    None
                };
                // A known job may already have completed. If the job has completed, the call gets
                // its result below.
                let index = known.unwrap_or(self.jobs.len());
                call.job = Some(index);
                match self.jobs.get_mut(index) {
                    None => self.jobs.push(CallJob {
                        name: Arc::clone(&call.name),
                        arguments: call.arguments.clone(),
                        idempotent,
                        calls: vec![(e, c)],
                        answer: None,
                    }),
                    Some(job) => {
                        job.calls.push((e, c));
                        // An equal call may have completed before this call was registered.
                        call.result.clone_from(&job.answer);
                        if call.result.is_some() {
                            entry.arrived.push(c);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Waits until another evaluation is worthwhile: a needed call has completed, or all calls
    /// have. `took` is the duration of the last evaluation.
    ///
    /// # Errors
    /// Returns an error if the time limit is exceeded.
    pub(crate) async fn wait(
        &mut self,
        entries: &mut [RenderEntry],
        took: Duration,
    ) -> Result<(), Box<RenderError>> {
        // The delay is proportional to the last evaluation. Without this delay, a large template
        // would be evaluated again for each result that arrives.
        let not_before = self.evaluated + self.rest(took);
        let mut wanted = entries.iter().any(RenderEntry::is_wanted);
        // Without this check, a format that suspends without a pending call would loop forever.
        if self.next == self.jobs.len() && self.running.is_empty() && !wanted {
            let reason = "the template is suspended without a pending call";
            return Err(RenderError::new(ErrorKind::Execution, reason).into());
        }
        loop {
            // New calls start after every completed one, so that `concurrency` calls keep running.
            self.fill();
            if self.running.is_empty() {
                break;
            }
            let now = self.now();
            let ended = if wanted && now >= not_before {
                // The delay is over and a result is needed, so only calls that have already
                // completed are collected.
                match self.running.next().now_or_never() {
                    Some(ended) => ended,
                    None => break,
                }
            } else {
                let until = if wanted {
                    not_before.min(self.deadline)
                } else {
                    self.deadline
                };
                match self.next_until(until).await {
                    Some(ended) => ended,
                    // The delay ended before another call completed, so the entries are evaluated.
                    None if until < self.deadline => break,
                    None => return Err(out_of_time(self.render.limits).into()),
                }
            };
            let Some((index, answer)) = ended else {
                break;
            };
            let failed = answer.is_err();
            wanted |= self.answered(index, answer, entries);
            if failed {
                // The failure ends the render and the other calls. In the prompt service, a failed
                // tool has a fallback value instead of an error, so this does not happen there.
                self.running.clear();
                self.next = self.jobs.len();
                // Calls that were not started are also abandoned.
                break;
            }
        }
        self.evaluated = self.now();
        Ok(())
    }

    fn fill(&mut self) {
        let functions = self.render.functions;
        // A concurrency of 0 would never start a call, so it counts as 1.
        while self.running.len() < self.render.limits.concurrency.max(1) {
            let Some(job) = self.jobs.get(self.next) else {
                return;
            };
            let (index, name, arguments) = (self.next, Arc::clone(&job.name), &job.arguments);
            let arguments = arguments.clone();
            self.next += 1;
            self.running.push(Box::pin(async move {
                let answer = functions.call(&name, arguments).await;
                (index, answer)
            }));
        }
    }

    /// Passes a result to its calls. Returns whether an evaluation waits for the result.
    fn answered(&mut self, index: usize, answer: CallOutcome, entries: &mut [RenderEntry]) -> bool {
        let Some(job) = self.jobs.get_mut(index) else {
            return false;
        };
        // A failure ends the render, so it always counts as needed.
        let mut wanted = answer.is_err();
        for (e, c) in &job.calls {
            let Some(entry) = entries.get_mut(*e) else {
                continue;
            };
            if let Some(call) = entry.calls.all.get_mut(*c) {
                call.result = Some(answer.clone());
                wanted |= call.looked;
                entry.arrived.push(*c);
            }
        }
        job.answer = Some(answer);
        wanted
    }
}

fn now(polled: bool) -> Instant {
    if polled { polled::now() } else { timer::now() }
}

pub(crate) fn out_of_time(limits: &RenderLimits) -> RenderError {
    RenderError::limit(LimitKind::Time, format_args!("{:?}", limits.time))
}

fn too_long(limits: &RenderLimits, chain: &[Arc<str>]) -> Box<RenderError> {
    // A user can raise the limit on passes, so a chain can be long. Only the ends of the chain are
    // shown.
    let hidden = SHOWN..chain.len().saturating_sub(SHOWN).max(SHOWN);
    let shown = chain.iter().enumerate().filter_map(|(at, name)| {
        let name: &str = name;
        if !hidden.contains(&at) {
            Some(name)
        } else {
            (at == hidden.start).then_some("…")
        }
    });
    let shown: Vec<&str> = shown.collect();
    let mut error = RenderError::limit(LimitKind::Passes, limits.passes);
    error.reason = format!(
        "{}: a chain of {} calls, each of which needs the previous result: {}",
        error.reason,
        chain.len(),
        shown.join(" → ")
    );
    error.message.clone_from(&error.reason);
    error.into()
}

//! Counters of agents for `/metrics`. They are plain atomics, because every event of a run may
//! change them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quillet_agent::{AgentOutcome, EndReason};

use crate::counters::{self, ByCode, Histogram};

/// Counters of runs.
#[derive(Debug, Default)]
pub struct AgentCounts {
    /// Runs in progress.
    pub(super) active: AtomicU64,
    /// Finished runs by outcome.
    pub(super) ended: ByCode,
    /// Rejected runs by reason.
    pub(super) refused: ByCode,
    /// Calls of tools, by outcome.
    pub(super) tool_calls: ByCode,
    /// Tokens by kind.
    pub(super) input_tokens: AtomicU64,
    pub(super) output_tokens: AtomicU64,
    pub(super) cached_tokens: AtomicU64,
    /// From the request to the first text or reasoning.
    pub(super) first_token: Histogram,
}

impl AgentCounts {
    pub(super) fn first_token(&self, time: Duration) {
        self.first_token.record(time);
    }

    pub(super) fn tool(&self, failed: bool) {
        self.tool_calls.count(if failed { "failed" } else { "ok" });
    }

    pub(super) fn ended(&self, outcome: &AgentOutcome) {
        self.ended.count(ending(&outcome.ending));
        if let Some(usage) = outcome.usage {
            for (sum, tokens) in [
                (&self.input_tokens, usage.input_tokens),
                (&self.output_tokens, usage.output_tokens),
                (&self.cached_tokens, usage.cache_read_tokens),
            ] {
                sum.fetch_add(tokens, Ordering::Relaxed);
            }
        }
    }

    /// Writes the counters in Prometheus text format.
    pub fn write(&self, out: &mut String) {
        let codes = [
            (
                "quillet_agent_runs_total",
                "Finished runs by outcome.",
                &self.ended,
            ),
            (
                "quillet_agent_refused_total",
                "Rejected runs by reason.",
                &self.refused,
            ),
            (
                "quillet_agent_tool_calls_total",
                "Tool calls by outcome.",
                &self.tool_calls,
            ),
        ];
        for (name, help, counts) in codes {
            counts.write(out, name, help);
        }
        let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
        counters::head(
            out,
            "quillet_agent_active_runs",
            "gauge",
            "Runs in progress.",
        );
        counters::line(out, "quillet_agent_active_runs", "", load(&self.active));
        let name = "quillet_agent_tokens_total";
        counters::head(
            out,
            name,
            "counter",
            "Tokens reported by providers; cached tokens are part of the input.",
        );
        for (kind, tokens) in [
            ("input", &self.input_tokens),
            ("output", &self.output_tokens),
            ("cached", &self.cached_tokens),
        ] {
            counters::line(out, name, &format!("kind=\"{kind}\""), load(tokens));
        }
        let name = "quillet_agent_first_token_seconds";
        counters::head(
            out,
            name,
            "histogram",
            "Time from a request to the first text or reasoning.",
        );
        self.first_token.write(out, name, "");
    }
}

/// Outcome of a run as a stable word: the name of a stop reason, or an error code.
fn ending(ending: &EndReason) -> &'static str {
    match ending {
        EndReason::Finished(reason) => reason.as_str(),
        EndReason::Repeated { .. } => "repeated_calls",
        EndReason::CallsRequired => "calls_required",
        EndReason::ApprovalRequired => "approval_required",
        EndReason::Silent { .. } => "silent_exit",
        EndReason::Cancelled => "cancelled",
        EndReason::Failed(error) => error.code().as_str(),
    }
}

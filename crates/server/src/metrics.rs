//! Counters and histograms in Prometheus' text format.
//!
//! They are atomics in fixed arrays, so that counting is cheap and traffic does not increase
//! memory. Label values are routes, statuses and stable codes, never client input.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quillet_core::batch::Status;
use quillet_core::store::Health;
use quillet_host::counters::{ByCode, Histogram, head, line};
use quillet_llm::{RateLimits, Spending};
use quillet_prompt::{ServiceCounters, Usage};

/// Statuses with separate counters. The last entry counts all others.
const STATUSES: [u16; 16] = [
    200, 204, 304, 400, 401, 403, 404, 405, 408, 413, 422, 429, 500, 502, 503, 0,
];

/// The counts of a route.
#[derive(Debug)]
pub(crate) struct RouteMetrics {
    /// Method and path.
    name: String,
    labels: String,
    statuses: [AtomicU64; STATUSES.len()],
    latency: Histogram,
}

impl RouteMetrics {
    fn new(method: &str, path: &str) -> Self {
        RouteMetrics {
            name: format!("{method} {path}"),
            labels: format!("method=\"{method}\",route=\"{path}\""),
            statuses: Default::default(),
            latency: Histogram::default(),
        }
    }

    fn record(&self, status: u16, time: Duration) {
        let place = STATUSES.iter().position(|known| *known == status);
        if let Some(count) = self.statuses.get(place.unwrap_or(STATUSES.len() - 1)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        self.latency.record(time);
    }
}

/// All metrics of the server.
#[derive(Debug)]
pub(crate) struct Metrics {
    started: Instant,
    routes: Vec<RouteMetrics>,
    /// Requests without a matching route.
    unrouted: RouteMetrics,
    /// Render times, including tool calls. Renders for a chat also count.
    pub(crate) render: Histogram,
    /// The time from the request to the model's first event.
    pub(crate) model: Histogram,
    /// The query times of databases.
    pub(crate) queries: Histogram,
    pub(crate) tool_calls: AtomicU64,
    pub(crate) tool_failures: ByCode,
    pub(crate) errors: ByCode,
    pub(crate) stale: AtomicU64,
    pub(crate) connections: AtomicU64,
    pub(crate) streams: AtomicU64,
    pub(crate) batches: BatchCounts,
}

/// Batch counts of this process.
#[derive(Debug, Default)]
pub(crate) struct BatchCounts {
    /// Batches whose input is not validated yet.
    pub(crate) queued: AtomicU64,
    /// Batches in progress.
    pub(crate) running: AtomicU64,
    /// Batches finished by this process, indexed like [`ENDS`].
    ended: [AtomicU64; ENDS.len()],
}

/// The final states of batches.
const ENDS: [Status; 4] = [
    Status::Completed,
    Status::Failed,
    Status::Expired,
    Status::Cancelled,
];

impl BatchCounts {
    /// Counts a finished batch.
    pub(crate) fn end(&self, status: Status) {
        let place = ENDS.iter().position(|known| *known == status);
        if let Some(count) = place.and_then(|place| self.ended.get(place)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn write(&self, out: &mut String) {
        let name = "quillet_batches";
        head(
            out,
            name,
            "gauge",
            "Batches that have not ended, in the store of batches.",
        );
        for (state, count) in [("queued", &self.queued), ("running", &self.running)] {
            let label = format!("state=\"{state}\"");
            line(out, name, &label, count.load(Ordering::Relaxed));
        }
        let name = "quillet_batches_ended_total";
        head(out, name, "counter", "Batches that this process finished.");
        for (status, count) in ENDS.iter().zip(&self.ended) {
            let label = format!("status=\"{}\"", status.word());
            line(out, name, &label, count.load(Ordering::Relaxed));
        }
    }
}

/// Values that are read when metrics are requested.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Gauges {
    pub(crate) store_ready: bool,
    pub(crate) prompts: usize,
    pub(crate) tools: usize,
    pub(crate) extensions: usize,
    pub(crate) counts: ServiceCounters,
}

impl Metrics {
    /// Creates counters for these routes, given as method and path.
    pub(crate) fn new<'a>(routes: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        Metrics {
            started: Instant::now(),
            routes: routes
                .map(|(method, path)| RouteMetrics::new(method, path))
                .collect(),
            unrouted: RouteMetrics::new("", ""),
            render: Histogram::default(),
            model: Histogram::default(),
            queries: Histogram::default(),
            tool_calls: AtomicU64::new(0),
            tool_failures: ByCode::default(),
            errors: ByCode::default(),
            stale: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            streams: AtomicU64::new(0),
            batches: BatchCounts::default(),
        }
    }

    /// Returns the time since the start.
    pub(crate) fn uptime(&self) -> Duration {
        self.started.elapsed()
    }

    /// Returns the method and path of a route, or an empty string without a route.
    pub(crate) fn name_of(&self, route: usize) -> &str {
        self.routes.get(route).map_or("", |route| &route.name)
    }

    /// Returns the index of a route by method and path.
    pub(crate) fn route_index(&self, name: &str) -> usize {
        let place = self.routes.iter().position(|route| route.name == name);
        place.unwrap_or(usize::MAX)
    }

    /// Counts a response. `usize::MAX` means that no route matched.
    pub(crate) fn count_response(&self, route: usize, status: u16, time: Duration) {
        self.routes
            .get(route)
            .unwrap_or(&self.unrouted)
            .record(status, time);
    }

    /// Returns all metrics in Prometheus' text format.
    pub(crate) fn text(&self, gauges: Gauges) -> String {
        // A large initial capacity avoids most reallocations.
        let mut out = String::with_capacity(16 << 10);
        self.write_requests(&mut out);
        for (name, help, histogram) in [
            (
                "quillet_render_seconds",
                "Time of a render, tool calls included.",
                &self.render,
            ),
            (
                "quillet_model_first_event_seconds",
                "Time until the first event of the model.",
                &self.model,
            ),
            (
                "quillet_sql_query_seconds",
                "Time that databases took for queries.",
                &self.queries,
            ),
        ] {
            head(&mut out, name, "histogram", help);
            histogram.write(&mut out, name, "");
        }
        self.errors.write(
            &mut out,
            "quillet_errors_total",
            "Errors answered, by code.",
        );
        self.tool_failures.write(
            &mut out,
            "quillet_tool_failures_total",
            "Tool calls that failed, by code.",
        );
        self.write_outcomes(&mut out, gauges.counts);
        self.write_values(&mut out, gauges);
        self.batches.write(&mut out);
        out
    }

    fn write_requests(&self, out: &mut String) {
        let routes = || self.routes.iter().chain([&self.unrouted]);
        head(
            out,
            "quillet_http_requests_total",
            "counter",
            "Requests answered.",
        );
        for route in routes() {
            for (status, count) in STATUSES.iter().zip(&route.statuses) {
                let count = count.load(Ordering::Relaxed);
                let status = if *status == 0 {
                    "other".to_owned()
                } else {
                    status.to_string()
                };
                // Omit series without events. One series for each status of each route would be
                // thousands of lines.
                if count > 0 {
                    let labels = format!("{},status=\"{status}\"", route.labels);
                    line(out, "quillet_http_requests_total", &labels, count);
                }
            }
        }
        let name = "quillet_http_request_seconds";
        head(
            out,
            name,
            "histogram",
            "Time until the response headers; streams continue afterwards.",
        );
        for route in routes().filter(|route| !route.latency.is_empty()) {
            route.latency.write(out, name, &route.labels);
        }
    }

    /// Writes counters that have a label for the outcome.
    fn write_outcomes(&self, out: &mut String, counts: ServiceCounters) {
        let failed = self.tool_failures.sum();
        let fine = self
            .tool_calls
            .load(Ordering::Relaxed)
            .saturating_sub(failed);
        let families = [
            (
                "quillet_tool_calls_total",
                "Tool calls made by templates, by outcome.",
                [("outcome=\"ok\"", fine), ("outcome=\"failed\"", failed)],
            ),
            (
                "quillet_template_cache_total",
                "Lookups of compiled templates, by result.",
                [
                    ("result=\"hit\"", counts.template_hits),
                    ("result=\"miss\"", counts.template_misses),
                ],
            ),
        ];
        for (name, help, values) in families {
            head(out, name, "counter", help);
            for (label, value) in values {
                line(out, name, label, value);
            }
        }
    }

    fn write_values(&self, out: &mut String, gauges: Gauges) {
        let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
        let values = [
            (
                "quillet_variable_cache_hits_total",
                "counter",
                "Renders that found all their shared variables in the cache.",
                gauges.counts.variable_hits,
            ),
            (
                "quillet_variable_round_trips_total",
                "counter",
                "Requests to the store for values of shared variables.",
                gauges.counts.variable_round_trips,
            ),
            (
                "quillet_model_retries_total",
                "counter",
                "Retried requests to the model.",
                gauges.counts.model_retries,
            ),
            (
                "quillet_stale_renders_total",
                "counter",
                "Renders from cache while the store was unavailable.",
                load(&self.stale),
            ),
            (
                "quillet_connections",
                "gauge",
                "Open connections.",
                load(&self.connections),
            ),
            (
                "quillet_streams",
                "gauge",
                "Open streams.",
                load(&self.streams),
            ),
            (
                "quillet_store_ready",
                "gauge",
                "Whether the store answers.",
                u64::from(gauges.store_ready),
            ),
            (
                "quillet_prompts",
                "gauge",
                "Prompts known.",
                gauges.prompts as u64,
            ),
            (
                "quillet_tools",
                "gauge",
                "Tools known.",
                gauges.tools as u64,
            ),
            (
                "quillet_extensions",
                "gauge",
                "Extensions known.",
                gauges.extensions as u64,
            ),
            (
                "quillet_uptime_seconds",
                "gauge",
                "Time since the start.",
                self.started.elapsed().as_secs(),
            ),
            (
                "process_resident_memory_bytes",
                "gauge",
                "Memory in use.",
                resident_bytes().unwrap_or(0),
            ),
        ];
        for (name, kind, help, value) in values {
            head(out, name, kind, help);
            line(out, name, "", value);
        }
    }
}

/// Writes the metrics of model rate limits.
pub(crate) fn write_rates(out: &mut String, rates: &RateLimits) {
    let counts = rates.counts();
    let load = |value: &AtomicU64| value.load(Ordering::Relaxed);
    for (name, kind, help, value) in [
        (
            "quillet_model_rate_waits_total",
            "counter",
            "Model requests that waited for a rate limit.",
            load(&counts.waited),
        ),
        (
            "quillet_model_rate_refusals_total",
            "counter",
            "Model requests that were rejected because the wait was too long.",
            load(&counts.refused),
        ),
        (
            "quillet_model_rate_holds_total",
            "counter",
            "Times that a provider asked to wait and all replicas paused.",
            load(&counts.held),
        ),
        (
            "quillet_model_rates_shared",
            "gauge",
            "Whether the configured store of model rate limits is available, so that replicas share them.",
            u64::from(rates.buckets().health() == Health::Ready),
        ),
    ] {
        head(out, name, kind, help);
        line(out, name, "", value);
    }
    let name = "quillet_model_rate_wait_seconds_total";
    head(
        out,
        name,
        "counter",
        "Time that model requests waited for a rate limit.",
    );
    let seconds = load(&counts.waited_ms) as f64 / 1000.0;
    line(out, name, "", seconds);
}

/// Writes the usage of budgets in this process. The number of series is limited by the configured
/// keys.
pub(crate) fn write_spending(out: &mut String, spending: &Spending) {
    let counts = spending.counts();
    let key = |name: &str| format!("key=\"{}\"", label(name));
    let name = "quillet_budget_tokens_total";
    head(
        out,
        name,
        "counter",
        "Tokens of model calls under a budget, by key.",
    );
    for (by, count) in &counts {
        line(out, name, &key(by), count.spent.tokens);
    }
    let name = "quillet_budget_usd_total";
    head(
        out,
        name,
        "counter",
        "US dollars of model calls under a budget, by key.",
    );
    for (by, count) in &counts {
        line(out, name, &key(by), count.spent.usd());
    }
    let name = "quillet_budget_refusals_total";
    head(
        out,
        name,
        "counter",
        "Model calls that a budget rejected, by key.",
    );
    for (by, count) in &counts {
        line(out, name, &key(by), count.refused);
    }
    let name = "quillet_budgets_shared";
    let help = "Whether the configured store of budgets is available, so that replicas share them.";
    head(out, name, "gauge", help);
    line(out, name, "", u64::from(spending.health() == Health::Ready));
}

/// Writes usage by prompt and tool name. The usage counters limit the number of names.
pub(crate) fn write_usage(out: &mut String, usage: &Usage) {
    let prompts = usage.prompts();
    let name = "quillet_prompt_renders_total";
    head(out, name, "counter", "Renders of prompts, by outcome.");
    for (id, renders) in &prompts {
        let (succeeded, failed) = renders.outcomes();
        let label = format!("prompt=\"{}\"", label(id));
        line(out, name, &format!("{label},outcome=\"ok\""), succeeded);
        line(out, name, &format!("{label},outcome=\"failed\""), failed);
    }
    let name = "quillet_prompt_render_seconds";
    head(
        out,
        name,
        "summary",
        "Time of renders of prompts, tool calls included.",
    );
    for (id, renders) in &prompts {
        let (succeeded, failed) = renders.outcomes();
        let label = format!("prompt=\"{}\"", label(id));
        summary(out, name, &label, renders.time(), succeeded + failed);
    }
    let tools = usage.tools();
    let name = "quillet_tool_outcomes_total";
    head(
        out,
        name,
        "counter",
        "Tool calls made by templates, by outcome: ok, or the error code.",
    );
    for (tool, calls) in &tools {
        let label = format!("tool=\"{}\"", label(tool));
        line(
            out,
            name,
            &format!("{label},outcome=\"ok\""),
            calls.succeeded(),
        );
        for (code, count) in calls.failed() {
            line(out, name, &format!("{label},outcome=\"{code}\""), count);
        }
    }
    let name = "quillet_tool_call_seconds";
    head(
        out,
        name,
        "summary",
        "Time of tool calls made by templates.",
    );
    for (tool, calls) in &tools {
        let label = format!("tool=\"{}\"", label(tool));
        let failed: u64 = calls.failed().map(|(_, count)| count).sum();
        summary(out, name, &label, calls.time(), calls.succeeded() + failed);
    }
}

fn summary(out: &mut String, name: &str, labels: &str, time: Duration, count: u64) {
    let sum = time.as_micros() as f64 / 1e6;
    line(out, &format!("{name}_sum"), labels, sum);
    line(out, &format!("{name}_count"), labels, count);
}

/// Escapes a label value.
fn label(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Returns the resident memory of the process, where /proc is available.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: u64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_cumulative_buckets_and_only_known_statuses() {
        let metrics = Metrics::new([("GET", "/a")].into_iter());
        metrics.count_response(0, 200, Duration::from_micros(60));
        metrics.count_response(0, 418, Duration::from_secs(3600));
        metrics.count_response(usize::MAX, 404, Duration::ZERO);
        metrics.errors.count("not_found");
        let text = metrics.text(Gauges {
            store_ready: true,
            prompts: 1,
            tools: 0,
            extensions: 0,
            counts: ServiceCounters {
                model_retries: 2,
                ..ServiceCounters::default()
            },
        });
        for expected in [
            r#"quillet_http_requests_total{method="GET",route="/a",status="200"} 1"#,
            r#"quillet_http_requests_total{method="GET",route="/a",status="other"} 1"#,
            r#"quillet_http_requests_total{method="",route="",status="404"} 1"#,
            r#"quillet_http_request_seconds_bucket{method="GET",route="/a",le="0.00005"} 0"#,
            r#"quillet_http_request_seconds_bucket{method="GET",route="/a",le="0.0001"} 1"#,
            r#"quillet_http_request_seconds_bucket{method="GET",route="/a",le="+Inf"} 2"#,
            r#"quillet_http_request_seconds_sum{method="GET",route="/a"} 3600.00006"#,
            r#"quillet_errors_total{code="not_found"} 1"#,
            "quillet_store_ready 1",
            "quillet_model_retries_total 2",
        ] {
            assert!(
                text.lines().any(|line| line == expected),
                "{expected}\n{text}"
            );
        }
    }
}

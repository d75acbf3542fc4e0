//! Cheap counters and histograms, and their Prometheus text format.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use quillet_core::lock::lock;

/// Upper bounds of the histogram buckets, in microseconds.
const BOUNDS: [u64; 16] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 10_000_000, 60_000_000,
];

/// Histogram of durations.
///
/// ```
/// use quillet_host::counters::Histogram;
/// use std::time::Duration;
///
/// let times = Histogram::default();
/// times.record(Duration::from_millis(20));
/// let mut page = String::new();
/// times.write(&mut page, "quillet_run_seconds", "");
/// assert!(page.ends_with("quillet_run_seconds_sum 0.02\nquillet_run_seconds_count 1\n"));
/// ```
#[derive(Debug, Default)]
pub struct Histogram {
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Histogram {
    /// Adds a duration to the histogram.
    pub fn record(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        // Bounds are inclusive, as `le` of Prometheus requires.
        let bucket = BOUNDS.partition_point(|bound| *bound < micros);
        if let Some(bucket) = self.buckets.get(bucket) {
            bucket.fetch_add(1, Ordering::Relaxed);
        }
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Writes the histogram in Prometheus text format, adding `labels` to each bucket.
    pub fn write(&self, out: &mut String, name: &str, labels: &str) {
        let mut sum = 0;
        let comma = if labels.is_empty() { "" } else { "," };
        for (index, bucket) in self.buckets.iter().enumerate() {
            // Buckets of Prometheus are cumulative; adding up here keeps `record` to one increment.
            sum += bucket.load(Ordering::Relaxed);
            let bound = match BOUNDS.get(index) {
                Some(micros) => seconds(*micros),
                None => "+Inf".to_owned(),
            };
            line(
                out,
                &format!("{name}_bucket"),
                &format!("{labels}{comma}le=\"{bound}\""),
                sum,
            );
        }
        let micros = self.micros.load(Ordering::Relaxed);
        line(out, &format!("{name}_sum"), labels, seconds(micros));
        // The count is the sum of the buckets, so the two agree while other threads record.
        line(out, &format!("{name}_count"), labels, sum);
    }

    /// Whether the histogram is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.buckets
            .iter()
            .all(|bucket| bucket.load(Ordering::Relaxed) == 0)
    }
}

/// Counters by stable code. They count failures, so their lock is not on the hot path.
///
/// ```
/// use quillet_host::counters::ByCode;
///
/// let errors = ByCode::default();
/// errors.count("timeout");
/// errors.count("timeout");
/// let mut page = String::new();
/// errors.write(&mut page, "quillet_errors", "Failed runs.");
/// assert!(page.ends_with("quillet_errors{code=\"timeout\"} 2\n"));
/// ```
#[derive(Debug, Default)]
pub struct ByCode(Mutex<BTreeMap<&'static str, u64>>);

impl ByCode {
    /// Increments the counter of a code.
    pub fn count(&self, code: impl Into<&'static str>) {
        let mut counts = lock(&self.0);
        *counts.entry(code.into()).or_default() += 1;
    }

    /// Returns the sum of the counters.
    #[must_use]
    pub fn sum(&self) -> u64 {
        let counts = lock(&self.0);
        counts.values().sum()
    }

    /// Writes the counters in Prometheus text format.
    pub fn write(&self, out: &mut String, name: &str, help: &str) {
        head(out, name, "counter", help);
        for (code, count) in &*lock(&self.0) {
            line(out, name, &format!("code=\"{code}\""), count);
        }
    }
}

/// Writes the `HELP` and `TYPE` lines of a metric family.
pub fn head(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(out, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

/// Writes one value of a family.
pub fn line(out: &mut String, name: &str, labels: &str, value: impl std::fmt::Display) {
    let _ = match labels {
        "" => writeln!(out, "{name} {value}"),
        labels => writeln!(out, "{name}{{{labels}}} {value}"),
    };
}

fn seconds(micros: u64) -> String {
    (micros as f64 / 1e6).to_string()
}

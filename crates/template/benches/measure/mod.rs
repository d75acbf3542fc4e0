//! Measurement of CPU time.

use std::fs;
use std::time::{Duration, Instant};

/// Number of rounds per figure. The fastest round counts, because other load can only slow a round
/// down.
const ROUNDS: usize = 40;
const ROUND: Duration = Duration::from_millis(10);

/// Returns the CPU nanoseconds per run of each function in its fastest round. The functions
/// alternate, so a disturbance affects all of them.
pub(crate) fn nanoseconds<const N: usize>(pieces: [&dyn Fn(); N]) -> [u64; N] {
    let mut best = [u64::MAX; N];
    for _ in 0..ROUNDS {
        for (piece, best) in pieces.iter().zip(&mut best) {
            *best = round(piece).min(*best);
        }
    }
    best
}

fn round(work: &dyn Fn()) -> u64 {
    let (begin, start, mut count) = (cpu(), Instant::now(), 0);
    while start.elapsed() < ROUND {
        for _ in 0..10 {
            work();
        }
        count += 10;
    }
    (cpu() - begin) / count
}

/// Returns the CPU nanoseconds that this thread has used on Linux, or the wall time on other
/// systems.
pub(crate) fn cpu() -> u64 {
    let used = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = used.and_then(|text| text.split(' ').next()?.parse().ok());
    used.unwrap_or_else(|| {
        static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        START.elapsed().as_nanos() as u64
    })
}

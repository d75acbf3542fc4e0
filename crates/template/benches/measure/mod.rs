//! CPU time of pieces of work.

use std::fs;
use std::time::{Duration, Instant};

/// How long each figure is measured; the best of all rounds counts, since
/// everything that disturbs makes it worse.
const ROUNDS: usize = 40;
const ROUND: Duration = Duration::from_millis(10);

/// CPU nanoseconds of each piece of work, in its best round. The pieces take
/// turns, so that what disturbs one disturbs all.
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

/// CPU nanoseconds that this thread has used, where Linux tells; else the wall's.
pub(crate) fn cpu() -> u64 {
    let used = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = used.and_then(|text| text.split(' ').next()?.parse().ok());
    used.unwrap_or_else(|| {
        static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        START.elapsed().as_nanos() as u64
    })
}

//! CPU time of the `go` format on four typical prompts, and the time of ten
//! tool calls in one template.
//!
//! `benches/run` runs this beside real Go and prints the ratios. Each line is
//! `what TAB prompt TAB nanoseconds`.

mod prompts;

use std::fs;
use std::time::{Duration, Instant};

use quillet_core::{BoxFuture, Map, Value};
use quillet_template::format::go::GoFormat;
use quillet_template::{
    Arguments, CallError, CompileOptions, Functions, Limits, Render, Source, TemplateFormat, render,
};

/// How long each figure is measured; the best of all rounds counts, since
/// everything that disturbs makes it worse.
const ROUNDS: usize = 40;
const ROUND: Duration = Duration::from_millis(10);

fn main() {
    prompts::each(|what, name, work| println!("{what}\t{name}\t{}", nanoseconds(work)));
    println!("calls\tten of 50 ms\t{}", ten_calls().as_nanos());
}

/// CPU nanoseconds of one piece of work, in the best round.
fn nanoseconds(work: impl Fn()) -> u64 {
    let round = || {
        let (begin, start, mut count) = (cpu(), Instant::now(), 0);
        while start.elapsed() < ROUND {
            for _ in 0..10 {
                work();
            }
            count += 10;
        }
        (cpu() - begin) / count
    };
    (0..ROUNDS).map(|_| round()).min().unwrap_or_default()
}

/// CPU nanoseconds that this thread has used, where Linux tells; else the wall's.
fn cpu() -> u64 {
    let used = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let used = used.and_then(|text| text.split(' ').next()?.parse().ok());
    used.unwrap_or_else(|| {
        static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(Instant::now);
        START.elapsed().as_nanos() as u64
    })
}

/// A tool that takes 50 ms.
struct Slow;

impl Functions for Slow {
    fn contains(&self, name: &str) -> bool {
        name == "slow"
    }
    fn names(&self) -> Vec<&str> {
        vec!["slow"]
    }
    fn call<'a>(&'a self, _: &'a str, _: Arguments) -> BoxFuture<'a, Result<Value, CallError>> {
        Box::pin(async {
            tokio::time::sleep(Duration::from_millis(50)).await;
            Ok("done".into())
        })
    }
}

/// Wall time of a template with ten calls that do not need each other.
fn ten_calls() -> Duration {
    let text: String = (0..10).map(|n| format!("{{{{slow {n}}}}}\n")).collect();
    let sources = [Source::new("t", &text)];
    let template = GoFormat::new().compile(&sources, &CompileOptions::default());
    let template = template.expect("the template compiles");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build();
    let runtime = runtime.expect("a runtime");
    let start = Instant::now();
    let rendered = runtime.block_on(render(&Render {
        template: template.as_ref(),
        entries: &["t"],
        variables: &Map::default(),
        functions: &Slow,
        limits: &Limits::default(),
    }));
    assert_eq!(rendered.expect("it renders").text(0), "done\n".repeat(10));
    start.elapsed()
}

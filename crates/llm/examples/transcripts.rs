//! Runs provider transcripts and recorded exchanges:
//! `cargo run --release -p quillet-llm --example transcripts -- PATH…`
//!
//! Each path is a transcript (`NAME.sse` next to `NAME.expected.json`), a file of exchanges
//! (`*.jsonl`, named after the provider API) or a folder of either. `--verbose` shows each
//! difference. The last line is `N passed, N failed`; the exit status is 1 if any failed.

#[path = "../tests/it/transcripts/mod.rs"]
mod transcripts;

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (flags, paths): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|word| word.starts_with("--"));
    let verbose = flags.iter().any(|flag| flag == "--verbose");
    if paths.is_empty() || flags.iter().any(|flag| flag != "--verbose") {
        eprintln!("usage: transcripts [--verbose] PATH…");
        return ExitCode::from(2);
    }
    let mut report = transcripts::Report::default();
    for path in &paths {
        if let Err(error) = transcripts::run(Path::new(path), &mut report) {
            eprintln!("{error}");
            return ExitCode::from(2);
        }
    }
    for (name, differences) in &report.failed {
        println!("failed: {name}");
        for difference in differences.iter().filter(|_| verbose) {
            println!("    {difference}");
        }
    }
    println!("{} passed, {} failed", report.passed, report.failed.len());
    ExitCode::from(u8::from(!report.failed.is_empty()))
}

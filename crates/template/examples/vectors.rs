//! Runs files of conformance vectors and reports the differences.
//!
//! `cargo run --release -p quillet-template --example vectors -- [--verbose] FILE…`

use std::path::Path;
use std::process::ExitCode;

#[path = "../tests/it/vectors/mod.rs"]
mod vectors;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (options, files): (Vec<_>, Vec<_>) = arguments
        .iter()
        .partition(|argument| argument.starts_with('-'));
    let verbose = options.iter().any(|option| *option == "--verbose");
    if files.is_empty() || options.len() > usize::from(verbose) {
        eprintln!("usage: vectors [--verbose] FILE…");
        return ExitCode::from(2);
    }
    // The thread has the default stack size, because deep templates must not depend on the larger
    // stack of the main thread.
    let files: Vec<String> = files.into_iter().cloned().collect();
    let run = move || run(&files, verbose);
    match std::thread::spawn(run).join() {
        Ok(true) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Whether every vector of every file passed.
fn run(files: &[String], verbose: bool) -> bool {
    let (mut passed, mut failed, mut broken) = (0, 0, false);
    for file in files {
        match vectors::run(Path::new(file)) {
            Ok(report) => {
                println!("{file}");
                if verbose {
                    report.print_differences();
                }
                report.print_summary();
                passed += report.passed();
                failed += report.failed();
            }
            Err(error) => {
                eprintln!("{error}");
                broken = true;
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    failed == 0 && !broken
}

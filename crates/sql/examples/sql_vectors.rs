//! Runs files of test vectors (query safety, LIMIT, table selection) and prints the differences.
//!
//! `cargo run --release -p quillet-sql --example sql_vectors -- [--verbose] FILE…`

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
    let (mut passed, mut failed, mut broken) = (0, 0, false);
    for file in files {
        match vectors::run(Path::new(file)) {
            Ok(outcomes) => {
                println!("{file}");
                for outcome in outcomes {
                    match outcome.difference {
                        None => passed += 1,
                        Some(difference) => {
                            failed += 1;
                            if verbose {
                                println!("  {}: {difference}", outcome.id);
                            }
                        }
                    }
                }
            }
            Err(error) => {
                eprintln!("{error}");
                broken = true;
            }
        }
    }
    println!("{passed} passed, {failed} failed");
    if failed == 0 && !broken {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

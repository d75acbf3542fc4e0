//! Runs files of script cases and prints the differences.
//!
//! `cargo run --release -p quillet-script --example cases -- [-v] [--only ID] [--feature N] FILE…`
//!
//! `-v` also lists the cases that pass. `--only` selects the cases whose id starts with ID,
//! `--feature` those for a feature number of the language reference.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;

#[path = "../tests/it/cases/mod.rs"]
mod cases;

use cases::case::Case;
use cases::report::Report;

fn main() -> ExitCode {
    let Some(wish) = Wish::read(std::env::args().skip(1)) else {
        eprintln!("usage: cases [-v] [--only ID] [--feature N] FILE…");
        return ExitCode::from(2);
    };
    if run(&wish) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Options of the command line.
struct Wish {
    files: Vec<String>,
    only: Option<String>,
    feature: Option<u32>,
    verbose: bool,
}

impl Wish {
    fn read(mut arguments: impl Iterator<Item = String>) -> Option<Wish> {
        let mut wish = Wish {
            files: Vec::new(),
            only: None,
            feature: None,
            verbose: false,
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "-v" | "--verbose" => wish.verbose = true,
                "--only" => wish.only = Some(arguments.next()?),
                "--feature" => wish.feature = Some(arguments.next()?.parse().ok()?),
                option if option.starts_with('-') => return None,
                _ => wish.files.push(argument),
            }
        }
        (!wish.files.is_empty()).then_some(wish)
    }

    fn takes(&self, case: &Case) -> bool {
        let only = self.only.as_ref();
        only.is_none_or(|only| case.id.starts_with(only))
            && self
                .feature
                .is_none_or(|number| case.features.contains(&number))
    }
}

/// Returns whether all cases of all files passed.
fn run(wish: &Wish) -> bool {
    let (mut passed, mut failed, mut broken) = (0, 0, false);
    for file in &wish.files {
        match cases::run_file(Path::new(file), |case| wish.takes(case)) {
            Ok(report) => {
                println!("{file}");
                report.print(wish.verbose);
                summary(&report);
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

/// Prints the number of passed cases per basis, and the state of the known differences.
fn summary(report: &Report) {
    let bases: BTreeSet<&str> = report.verdicts.iter().map(|v| v.basis.as_str()).collect();
    for basis in bases.into_iter().filter(|basis| !basis.is_empty()) {
        let of = report
            .verdicts
            .iter()
            .filter(|verdict| verdict.basis == basis);
        let passed = of.clone().filter(|verdict| verdict.passed()).count();
        println!("  {basis}: {passed} of {}", of.count());
    }
    let explained = report.failed() - report.unexplained().len();
    if explained > 0 {
        println!("  {explained} of the failures are known differences");
    }
    if !report.stale().is_empty() {
        println!(
            "  listed as differences, and pass: {}",
            report.stale().join(", ")
        );
    }
}

//! Runs files of script cases and says what differs.
//!
//! `cargo run --release -p quillet-script --example cases -- [-v] [--only ID] FILE…`
//!
//! `-v` names what passed, too; `--only` takes the cases whose id begins with ID.

use std::path::Path;
use std::process::ExitCode;

#[path = "../tests/it/cases/mod.rs"]
mod cases;

fn main() -> ExitCode {
    let Some(wish) = Wish::read(std::env::args().skip(1)) else {
        eprintln!("usage: cases [-v] [--only ID] FILE…");
        return ExitCode::from(2);
    };
    match run(&wish) {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    }
}

/// What is asked for.
struct Wish {
    files: Vec<String>,
    only: Option<String>,
    verbose: bool,
}

impl Wish {
    fn read(mut arguments: impl Iterator<Item = String>) -> Option<Wish> {
        let mut wish = Wish {
            files: Vec::new(),
            only: None,
            verbose: false,
        };
        while let Some(argument) = arguments.next() {
            match argument.as_str() {
                "-v" | "--verbose" => wish.verbose = true,
                "--only" => wish.only = Some(arguments.next()?),
                option if option.starts_with('-') => return None,
                _ => wish.files.push(argument),
            }
        }
        (!wish.files.is_empty()).then_some(wish)
    }

    fn takes(&self, id: &str) -> bool {
        self.only.as_ref().is_none_or(|only| id.starts_with(only))
    }
}

/// Whether every case of every file passed.
fn run(wish: &Wish) -> bool {
    let (mut passed, mut failed, mut broken) = (0, 0, false);
    for file in &wish.files {
        match cases::run_file(Path::new(file), |id| wish.takes(id)) {
            Ok(report) => {
                println!("{file}: {} of {}", report.passed(), report.verdicts.len());
                report.print(wish.verbose);
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

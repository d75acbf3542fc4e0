//! Runs the hostile templates, each in a process of its own, and holds the
//! time and the memory that each may take.
//!
//! `cargo run --release -p quillet-template --example hostile`

#[path = "../tests/it/hostile.rs"]
mod hostile;

use std::path::Path;
use std::process::{Command, ExitCode};

use hostile::Verdict;

fn main() -> ExitCode {
    if hostile::as_child() {
        return ExitCode::SUCCESS;
    }
    match std::env::current_exe() {
        Ok(program) => run(&program),
        Err(error) => {
            eprintln!("this program cannot start itself: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(program: &Path) -> ExitCode {
    let vectors = hostile::vectors();
    let (mut over, mut crashed, mut wrong, mut controls) = (0, 0, 0, 0);
    for vector in &vectors {
        let verdict = hostile::judge(vector, Command::new(program), 1);
        match &verdict {
            Verdict::Right => continue,
            Verdict::Over(_) => over += 1,
            Verdict::Crashed(_) => crashed += 1,
            Verdict::Wrong(_) => {
                wrong += 1;
                controls += usize::from(vector.is_control());
            }
        }
        println!("{}: {verdict:?}", vector.id);
    }
    let controls = match controls {
        0 => "all controls right".to_owned(),
        wrong => format!("{wrong} controls wrong"),
    };
    let run = vectors.len();
    println!("{run} run, {over} over, {crashed} crashed, {controls}");
    match over + crashed + wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

//! Runs each hostile template in a separate process and checks its time and memory limits.
//!
//! `cargo run --release -p quillet-template --example hostile`

#[path = "../tests/it/hostile.rs"]
mod hostile;

use std::path::Path;
use std::process::{Command, ExitCode};

use hostile::{Slack, Verdict};

/// Tolerance for the time that the harness itself takes.
const SLACK: Slack = Slack {
    milliseconds: 200,
    megabytes: 0,
};

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
    let (mut over, mut crashed, mut wrong, mut controls_wrong) = (0, 0, 0, 0);
    for vector in &vectors {
        let verdict = hostile::judge(vector, Command::new(program), SLACK);
        match &verdict {
            Verdict::Right => continue,
            Verdict::Over(_) => over += 1,
            Verdict::Crashed(_) => crashed += 1,
            Verdict::Wrong(_) => wrong += 1,
            Verdict::ControlWrong(_) => controls_wrong += 1,
        }
        println!("{}: {verdict:?}", vector.id);
    }
    let controls = match controls_wrong {
        0 => "all controls right".to_owned(),
        wrong => format!("{wrong} controls wrong"),
    };
    let run = vectors.len();
    let wrong_outcomes = match wrong {
        0 => String::new(),
        wrong => format!(", {wrong} not refused"),
    };
    println!("{run} run, {over} over, {crashed} crashed, {controls}{wrong_outcomes}");
    match over + crashed + wrong + controls_wrong {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

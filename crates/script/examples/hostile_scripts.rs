//! Runs each hostile script in a separate process and checks the limits on its time and memory.
//!
//! `cargo run --release -p quillet-script --example hostile_scripts [PART OF AN ID]`

#[path = "../tests/it/hostile.rs"]
mod hostile;

use std::path::Path;
use std::process::{Command, ExitCode};

use hostile::{Slack, Verdict};
use quillet_script::js::{WorkerProgram, serve_process};

/// Time and memory that the harness itself may add to a vector.
const SLACK: Slack = Slack {
    milliseconds: 200,
    megabytes: 0,
};

/// Argument that turns this program into a JavaScript worker process.
const WORKER: &str = "--javascript";

fn main() -> ExitCode {
    if std::env::args().any(|argument| argument == WORKER) {
        let served = serve_process(std::io::stdin(), std::io::stdout(), || {
            std::process::exit(0)
        });
        return served.map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS);
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
    let worker = WorkerProgram {
        path: program.to_owned(),
        arguments: vec![WORKER.to_owned()],
    };
    if hostile::as_child(&worker) {
        return ExitCode::SUCCESS;
    }
    let part = std::env::args().nth(1).unwrap_or_default();
    let (mut vectors, missing) = hostile::vectors();
    vectors.retain(|vector| vector.id.contains(&part));
    for file in missing {
        println!("left out: {file} is not here");
    }
    let (mut over, mut crashed, mut wrong, mut controls) = (0, 0, 0, 0);
    for vector in &vectors {
        let verdict = hostile::judge(vector, Command::new(program), SLACK);
        match &verdict {
            Verdict::Right => continue,
            Verdict::Over(_) => over += 1,
            Verdict::Crashed(_) => crashed += 1,
            Verdict::Wrong(_) => wrong += 1,
            Verdict::ControlWrong(_) => controls += 1,
        }
        println!("{}: {verdict:?}", vector.id);
    }
    let run = vectors.len();
    let controls_said = match controls {
        0 => "all controls right".to_owned(),
        wrong => format!("{wrong} controls wrong"),
    };
    let wrong_said = match wrong {
        0 => String::new(),
        wrong => format!(", {wrong} with another outcome"),
    };
    println!("{run} run, {over} over, {crashed} crashed, {controls_said}{wrong_said}");
    match over + crashed + wrong + controls {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

//! Scripts that try to break the engine, each in a separate process and on the stack of a tokio
//! worker. The tests check results and memory, and time with large tolerances. The example
//! `hostile_scripts` runs the same code with the exact limits of the vectors.
//!
//! Our own vectors are in `conformance/hostile/scripts.jsonl`. Those of third parties are next to
//! the repository.

#[path = "hostile_case.rs"]
mod case;
#[path = "hostile_model.rs"]
mod model;

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use case::{Case, Expect, FILES};
use quillet_core::{Value, json};
use quillet_script::ScriptError;
use quillet_script::host::{Grants, NoObserver, NoTools, RunAccess};
use quillet_script::js::{JsOptions, Transport, WorkerProgram};
use quillet_script::library;
use quillet_script::run::{ScriptEngine, ScriptInput, ScriptOutcome, ScriptRun};
use quillet_template::TemplateFactory;

/// Environment variable that selects the vector for a child process: `FILE:LINE`, lines from 0.
const LINE: &str = "QUILLET_HOSTILE_SCRIPT";

/// Result of a vector.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Right,
    /// Exceeded its time or memory limit.
    Over(String),
    Crashed(String),
    /// Ended with another result than the file specifies.
    Wrong(String),
    /// A script that must succeed failed.
    ControlWrong(String),
}

/// A line of a file and its location.
pub(crate) struct Vector {
    pub(crate) id: String,
    place: String,
    case: Case,
}

/// Tolerances on the limits of a vector.
#[derive(Clone, Copy)]
pub(crate) struct Slack {
    pub(crate) milliseconds: u64,
    pub(crate) megabytes: u64,
}

/// Returns all available vectors, and the names of missing files.
pub(crate) fn vectors() -> (Vec<Vector>, Vec<&'static str>) {
    let (mut vectors, mut missing) = (Vec::new(), Vec::new());
    for file in FILES {
        let Some(lines) = case::lines(file) else {
            missing.push(*file);
            continue;
        };
        vectors.extend(lines.iter().enumerate().map(|(index, line)| Vector {
            id: case::text(line, "id").to_owned(),
            place: format!("{file}:{index}"),
            case: Case::of(line),
        }));
    }
    (vectors, missing)
}

/// Runs the script of a case in a temporary folder.
async fn run(case: &Case, worker: &WorkerProgram) -> Result<ScriptOutcome, ScriptError> {
    let folder = Folder::with(&case.files);
    let main = folder.0.join("main.ai.yaml");
    let opened = library::open(&main.to_string_lossy(), &[]).await?;
    let engine = ScriptEngine {
        models: Arc::new(model::Hostile::new(&case.model)),
        tools: Arc::new(NoTools),
        library: opened.library,
        templates: Arc::new(TemplateFactory::standard()),
        limits: case.limits.clone(),
        javascript: JsOptions {
            transport: Transport::Process(worker.clone()),
            ..JsOptions::default()
        },
    };
    let job = ScriptRun {
        script: opened.script,
        arguments: ScriptInput::None,
        stream: true,
        parameters: Default::default(),
        history: Vec::new(),
        seed: Some(1),
        reach: RunAccess::Granted(Grants::default()),
        observer: Arc::new(NoObserver),
    };
    // Runs on the stack of a worker thread instead of the main thread.
    let task = tokio::spawn(async move { engine.run(job).await });
    task.await.expect("a script never panics")
}

/// A temporary folder, deleted on drop.
struct Folder(std::path::PathBuf);

impl Folder {
    fn with(files: &[(String, String)]) -> Self {
        static NUMBER: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let name = format!("quillet-hostile-{}-{number}", std::process::id());
        let folder = Folder(std::env::temp_dir().join(name));
        std::fs::create_dir_all(&folder.0).expect("a folder can be made");
        for (name, text) in files {
            std::fs::write(folder.0.join(name), text).expect("a file can be written");
        }
        folder
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // An error can be ignored, because the system cleans up its temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Returns the problem with a result, if any.
fn complaint(case: &Case, outcome: &Result<ScriptOutcome, ScriptError>) -> Option<String> {
    let shown: String = match outcome {
        Ok(outcome) => format!("{:?}", outcome.value),
        Err(error) => error.to_string(),
    };
    let short: String = shown.chars().take(300).collect();
    let wrong = match (case.expect, outcome) {
        (Expect::Refuse, Ok(_)) => return Some(format!("not refused: {short}")),
        (Expect::Ok, Err(_)) => return Some(format!("control: refused: {short}")),
        (Expect::Ok, Ok(outcome)) => case.result.is_some() && outcome.value != case.result,
        _ => false,
    };
    if wrong {
        return Some(format!("control: another result: {short}"));
    }
    let missing = case.says.iter().find(|part| !shown.contains(&***part));
    if let (Some(missing), Err(_)) = (missing, outcome) {
        return Some(format!("it does not say {missing:?}: {short}"));
    }
    let found = case.never.iter().find(|part| shown.contains(&***part));
    found.map(|part| format!("it shows {part}: {short}"))
}

/// Returns a field of `/proc/self/status` in kilobytes.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// In a child process, runs the vector that the environment variable selects and prints its result.
pub(crate) fn as_child(worker: &WorkerProgram) -> bool {
    let Ok(place) = std::env::var(LINE) else {
        return false;
    };
    let (file, index) = place.split_once(':').expect("a place is FILE:LINE");
    let lines = case::lines(file).expect("the file is there");
    let case = Case::of(&lines[index.parse::<usize>().expect("a line is a number")]);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime starts");
    let before = memory("VmRSS");
    let begun = Instant::now();
    let outcome = runtime.block_on(run(&case, worker));
    let time = begun.elapsed().as_millis();
    let growth = memory("VmHWM").saturating_sub(before);
    let complaint = complaint(&case, &outcome).unwrap_or_default();
    drop(outcome);
    // The process must still work afterwards.
    let control = json::parse(r#"{"files":{"main.ai.yaml":"$echo: ?=1 + 1\n"}}"#);
    let control = Case::of(&control.expect("the control is JSON"));
    let control = runtime.block_on(run(&control, worker));
    let alive = control.is_ok_and(|outcome| outcome.value == Some(Value::Int(2)));
    println!(
        "\noutcome {time} {growth} {alive} {}",
        complaint.replace('\n', " ")
    );
    true
}

/// Runs a vector in the child process that `child` starts.
pub(crate) fn judge(vector: &Vector, mut child: Command, slack: Slack) -> Verdict {
    let child = child
        .env(LINE, &vector.place)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = child.expect("a process starts");
    let deadline = Instant::now() + Duration::from_secs(60);
    while child.try_wait().expect("a process ends").is_none() {
        if Instant::now() > deadline {
            child.kill().expect("a process can be ended");
            child.wait().expect("a process ends");
            return Verdict::Over("still running after 60 s".to_owned());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    let mut said = Vec::new();
    let mut stdout = child.stdout.take().expect("the output is piped");
    stdout.read_to_end(&mut said).expect("the output is read");
    let said = String::from_utf8_lossy(&said);
    match said.lines().find_map(|line| line.strip_prefix("outcome ")) {
        Some(report) => verdict(vector, report, slack),
        None => {
            let status = child.wait().expect("a process ends");
            Verdict::Crashed(status.to_string())
        }
    }
}

fn verdict(vector: &Vector, report: &str, slack: Slack) -> Verdict {
    let mut fields = report.splitn(4, ' ');
    let mut field = || fields.next().unwrap_or_default().to_owned();
    let (time, growth, alive, complaint) = (field(), field(), field(), field());
    match complaint.strip_prefix("control: ") {
        Some(control) => return Verdict::ControlWrong(control.to_owned()),
        None if !complaint.is_empty() => return Verdict::Wrong(complaint),
        None => {}
    }
    if alive != "true" {
        return Verdict::Wrong("nothing is served afterwards".to_owned());
    }
    let number = |text: String| text.parse::<u64>().expect("a report has numbers");
    let (time, growth) = (number(time), number(growth));
    let megabytes = vector.case.megabytes.saturating_add(slack.megabytes);
    if time > vector.case.milliseconds + slack.milliseconds || growth / 1024 > megabytes {
        return Verdict::Over(format!("{time} ms, {growth} kB"));
    }
    Verdict::Right
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::js_process::program;

    /// Tolerances for an unoptimised build on a busy machine.
    const UNOPTIMISED: Slack = Slack {
        milliseconds: 30_000,
        megabytes: 64,
    };

    /// Also the entry point of the child processes of the other test. By itself it runs only the
    /// controls.
    #[test]
    fn controls_succeed() {
        if as_child(&program()) {
            return;
        }
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (vectors, missing) = vectors();
        for file in missing {
            println!("left out: {file} is not here");
        }
        let controls = vectors
            .iter()
            .filter(|vector| vector.case.expect == Expect::Ok);
        let wrong = controls.filter_map(|vector| {
            let outcome = runtime.block_on(run(&vector.case, &program()));
            Some((vector.id.as_str(), complaint(&vector.case, &outcome)?))
        });
        assert_eq!(wrong.collect::<Vec<_>>(), []);
    }

    #[test]
    fn hostile_scripts_stay_within_their_limits() {
        let (vectors, missing) = vectors();
        for file in missing {
            println!("left out: {file} is not here");
        }
        let wrong = vectors.iter().filter_map(|vector| {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["hostile::tests::controls_succeed", "--exact", "--nocapture"]);
            match judge(vector, child, UNOPTIMISED) {
                Verdict::Right => None,
                verdict => Some((vector.id.as_str(), verdict)),
            }
        });
        let wrong: Vec<_> = wrong.collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

//! Runs templates that try to break the engine (`conformance/hostile/`), each in a separate process
//! with a stack of 2 MiB. The test checks results and memory, and time with a wide tolerance. The
//! example `hostile` runs the same code and checks the exact limits of the vectors.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use quillet_core::{Value, json};
use quillet_template::{
    CompileOptions, NoFunctions, Render, RenderLimits, TemplateFactory, TemplateSource, render,
};

/// Files of hostile templates. Only the lines for [`FORMATS`] are run.
const FILES: &[&str] = &[
    "templates_go.jsonl",
    "templates_jinja.jsonl",
    "templates_fstring.jsonl",
    "templates_sk.jsonl",
    "templates_handlebars.jsonl",
    "templates_liquid.jsonl",
    "injection.jsonl",
];
const FORMATS: &[&str] = &[
    "go",
    "hf",
    "fstring",
    "semantic-kernel",
    "handlebars",
    "liquid",
];

/// Environment variable that selects the line for a child process, as `FILE:LINE` with lines
/// counted from 0.
const LINE: &str = "QUILLET_HOSTILE_LINE";

/// Stack size of a tokio worker.
const STACK: usize = 2 << 20;

/// A line of a file.
pub(crate) struct Vector {
    pub(crate) id: String,
    place: String,
    limits: Option<Bounds>,
}

/// Limits on a line's resources.
struct Bounds {
    milliseconds: u64,
    megabytes: u64,
}

/// Result of a line.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Right,
    /// The line took too much time or memory.
    Over(String),
    Crashed(String),
    /// The result differs from the expected one.
    Wrong(String),
    /// A valid template failed.
    ControlWrong(String),
}

/// Returns the format of a line. The lines for format strings are from LangChain, which rejects
/// some valid Python fields (`{x[0]}`).
fn format_of(line: &Value) -> &str {
    match text(line, "format") {
        "fstring" => "f-string-strict",
        other => other,
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/hostile")
}

fn lines(file: &str) -> Vec<Value> {
    let text = std::fs::read_to_string(folder().join(file)).expect("the hostile lines can be read");
    let parse = |line: &str| json::parse(line).expect("a line is JSON");
    text.lines().map(parse).collect()
}

fn text<'a>(line: &'a Value, key: &str) -> &'a str {
    line.get_path(&[key])
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn number(line: &Value, path: &[&str]) -> Option<u64> {
    match line.get_path(path) {
        Some(Value::Int(number)) => u64::try_from(*number).ok(),
        _ => None,
    }
}

/// Returns all lines for the tested formats.
pub(crate) fn vectors() -> Vec<Vector> {
    let of_file = |file: &&str| {
        let lines = lines(file).into_iter().enumerate();
        let wanted = lines.filter(|(_, line)| FORMATS.contains(&text(line, "format")));
        let vectors = wanted.map(|(index, line)| Vector {
            id: text(&line, "id").to_owned(),
            place: format!("{file}:{index}"),
            limits: number(&line, &["limits", "ms"]).map(|milliseconds| Bounds {
                milliseconds,
                megabytes: number(&line, &["limits", "mb"]).unwrap_or(u64::MAX),
            }),
        });
        vectors.collect::<Vec<_>>()
    };
    FILES.iter().flat_map(of_file).collect()
}

/// Decodes a text, which may consist of repeated segments.
fn decoded_text(value: Option<&Value>) -> String {
    match value {
        Some(Value::Str(text)) => text.to_string(),
        Some(Value::Map(map)) => match map.get("segments") {
            Some(Value::List(segments)) => segments.iter().map(segment).collect(),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

fn segment(value: &Value) -> String {
    match value {
        Value::List(pair) => match (pair.first(), pair.get(1)) {
            (Some(Value::Str(text)), Some(Value::Int(count))) => text.repeat(*count as usize),
            _ => String::new(),
        },
        _ => String::new(),
    }
}

/// Decodes data, in which `{"repeat": [value, n]}` is a list.
fn decoded(value: &Value) -> Value {
    match value {
        Value::Map(map) => match map.get("repeat") {
            Some(Value::List(pair)) => match (pair.first(), pair.get(1)) {
                (Some(item), Some(Value::Int(count))) => {
                    Value::from(vec![decoded(item); *count as usize])
                }
                _ => value.clone(),
            },
            _ => {
                let entries = map.iter().map(|(key, value)| (key.clone(), decoded(value)));
                Value::Map(entries.collect())
            }
        },
        Value::List(list) => Value::List(list.iter().map(decoded).collect()),
        other => other.clone(),
    }
}

/// Compiles and renders one line. The error is the full message.
fn outcome(line: &Value) -> Result<String, String> {
    let factory = TemplateFactory::standard();
    let template = decoded_text(line.get_path(&["template"]));
    let data = line.get_path(&["data"]).map(decoded).unwrap_or_default();
    let variables = data.as_map().cloned().unwrap_or_default();
    let sources = [TemplateSource::new("main", &template)];
    let options = CompileOptions::default();
    let compiled = factory.compile(format_of(line), &sources, &options);
    let compiled = compiled.map_err(|error| error.message)?;
    let limits = RenderLimits::default();
    let request = Render {
        template: &*compiled,
        entries: &["main"],
        variables: &variables,
        functions: &NoFunctions,
        limits: &limits,
    };
    match render(&request).now_or_never() {
        Some(Ok(rendered)) => Ok(rendered.text(0)),
        Some(Err(error)) => Err(error.message),
        None => Err("the render waits for nothing".to_owned()),
    }
}

/// Returns how a result differs from the expected one, or `None` if it is correct.
fn complaint(line: &Value, outcome: &Result<String, String>) -> Option<String> {
    let (Ok(said) | Err(said)) = outcome;
    let shown: String = said.chars().take(200).collect();
    let wrong = match (text(line, "expect"), outcome) {
        ("refuse", Ok(_)) => return Some(format!("not refused: {shown}")),
        ("ok", Err(_)) => return Some(format!("control: refused: {shown}")),
        ("ok", Ok(output)) => line
            .get_path(&["result"])
            .and_then(Value::as_str)
            .is_some_and(|wanted| wanted != output),
        _ => false,
    };
    if wrong {
        return Some(format!("control: another text: {shown}"));
    }
    if let Some(limit) = number(line, &["limits", "out_bytes"])
        && said.len() as u64 > limit
    {
        return Some(format!("{} bytes of output", said.len()));
    }
    let Some(Value::List(forbidden)) = line.get_path(&["must_not_contain"]) else {
        return None;
    };
    let found = forbidden
        .iter()
        .filter_map(Value::as_str)
        .find(|part| said.contains(part));
    found.map(|part| format!("it shows {part}: {shown}"))
}

/// Returns a field of `/proc/self/status` in kilobytes.
fn memory(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with(field));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// In a child process, runs the line that [`LINE`] selects and prints the result. Returns false in
/// other processes.
pub(crate) fn as_child() -> bool {
    let Ok(place) = std::env::var(LINE) else {
        return false;
    };
    let (file, index) = place.split_once(':').expect("a place is FILE:LINE");
    let line = lines(file).swap_remove(index.parse().expect("a line is a number"));
    let before = memory("VmRSS");
    let worker = std::thread::Builder::new().stack_size(STACK);
    let worker = worker.spawn(move || {
        let start = Instant::now();
        let outcome = outcome(&line);
        (start.elapsed(), complaint(&line, &outcome))
    });
    let (time, complaint) = worker
        .and_then(|worker| {
            worker
                .join()
                .map_err(|_| std::io::Error::other("it panicked"))
        })
        .expect("a template never panics");
    let growth = memory("VmHWM").saturating_sub(before);
    let complaint = complaint.unwrap_or_default();
    // The process must still render other templates afterwards.
    let control =
        json::parse(r#"{"format":"hf","template":"{{ 1 + 1 }}"}"#).expect("the control is JSON");
    let alive = outcome_is(&control, "2");
    println!(
        "\noutcome {} {growth} {alive} {complaint}",
        time.as_millis()
    );
    true
}

fn outcome_is(line: &Value, wanted: &str) -> bool {
    outcome(line).is_ok_and(|output| output == wanted)
}

/// Tolerance for exceeding the limits of a line.
#[derive(Clone, Copy)]
pub(crate) struct Slack {
    pub(crate) milliseconds: u64,
    pub(crate) megabytes: u64,
}

/// Runs a line in the process that `child` starts.
pub(crate) fn judge(vector: &Vector, mut child: Command, slack: Slack) -> Verdict {
    let child = child
        .env(LINE, &vector.place)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = child.expect("a process starts");
    let deadline = Instant::now() + Duration::from_secs(30);
    while child
        .try_wait()
        .expect("a process can be waited for")
        .is_none()
    {
        if Instant::now() > deadline {
            child.kill().expect("a process can be ended");
            child.wait().expect("a process ends");
            return Verdict::Over("still running after 30 s".to_owned());
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    let mut said = String::new();
    let mut stdout = child.stdout.take().expect("the output is piped");
    stdout
        .read_to_string(&mut said)
        .expect("the output is text");
    let report = said.lines().find_map(|line| line.strip_prefix("outcome "));
    let Some(report) = report else {
        let status = child.wait().expect("a process ends");
        return Verdict::Crashed(format!("{status}"));
    };
    verdict(vector, report, slack)
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
    let Some(limits) = &vector.limits else {
        return Verdict::Right;
    };
    let (time, growth): (u64, u64) = (
        time.parse().expect("a report has numbers"),
        growth.parse().expect("a report has numbers"),
    );
    let megabytes = limits.megabytes.saturating_add(slack.megabytes);
    if time > limits.milliseconds + slack.milliseconds || growth / 1024 > megabytes {
        return Verdict::Over(format!("{time} ms, {growth} kB"));
    }
    Verdict::Right
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tolerance for an unoptimized build on a busy machine.
    const UNOPTIMISED: Slack = Slack {
        milliseconds: 10_000,
        megabytes: 0,
    };

    /// The child processes of the other test run this test. Without a selected line it runs all
    /// controls, which need no separate process.
    #[test]
    fn controls_succeed() {
        if as_child() {
            return;
        }
        let lines = FILES.iter().flat_map(|file| lines(file));
        let controls = lines
            .filter(|line| text(line, "expect") == "ok" && FORMATS.contains(&text(line, "format")));
        let complaint = |line: Value| {
            Some((
                text(&line, "id").to_owned(),
                complaint(&line, &outcome(&line))?,
            ))
        };
        assert_eq!(controls.filter_map(complaint).collect::<Vec<_>>(), []);
    }

    #[test]
    fn hostile_templates_stay_within_their_limits() {
        let failed = vectors().into_iter().filter_map(|vector| {
            let mut child = Command::new(std::env::current_exe().unwrap());
            child.args(["hostile::tests::controls_succeed", "--exact", "--nocapture"]);
            match judge(&vector, child, UNOPTIMISED) {
                Verdict::Right => None,
                verdict => Some((vector.id, verdict)),
            }
        });
        let failed: Vec<_> = failed.collect();
        assert!(failed.is_empty(), "{failed:#?}");
    }
}

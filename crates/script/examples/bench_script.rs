//! Measures the CPU time of the interpreter and prints it as a table.
//!
//! `benches/run-script` runs this example, and also measures whole processes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use futures_util::stream;
use quillet_core::BoxFuture;
use quillet_core::chat::{
    Bytes4, ChatEvent, ChatModel, ChatRequest, ChatStream, FinishReason, ModelError,
};
use quillet_script::host::{
    Grants, ModelCapabilities, ModelHandle, ModelSource, NoObserver, NoTools, RunAccess,
    ScriptLimits,
};
use quillet_script::js::JsOptions;
use quillet_script::library::Memory;
use quillet_script::reader;
use quillet_script::run::{ScriptEngine, ScriptInput, ScriptRun};
use quillet_script::syntax::{Script, ScriptSource};
use quillet_template::TemplateFactory;

/// A model that answers immediately, in four chunks.
#[derive(Clone, Debug)]
struct Instantly;

impl ChatModel for Instantly {
    fn describe(&self) -> String {
        "instant".to_owned()
    }

    fn stream(&self, _: ChatRequest) -> BoxFuture<'_, Result<ChatStream, ModelError>> {
        let piece = |text: &str| ChatEvent::Text {
            choice: 0,
            text: text.to_owned(),
        };
        let mut events: Vec<ChatEvent> = ["All ", "is ", "well ", "."].map(piece).into();
        events.push(ChatEvent::Finish {
            choice: 0,
            reason: FinishReason::Stop,
            raw: "stop".to_owned(),
        });
        Box::pin(
            async move { Ok(Box::pin(stream::iter(events.into_iter().map(Ok))) as ChatStream) },
        )
    }
}

impl ModelSource for Instantly {
    fn model(&self, _: Option<&str>) -> Result<ModelHandle, String> {
        Ok(ModelHandle {
            model: Arc::new(Instantly),
            name: None,
            abilities: ModelCapabilities::default(),
            counter: Arc::new(Bytes4),
            window: None,
        })
    }
}

fn read(text: &str) -> Arc<Script> {
    let source = ScriptSource {
        name: "bench.ai.yaml".to_owned(),
        path: None,
        text: text.into(),
    };
    let read = reader::read(Arc::new(source));
    assert!(read.diagnostics.is_empty(), "{:?}", read.diagnostics);
    Arc::new(read.script)
}

fn engine() -> ScriptEngine {
    ScriptEngine {
        models: Arc::new(Instantly),
        tools: Arc::new(NoTools),
        library: Arc::new(Memory::default()),
        templates: Arc::new(TemplateFactory::standard()),
        limits: ScriptLimits::default(),
        javascript: JsOptions::default(),
    }
}

async fn run(engine: &ScriptEngine, script: &Arc<Script>) {
    let job = ScriptRun {
        script: script.clone(),
        arguments: ScriptInput::None,
        stream: true,
        parameters: Default::default(),
        history: Vec::new(),
        seed: Some(1),
        reach: RunAccess::Granted(Grants::default()),
        observer: Arc::new(NoObserver),
    };
    let outcome = engine.run(job).await;
    outcome.expect("a script of the bench runs");
}

/// Returns the CPU time of this thread, or wall time on systems that do not report it.
fn cpu(begun: Instant) -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let first = stat.split_whitespace().next();
    let nanoseconds = first.and_then(|number| number.parse().ok());
    nanoseconds.map_or_else(|| begun.elapsed(), Duration::from_nanos)
}

fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS"));
    let number = line.and_then(|line| line.split_whitespace().nth(1));
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Returns the best time of several rounds in milliseconds of CPU time.
fn best(rounds: usize, mut what: impl FnMut()) -> f64 {
    let begun = Instant::now();
    let took = (0..rounds).map(|_| {
        let before = cpu(begun);
        what();
        (cpu(begun) - before).as_secs_f64() * 1e3
    });
    took.fold(f64::INFINITY, f64::min)
}

fn turns(count: usize) -> String {
    "- user: hello\n- assistant: \"[[A]]\"\n".repeat(count)
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime starts");
    let engine = engine();
    let timed = |text: &str| {
        let script = read(text);
        best(5, || runtime.block_on(run(&engine, &script)))
    };
    let quiet = "---\nautoRunLLMIfPromptAvailable: false\n---\n";
    let steps = "- $set: {i: 0}\n- $while: \"i < 2000\"\n  do:\n    - $set: {i: \"?=i + 1\"}\n    - $if: \"i % 2 == 0\"\n      then:\n        - $echo: even\n";
    println!("CPU of the script's own thread, best of 5");
    for calls in [20, 200] {
        let took = timed(&turns(calls));
        println!(
            "{calls:>6} calls of a model  {took:9.2} ms  {:7.3} ms each",
            took / calls as f64
        );
    }
    println!("  2000 turns of $while  {:9.2} ms", timed(steps));
    for messages in [400, 10_000] {
        let text = format!("{quiet}{}", "- user: \"hello {{id}}\"\n".repeat(messages));
        println!("{messages:>6} messages          {:9.2} ms", timed(&text));
    }
    let thousand = turns(500);
    println!(
        "  1000 lines, read      {:9.2} ms",
        best(5, || drop(read(&thousand)))
    );
    expressions(&runtime, &engine);
    crowd(&runtime, &engine);
}

/// Compares native expressions with those that need JavaScript. This uses wall time, because
/// JavaScript runs in another thread.
fn expressions(runtime: &tokio::runtime::Runtime, engine: &ScriptEngine) {
    for (name, code) in [
        ("native", "value * 2 + 1"),
        ("QuickJS", "[value].map((x) => x * 2 + 1)[0]"),
    ] {
        let text = format!("- $for: 1..1000\n  do:\n    - \"?={code}\"\n");
        let script = read(&text);
        let begun = Instant::now();
        runtime.block_on(run(engine, &script));
        println!(
            "  1000 expressions, {name:<8} {:6.2} ms wall",
            begun.elapsed().as_secs_f64() * 1e3
        );
    }
}

/// Runs a thousand scripts concurrently.
fn crowd(runtime: &tokio::runtime::Runtime, engine: &ScriptEngine) {
    for (name, text) in [
        ("without JavaScript", turns(1)),
        (
            "with JavaScript",
            format!("- $echo: \"?=[1].map((x) => x + 1)[0]\"\n{}", turns(1)),
        ),
    ] {
        let script = read(&text);
        let before = memory();
        let begun = Instant::now();
        runtime.block_on(join_all((0..1000).map(|_| run(engine, &script))));
        let took = begun.elapsed().as_secs_f64() * 1e3;
        let grown = memory().saturating_sub(before) / 1024;
        println!("  1000 scripts at once, {name}: {took:.0} ms wall, {grown} MB more afterwards");
    }
}

//! Two or more workers with one journal. Each has its own tools and model, which record the caller.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use quillet_fake_provider::{FakeProvider, ProviderApi, ScriptedReply};
use quillet_test_support::TempDir;
use quillet_worker::args::TemporalArgs as Location;
use serde_json::{Value, json};

use crate::tools::{Calls, TOOLS, Trap, clerk, counts, serve_model, serve_tools};

/// Timeout for a run to reach the expected state.
const PATIENCE: Duration = Duration::from_secs(90);

/// The tool that the prompt calls during rendering.
pub const PREPARED: &str = "look 99";

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Came {
    pub text: String,
    pub calls: BTreeMap<String, usize>,
    pub asked: usize,
}

pub struct World {
    folder: TempDir,
    address: String,
    queue: String,
    pub calls: Calls,
    pub trap: Arc<Mutex<Trap>>,
    models: Vec<FakeProvider>,
}

impl World {
    pub fn new(address: &str, workers: usize) -> Self {
        World::with(address, workers, "", "", clerk)
    }

    /// Creates a world that has additional settings, additional lines in the agent's definition,
    /// and another model.
    pub fn with(
        address: &str,
        workers: usize,
        settings: &str,
        agent: &str,
        model: fn(&Value) -> ScriptedReply,
    ) -> Self {
        let mut world = World {
            folder: TempDir::new(),
            address: address.to_owned(),
            queue: String::new(),
            calls: Calls::default(),
            trap: Arc::default(),
            models: Vec::new(),
        };
        world.queue = world
            .folder
            .path()
            .file_name()
            .unwrap()
            .to_string_lossy()
            .into_owned();
        let journal = world.folder.path().join("journal.db");
        let settings = format!(
            "[store]\nurl = \"dir:s\"\n[agent]\njournal = \"sqlite:{}\"\nruns = \"memory:\"\nsessions = \"memory:\"\nlease_ms = 1500\n{settings}[tools]\nresponse_bytes = 4000000\naddresses = {{allow = [\"127.0.0.1\"]}}\n",
            journal.display()
        );
        for worker in 0..workers {
            let tools = serve_tools(worker, &world.calls, &world.trap);
            let place = world.place(worker);
            write(&place, "quillet.toml", &settings);
            let clerk = format!("model: gpt-4o\nprompt: hi\ntools: [\"*\"]\n{agent}");
            write(&place, "s/agents/clerk.yaml", &clerk);
            // The prompt's tool calls are part of preparing the run.
            write(&place, "s/prompts/hi.gotmpl", "Do it: {{ look 99 }}.");
            for (tool, method, idempotent) in TOOLS.into_iter().chain([("huge", "GET", "true")]) {
                let text = format!(
                    r#"{{"type":"restful","url":"http://{tools}/{tool}","method":"{method}","idempotent":{idempotent},
                    "parameters":{{"type":"object","properties":{{"step":{{"type":"integer"}}}}}}}}"#
                );
                write(&place, &format!("s/tools/{tool}.json"), &text);
            }
            world.models.push(serve_model(worker, &world.trap, model));
        }
        world
    }

    /// Writes a file to the folder of every worker.
    pub fn with_file(self, name: &str, text: &str) -> Self {
        for worker in 0..self.models.len() {
            write(&self.place(worker), name, text);
        }
        self
    }

    fn place(&self, worker: usize) -> PathBuf {
        self.folder.path().join(format!("w{worker}"))
    }

    /// Returns the address of Temporal for a client in this process.
    pub fn desk(&self) -> Location {
        Location {
            temporal: self.address.clone(),
            api_key: None,
            namespace: "default".to_owned(),
            queue: self.queue.clone(),
            config: None,
            store: None,
            log: None,
        }
    }

    /// Creates the command of the worker with this number.
    pub fn command(&self, worker: usize) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_quillet-worker"));
        command
            .args(["--temporal", &self.address, "--queue", &self.queue])
            .current_dir(self.place(worker))
            .env_clear()
            .env("HOME", self.folder.path())
            .env(
                "OPENAI_BASE_URL",
                self.models[worker].base_url(ProviderApi::OpenAiChat),
            )
            .env("OPENAI_API_KEY", "key-canary");
        command
    }

    /// Starts the worker with this number, replacing the previous one.
    pub fn worker(&self, worker: usize) -> u32 {
        Trap::kill(&self.trap, worker);
        let log = fs::File::create(self.place(worker).join("log")).unwrap();
        let child = self
            .command(worker)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let pid = child.id();
        Trap::watch(&self.trap, worker, child);
        pid
    }

    /// Returns the logs of the workers.
    pub fn logs(&self) -> String {
        let logs = (0..self.models.len()).map(|worker| self.place(worker).join("log"));
        logs.filter_map(|log| fs::read_to_string(log).ok())
            .collect()
    }

    pub fn client(&self, args: &[&str]) -> Output {
        self.command(0).args(args).output().unwrap()
    }

    /// Runs a command that must succeed, and returns its output.
    pub fn told(&self, args: &[&str]) -> String {
        let output = self.client(args);
        assert!(
            output.status.success(),
            "{args:?}: {output:?}\n{}",
            self.logs()
        );
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub fn begin(&self, id: &str) -> String {
        self.told(&["run", "Do it", "-m", "agent/clerk", "--id", id])
    }

    pub fn show(&self, run: &str) -> Option<Value> {
        let output = self.client(&["show", run, "--json"]);
        output
            .status
            .success()
            .then(|| serde_json::from_slice(&output.stdout).unwrap())
    }

    /// Polls until the run has the expected state.
    pub fn until(&self, run: &str, is: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let shown = self.show(run);
            if let Some(shown) = shown.as_ref().filter(|shown| is(shown)) {
                return shown.clone();
            }
            assert!(
                began.elapsed() < PATIENCE,
                "{run}: {shown:#?}\n{}",
                self.logs()
            );
            thread::sleep(Duration::from_millis(50));
        }
    }

    pub fn waiting(&self, run: &str) -> Value {
        self.until(run, |shown| shown["state"] == "waiting")
    }

    pub fn decide(&self, run: &str, call: &str, more: &[&str]) -> Output {
        let mut args = vec!["decide", run];
        args.extend(more);
        args.extend(["--call", call]);
        self.client(&args)
    }

    /// Waits for the end of a run that needs no decisions.
    pub fn until_over(&self, run: &str) -> (Value, usize) {
        let over = |shown: &Value| shown["state"] != "waiting" && shown["state"] != "running";
        (self.until(run, over), 0)
    }

    /// Waits at most this many seconds for the end of a run. Polls only the list of runs, not the
    /// run itself.
    pub fn end_within(&self, run: &str, seconds: u64) -> (Value, usize) {
        let began = Instant::now();
        loop {
            if self
                .listed()
                .iter()
                .any(|one| one["id"] == run && one["state"] != "running")
            {
                return self.end(run);
            }
            assert!(
                began.elapsed() < Duration::from_secs(seconds),
                "{run}: {}",
                self.logs()
            );
            thread::sleep(Duration::from_millis(200));
        }
    }

    /// Returns the runs, latest first.
    pub fn listed(&self) -> Vec<Value> {
        let listed = self.told(&["list", "--json", "-n", "10000"]);
        listed
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    /// Waits until the models were called this many times.
    pub fn until_asked(&self, count: usize) {
        let began = Instant::now();
        while self.asked() < count {
            assert!(began.elapsed() < PATIENCE, "{}", self.logs());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// Starts a run, waits for its end and returns its duration.
    pub fn run_whole(&self, id: &str) -> Duration {
        let began = Instant::now();
        self.told(&["run", "Do it", "-m", "agent/clerk", "--id", id, "--wait"]);
        began.elapsed()
    }

    /// Waits for the end of a run and decides about calls with an unknown outcome.
    pub fn end(&self, run: &str) -> (Value, usize) {
        let mut decided = 0;
        loop {
            let shown = self.until(run, |shown| shown["state"] != "running");
            if shown["state"] != "waiting" {
                return (shown, decided);
            }
            for call in shown["waiting"].as_array().unwrap() {
                assert_eq!(call["why"], "unknown", "{call}");
                let tool = call["tool"].as_str().unwrap();
                assert!(tool == "send" || tool == "note", "{call}");
                let made = format!("{tool} {}", call["arguments"]["step"]);
                let id = call["call"].as_str().unwrap();
                let text = json!({"did": made}).to_string();
                let output = if counts(&self.calls).contains_key(&made) {
                    self.decide(run, id, &["result", "--text", &text])
                } else {
                    self.decide(run, id, &["approve"])
                };
                assert!(output.status.success(), "{output:?}");
                decided += 1;
            }
        }
    }

    pub fn asked(&self) -> usize {
        self.models.iter().map(FakeProvider::asked).sum()
    }

    pub fn came(&self, shown: &Value) -> Came {
        let last = shown["journal"].as_array().unwrap().last().unwrap();
        assert_eq!(last["how"], "done", "{last}\n{}", self.logs());
        let mut calls = counts(&self.calls);
        // Belongs to the agent's prompt, not to the run; on a very busy machine, a render may miss
        // it.
        calls.remove(PREPARED);
        Came {
            text: last["text"].as_str().unwrap().to_owned(),
            calls,
            asked: self.asked(),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for worker in 0..self.models.len() {
            Trap::kill(&self.trap, worker);
        }
    }
}

fn write(place: &Path, name: &str, text: &str) {
    let path = place.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

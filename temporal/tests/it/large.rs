//! Results too large for Temporal, runs too long for one history, and a recorded history.

use std::fs;
use std::path::Path;
use std::process::Command;

use quillet_fake_provider::ScriptedReply;
use quillet_worker::run::AgentRun;
use quillet_worker::worker;
use serde_json::Value;
use temporalio_client::{WorkflowFetchHistoryOptions, WorkflowHistory};
use temporalio_sdk::workflow_replayer::{WorkflowReplayer, WorkflowReplayerOptions};

use crate::scripts;
use crate::server::Temporal;
use crate::tools::{Trap, call};
use crate::world::World;

/// Number of turns of the long run.
const LONG: usize = 200;
/// Recorded histories of real runs.
const HISTORIES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/histories");

fn turn(body: &Value) -> usize {
    let messages = body["messages"].as_array().unwrap();
    messages.iter().filter(|m| m["role"] == "assistant").count()
}

fn once(body: &Value) -> ScriptedReply {
    match turn(body) {
        0 => call(0, "huge", 1),
        _ => ScriptedReply::text(["Done."]),
    }
}

fn often(body: &Value) -> ScriptedReply {
    match turn(body) {
        turn if turn < LONG - 1 => call(turn, "look", turn),
        _ => ScriptedReply::text(["Done."]),
    }
}

#[test]
fn large_result_goes_to_the_step_store() {
    let temporal = Temporal::start();
    let world = World::with(&temporal.address(), 2, "", "", once);
    world.worker(0);
    let run = world.begin("run");
    let (ended, _) = world.end(&run);
    let came = world.came(&ended);
    assert_eq!(came.text, "Done.");
    assert_eq!(came.calls.get("huge 1"), Some(&1), "{came:?}");
    assert_eq!(came.asked, 2);
    assert_eq!(ended["away"], 1, "one step is not with the workflow");
    let mut returned = ended["journal"].as_array().unwrap().iter();
    let returned = returned.rfind(|step| step["step"] == "returned").unwrap();
    let value = returned["result"]["Ok"]["value"].as_str().unwrap();
    assert!(value.len() > 3_000_000, "{}", value.len());
}

#[test]
fn long_run_continues_as_new() {
    let temporal = Temporal::start();
    let settings = "tool_rounds = 1000\n";
    let world = World::with(&temporal.address(), 2, settings, "", often);
    world.worker(0);
    let run = world.begin("run");
    world.until_asked(LONG / 2);
    Trap::kill(&world.trap, 0);
    world.worker(1);
    let (ended, _) = world.end_within(&run, 300);
    let came = world.came(&ended);
    assert_eq!(came.text, "Done.");
    assert_eq!(came.calls.len(), LONG - 1);
    assert!(came.asked <= LONG + 1, "{}", came.asked);
    let repeated: usize = came.calls.values().map(|count| count - 1).sum();
    assert!(repeated <= 1, "{:?}", came.calls);
    println!(
        "{} turns, {} steps, {} groups of them on the shelf, {} events in the last history",
        LONG,
        ended["journal"].as_array().unwrap().len(),
        ended["away"],
        ended["events"]
    );
    // The run did not fit into one history.
    let runs = temporal.count(&run);
    println!("{runs} workflows of this id");
    assert!(runs > 1);
}

/// A real run creates the history each time. With `WRITE`, it is saved as the history that later
/// versions of the workflow must replay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn recorded_history_is_replayed() {
    let text = tokio::task::spawn_blocking(recorded).await.unwrap();
    let script = tokio::task::spawn_blocking(scripts::recorded)
        .await
        .unwrap();
    for (name, text) in [("clerk.json", &text), ("errand.json", &script)] {
        if std::env::var_os("WRITE").is_some() {
            fs::create_dir_all(HISTORIES).unwrap();
            fs::write(Path::new(HISTORIES).join(name), text).unwrap();
        }
        replay(text).await.unwrap();
    }
    for kept in fs::read_dir(HISTORIES).unwrap() {
        let path = kept.unwrap().path();
        println!("{}", path.display());
        replay(&fs::read(path).unwrap()).await.unwrap();
    }
    // Replay rejects the history of a different workflow, which starts with a tool call instead of
    // a model call.
    let other = String::from_utf8(text)
        .unwrap()
        .replace("quillet.prepare", "quillet.call");
    let error = replay(other.as_bytes()).await.unwrap_err();
    println!("{error}");
}

/// The history of a run with pending approvals.
fn recorded() -> Vec<u8> {
    let temporal = Temporal::start();
    let world = World::with(
        &temporal.address(),
        1,
        "",
        "ask: [note]\n",
        crate::tools::clerk,
    );
    world.worker(0);
    let run = world.begin("run");
    let shown = world.waiting(&run);
    let call = shown["waiting"][0]["call"].as_str().unwrap();
    assert!(world.decide(&run, call, &["approve"]).status.success());
    world.end(&run);
    history(&world, run)
}

/// Returns the history of a run in Temporal.
pub fn history(world: &World, run: String) -> Vec<u8> {
    tokio::runtime::Runtime::new().unwrap().block_on(async {
        let client = worker::connect(&world.desk()).await.unwrap();
        let handle = client.get_workflow_handle::<AgentRun>(run);
        let history = handle.fetch_history(WorkflowFetchHistoryOptions::default());
        history.to_json().await.unwrap()
    })
}

async fn replay(text: &[u8]) -> Result<(), Box<dyn std::error::Error>> {
    let options = WorkflowReplayerOptions::new()
        .register_workflow::<AgentRun>()?
        .build();
    let history = WorkflowHistory::from_json(text)?;
    Ok(WorkflowReplayer::new(options)?
        .replay_workflow(history)
        .await?)
}

impl Temporal {
    fn tell(&self, args: &[&str]) -> Vec<u8> {
        let program = std::env::var_os("TEMPORAL_BIN").unwrap();
        let output = Command::new(program)
            .args(args)
            .args(["--address", &self.address(), "--output", "json"])
            .env("HOME", self.folder())
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        output.stdout
    }

    /// Number of workflows with this id.
    fn count(&self, run: &str) -> usize {
        let query = format!("WorkflowId = '{run}'");
        let listed = self.tell(&["workflow", "list", "--query", &query]);
        let listed: Value = serde_json::from_slice(&listed).unwrap();
        listed.as_array().unwrap().len()
    }
}

//! Measures time. Only the results of the runs are asserted; the figures are for people.

use std::fs;
use std::time::{Duration, Instant};

use quillet_fake_provider::ScriptedReply;
use quillet_host::agent::{Admission, AgentRequest, ModelSettings, Principal};
use quillet_worker::run::AgentRun;
use quillet_worker::worker;
use quillet_worker::workflow_state::{StepRef, WorkflowState};
use serde_json::Value;
use temporalio_client::{WorkflowCountOptions, WorkflowStartOptions};

use crate::server::Temporal;
use crate::tools::{Trap, call};
use crate::world::World;

/// Number of runs in the comparison.
const RUNS: usize = 60;

/// Three turns without delays.
fn quick(body: &Value) -> ScriptedReply {
    let messages = body["messages"].as_array().unwrap();
    match messages.iter().filter(|m| m["role"] == "assistant").count() {
        turn if turn < 2 => call(turn, "look", turn),
        _ => ScriptedReply::text(["Done."]),
    }
}

/// The same, with a slow model.
fn slow(body: &Value) -> ScriptedReply {
    quick(body).delay(Duration::from_millis(1_000))
}

#[test]
fn time_per_run() {
    let temporal = Temporal::start();
    let world = World::with(&temporal.address(), 2, "", "", quick);
    let pid = world.worker(0);
    world.run_whole("warm");
    println!("an idle worker: {} kB resident", resident(pid));
    let took: Vec<Duration> = (0..5)
        .map(|number| world.run_whole(&format!("calm-{number}")))
        .collect();
    println!("a run of three turns and two calls, with the start of a client process: {took:?}");
    Trap::kill(&world.trap, 0);
    for at in ["question 2 is asked", "look 1 is asked for"] {
        world.worker(0);
        world.run_whole(&format!("again {at}"));
        Trap::set(&world.trap, Some(at));
        let began = Instant::now();
        let run = world.begin(&format!("killed {at}"));
        world.worker(1);
        world.until(&run, |shown| shown["state"] == "done");
        let passed = Trap::passed(&world.trap);
        let sprung = Trap::sprung(&world.trap);
        println!("killed {sprung:?} of {passed:?}: {:?}", began.elapsed());
        Trap::set(&world.trap, None);
        Trap::kill(&world.trap, 0);
        Trap::kill(&world.trap, 1);
    }
}

#[test]
fn three_workers_compared_with_one() {
    for (name, model) in [
        ("no time", quick as fn(&Value) -> ScriptedReply),
        ("1 s an answer", slow),
    ] {
        let mut rates = Vec::new();
        for workers in [1, 3] {
            let temporal = Temporal::start();
            let settings = "concurrent = 10\n";
            let world = World::with(&temporal.address(), 3, settings, "", model);
            for worker in 0..workers {
                world.worker(worker);
            }
            world.run_whole("warm");
            let took = tokio::runtime::Runtime::new()
                .unwrap()
                .block_on(many(&world));
            let rate = RUNS as f64 / took.as_secs_f64();
            println!("{name}: {workers} workers, {RUNS} runs of three turns: {rate:.1} runs/s");
            rates.push(rate);
        }
        println!("{name}: three against one: {:.2}", rates[1] / rates[0]);
    }
}

/// Starts all runs concurrently and waits until they have ended.
async fn many(world: &World) -> Duration {
    let client = worker::connect(&world.desk()).await.unwrap();
    let began = Instant::now();
    for number in 0..RUNS {
        let request = AgentRequest {
            model: Some(ModelSettings {
                model_id: "agent/clerk".to_owned(),
                ..ModelSettings::default()
            }),
            ..AgentRequest::question("Do it")
        };
        let who = Principal::from_address("temporal");
        let (run, admitted) = Admission::admit(&who, &format!("many-{number}"), request).unwrap();
        let kept = vec![StepRef::Here(admitted)];
        let course = WorkflowState::new(run.clone(), kept, Duration::from_secs(10));
        let options = WorkflowStartOptions::new(world.desk().queue, run).build();
        client
            .start_workflow(AgentRun::run, course, options)
            .await
            .unwrap();
    }
    loop {
        let query = "ExecutionStatus = 'Completed'";
        let done = client
            .count_workflows(query, WorkflowCountOptions::default())
            .await;
        if done.unwrap().count() > RUNS {
            return began.elapsed();
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

fn resident(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

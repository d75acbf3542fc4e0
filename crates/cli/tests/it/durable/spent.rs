//! A run keeps its usage when another process resumes it.

use quillet_fake_provider::{FakeProvider, ReplyScript};

use super::killed::{Barrier, Trigger};
use super::{World, answer, ask, end, until};

/// The budget is enough for three questions, but not for a fourth.
const BUDGET: &str = "options: {maxTokens: 100}\nbudget: {runTokens: 3100}\n";

fn world() -> World {
    let mut world = World::with("sqlite:journal.db", "", BUDGET);
    let spending = ReplyScript::function(|asked| answer(asked).spent(900, 100));
    world.provider = FakeProvider::start(spending);
    world
}

#[test]
fn whoever_takes_a_run_over_has_what_is_left_of_its_budget() {
    // The server is not killed, killed after the first answer, or killed after the second answer
    // (before or after the call).
    for point in [None, Some(4), Some(10), Some(12)] {
        let world = world();
        let Some(point) = point else {
            let server = world.server();
            ask(&server, "run");
            check(&world, &server, None);
            continue;
        };
        let mut first = Trigger.server(&world, point);
        let second = world.server();
        ask(&first, "run");
        until(&world, &second, "run", |run| {
            run["steps"].as_u64() >= Some(point)
        });
        first.child.kill().unwrap();
        first.child.wait().unwrap();
        Trigger.lift(&world);
        check(&world, &second, Some(point));
    }
}

fn check(world: &World, server: &crate::serve::Running, point: Option<u64>) {
    let (run, _) = end(world, server, "run");
    let last = run["journal"].as_array().unwrap().last().unwrap();
    assert_eq!(last["how"], "error", "{point:?}: {last}");
    let error = last["error"].as_str().unwrap();
    assert!(error.contains("agent clerk: budget.run_tokens"), "{error}");
    assert!(error.contains("3000 tokens spent"), "{point:?}: {error}");
    let count = |step: &str| {
        let steps = run["journal"].as_array().unwrap().iter();
        steps.filter(|event| event["step"] == step).count()
    };
    assert_eq!(count("answered"), 3, "{point:?}: {run}");
    // On a loaded machine, a live server may lose its lease between a question and its answer. The
    // next owner then repeats the question and adds a step.
    assert!(
        world.provider.requests().len() <= count("asked"),
        "{point:?}: {run}"
    );
}

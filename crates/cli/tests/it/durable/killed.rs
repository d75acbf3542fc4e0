//! One of two servers is killed wherever the journal stands.

use super::{TURNS, World, ask, end, until};

/// Kills the server that runs it as soon as the journal has so many steps.
fn killed_everywhere(journal: &str) {
    let undisturbed = {
        let world = World::new(journal);
        let server = world.server();
        ask(&server, "calm");
        let (run, _) = end(&world, &server, "calm");
        let steps = run["journal"].as_array().unwrap().len();
        (world.came(&run), steps)
    };
    let (calm, steps) = undisturbed;
    assert_eq!(calm.asked, TURNS.len() + 1);
    assert!(calm.calls.values().all(|count| *count == 1), "{calm:?}");
    println!(
        "{:>5} {:>6} {:>12} {:>9} {:>8} {:>8}",
        "point", "killed", "last step", "asked", "repeated", "decided"
    );
    for point in 1..steps as u64 {
        let world = World::new(journal);
        let run = format!("run-{point}");
        let run = run.as_str();
        let mut first = world.server();
        let second = world.server();
        ask(&first, run);
        until(&world, &second, run, |run| {
            run["steps"].as_u64() >= Some(point)
        });
        first.child.kill().unwrap();
        first.child.wait().unwrap();
        let at = world.run(&second, run).unwrap();
        let last = at["journal"].as_array().unwrap().last().unwrap()["step"].clone();
        let (ended, decided) = end(&world, &second, run);
        let came = world.came(&ended);
        let repeated: usize = came.calls.values().map(|count| count - 1).sum();
        println!(
            "{point:>5} {:>6} {:>12} {:>9} {repeated:>8} {decided:>8}",
            at["steps"],
            last.as_str().unwrap(),
            came.asked
        );
        assert_eq!(came.text, calm.text, "killed at {point}");
        assert!(came.asked <= calm.asked + 1, "killed at {point}: {came:?}");
        for (call, count) in &came.calls {
            let never = call.starts_with("send") || call.starts_with("note");
            assert!(*count == 1 || !never, "killed at {point}: {call} {count}");
        }
        assert_eq!(came.calls.len(), calm.calls.len(), "killed at {point}");
    }
}

#[test]
fn a_run_comes_to_the_same_end_wherever_its_process_is_killed_with_sqlite() {
    killed_everywhere("sqlite:journal.db");
}

#[cfg(feature = "redis")]
#[test]
fn a_run_comes_to_the_same_end_wherever_its_process_is_killed_with_redis() {
    let redis = quillet_test_support::RedisServer::start();
    killed_everywhere(&redis.url());
}

//! A temporary outage of Temporal.

use std::thread;
use std::time::Duration;

use crate::server::Temporal;
use crate::tools::TURNS;
use crate::world::World;

/// Duration of the outage.
const MINUTE: Duration = Duration::from_secs(60);

#[test]
fn run_resumes_after_a_temporal_outage() {
    let mut temporal = Temporal::start();
    let world = World::new(&temporal.address(), 1);
    world.worker(0);
    let run = world.begin("run");
    world.until_asked(3);
    temporal.kill();
    let unreached = world.client(&["list"]);
    let said = String::from_utf8_lossy(&unreached.stderr);
    println!("{}", said.trim());
    assert!(said.contains("Temporal at 127.0.0.1"), "{said}");
    // This fixed pause is the duration of the outage.
    thread::sleep(MINUTE);
    temporal.begin();
    let (ended, decided) = world.end(&run);
    let came = world.came(&ended);
    println!(
        "{} questions, {decided} decisions, {:?}",
        came.asked, came.calls
    );
    // Calls in progress are repeated or wait for a decision, as after a crash.
    assert!(came.asked <= TURNS.len() + 2, "{came:?}");
    for (call, count) in &came.calls {
        let never = call.starts_with("send") || call.starts_with("note");
        assert!(*count == 1 || !never, "{call} {count}");
    }
}

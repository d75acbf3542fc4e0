//! Kills one of two workers at every point of a run.

use crate::server::Temporal;
use crate::tools::{TURNS, Trap, counts};
use crate::world::{Came, PREPARED, World};

#[test]
fn run_result_is_unchanged_by_kills() {
    let temporal = Temporal::start();
    let (calm, points) = calm(&temporal.address());
    assert_eq!(calm.asked, TURNS.len() + 1);
    assert!(calm.calls.values().all(|count| *count == 1), "{calm:?}");
    println!(
        "{:>5} {:<28} {:>6} {:>9} {:>8}",
        "point", "killed when", "asked", "repeated", "decided"
    );
    for (number, point) in (1..).zip(&points) {
        let world = World::new(&temporal.address(), 2);
        Trap::set(&world.trap, Some(point));
        world.worker(0);
        world.worker(1);
        let run = world.begin(&format!("run-{number}"));
        let (ended, decided) = world.end(&run);
        let came = world.came(&ended);
        let is_killed = Trap::sprung(&world.trap).is_some();
        assert!(
            is_killed || point.starts_with(PREPARED),
            "{point}: nobody was killed"
        );
        let repeated: usize = came.calls.values().map(|count| count - 1).sum();
        println!(
            "{number:>5} {point:<28} {:>6} {repeated:>9} {decided:>8}",
            came.asked
        );
        assert_eq!(came.text, calm.text, "killed when {point}");
        assert!(
            came.asked <= calm.asked + 1,
            "killed when {point}: {came:?}"
        );
        for (call, count) in &came.calls {
            let never = call.starts_with("send") || call.starts_with("note");
            assert!(*count == 1 || !never, "killed when {point}: {call} {count}");
        }
        assert_eq!(came.calls.len(), calm.calls.len(), "killed when {point}");
    }
}

/// Result of the run without kills, and the points it passes.
fn calm(address: &str) -> (Came, Vec<String>) {
    let world = World::new(address, 2);
    Trap::set(&world.trap, None);
    world.worker(0);
    world.worker(1);
    let run = world.begin("calm");
    let (ended, _) = world.end(&run);
    // The instructions are not rendered again at each step.
    assert!(counts(&world.calls).get(PREPARED) <= Some(&1));
    (world.came(&ended), Trap::passed(&world.trap))
}

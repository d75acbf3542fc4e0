//! One of two servers is killed after a journal step: each step in `scripts/trials`, a sample
//! otherwise.
//!
//! The barrier stops the journal after an exact step. In SQLite, a trigger rejects later steps. For
//! Redis, the server connects through a proxy that does not forward them. The killed process has
//! therefore done everything it can do with these steps. The operation that the last step starts
//! may have happened, but its result is not recorded.

use std::net::TcpStream;
use std::time::Duration;

use quillet_test_support::sample_step;
use rusqlite::Connection;

use super::scripts::{self, SCRIPT};
use super::{Came, TURNS, World, ask, ask_script, end, until};
use crate::serve::Running;

/// Kind of run.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Agent,
    Script,
}

impl Kind {
    fn world(self, journal: &str) -> World {
        match self {
            Kind::Agent => World::new(journal),
            Kind::Script => World::of_script(journal, "", SCRIPT, scripts::answer),
        }
    }

    /// Starts the run. A script needs an open stream.
    fn ask(self, server: &Running, id: &str) -> Option<TcpStream> {
        match self {
            Kind::Agent => {
                ask(server, id);
                None
            }
            Kind::Script => Some(ask_script(server, id, &scripts::durable())),
        }
    }

    /// Number of model calls.
    fn questions(self) -> usize {
        match self {
            Kind::Agent => TURNS.len() + 1,
            Kind::Script => scripts::ASKED,
        }
    }
}

/// Blocks all steps after a given number from the journal.
pub(super) trait Barrier {
    /// Starts the server to be killed, with the barrier in place.
    fn server(&self, world: &World, point: u64) -> Running;

    /// Removes the barrier after the server is killed, so that others can write.
    fn lift(&self, world: &World);
}

pub(super) struct Trigger;

impl Trigger {
    fn file(world: &World) -> Connection {
        let file = Connection::open(world.place.path().join("journal.db")).unwrap();
        file.busy_timeout(Duration::from_secs(10)).unwrap();
        file
    }
}

impl Barrier for Trigger {
    fn server(&self, world: &World, point: u64) -> Running {
        // A server creates the database file.
        let server = world.server();
        let made = format!(
            "CREATE TRIGGER barrier BEFORE INSERT ON steps WHEN NEW.number > {point}
             BEGIN SELECT RAISE(ABORT, 'no step goes beyond the point'); END"
        );
        Trigger::file(world).execute_batch(&made).unwrap();
        server
    }

    fn lift(&self, world: &World) {
        Trigger::file(world)
            .execute_batch("DROP TRIGGER barrier")
            .unwrap();
    }
}

/// Kills the server at the journal steps from `first`. Each caller begins at another step, so that
/// the samples differ.
fn killed_at_steps(kind: Kind, journal: &str, barrier: &impl Barrier, first: usize) {
    let (calm, steps) = {
        let world = kind.world(journal);
        let server = world.server();
        let name = format!("calm-{kind:?}");
        let _reader = kind.ask(&server, &name);
        let (run, _) = end(&world, &server, &name);
        let steps = run["journal"].as_array().unwrap().len();
        (world.came(&run), steps)
    };
    assert_eq!(calm.asked, kind.questions());
    assert!(calm.calls.values().all(|count| *count == 1), "{calm:?}");
    println!("{kind:?}, {journal}");
    println!(
        "{:>5} {:>6} {:>12} {:>9} {:>8} {:>8}",
        "point", "killed", "last step", "asked", "repeated", "decided"
    );
    let step = sample_step(4);
    for point in (1..steps).skip((first - 1) % step).step_by(step) {
        killed_at(kind, journal, barrier, point as u64, &calm);
    }
}

fn killed_at(kind: Kind, journal: &str, barrier: &impl Barrier, point: u64, calm: &Came) {
    let world = kind.world(journal);
    let run = format!("run-{kind:?}-{point}");
    let run = run.as_str();
    let mut first = barrier.server(&world, point);
    let second = world.server();
    let reader = kind.ask(&first, run);
    until(&world, &second, run, |run| {
        run["steps"].as_u64() >= Some(point)
    });
    first.child.kill().unwrap();
    first.child.wait().unwrap();
    drop(reader);
    let at = world.run(&second, run).unwrap();
    assert_eq!(at["steps"].as_u64(), Some(point), "{at:#}");
    assert_eq!(at["state"], "running", "{at:#}");
    barrier.lift(&world);
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

#[test]
fn a_run_comes_to_the_same_end_wherever_its_process_is_killed_with_sqlite() {
    killed_at_steps(Kind::Agent, "sqlite:journal.db", &Trigger, 1);
}

#[test]
fn a_script_comes_to_the_same_end_wherever_its_process_is_killed_with_sqlite() {
    killed_at_steps(Kind::Script, "sqlite:journal.db", &Trigger, 2);
}

#[cfg(feature = "redis")]
mod redis {
    use std::cell::RefCell;

    use quillet_test_support::RedisServer;

    use super::super::proxy::Proxy;
    use super::*;

    struct Passed {
        redis: String,
        proxy: RefCell<Option<Proxy>>,
    }

    impl Barrier for Passed {
        fn server(&self, world: &World, point: u64) -> Running {
            let proxy = Proxy::start(&self.redis, point);
            let server = world.server_at(&proxy.url);
            self.proxy.replace(Some(proxy));
            server
        }

        fn lift(&self, _: &World) {
            self.proxy.replace(None);
        }
    }

    fn killed(kind: Kind, first: usize) {
        let redis = RedisServer::start();
        let barrier = Passed {
            redis: redis.url(),
            proxy: RefCell::default(),
        };
        killed_at_steps(kind, &redis.url(), &barrier, first);
    }

    #[test]
    fn a_run_comes_to_the_same_end_wherever_its_process_is_killed_with_redis() {
        killed(Kind::Agent, 3);
    }

    #[test]
    fn a_script_comes_to_the_same_end_wherever_its_process_is_killed_with_redis() {
        killed(Kind::Script, 4);
    }
}

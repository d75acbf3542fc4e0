//! Journals that are truncated, old, full or unavailable, and definitions that change during a run.
//! Each case must lead to a clear state without loss or panic.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rusqlite::{Connection, params};
use serde_json::{Value, json};

use super::{TURNS, World, ask, ask_script, end, scripts, until};
use crate::Done;
use crate::ask::{borrowed, reach};
use crate::serve::Running;

/// Runs a command on a journal.
fn runs(world: &World, journal: &str, args: &[&str]) -> Done {
    let around = reach(&world.provider);
    let mut env = borrowed(&around);
    env.push(("QUILLET_JOURNAL", journal));
    let args = [&["runs"], args, &["--store", "dir:s"]].concat();
    let done = world.place.run_with(&args, "", &env);
    assert!(!done.err.contains("panicked"), "{args:?}: {done:?}");
    assert!(done.code.is_some_and(|code| code != 101), "{done:?}");
    done
}

/// Kills the server, so that its journal stays as it is.
fn kill(mut server: Running) {
    server.child.kill().unwrap();
    server.child.wait().unwrap();
}

/// A world with a run that waits for approval.
fn waiting() -> World {
    let world = World::with("sqlite:journal.db", "", "ask: [send]\n");
    let server = world.server();
    ask(&server, "run");
    until(&world, &server, "run", |run| run["state"] == "waiting");
    kill(server);
    world
}

fn file(world: &World) -> Connection {
    Connection::open(world.place.path().join("journal.db")).unwrap()
}

fn decide(server: &Running, body: &Value) {
    let answer = server.request("POST", "/v1/response/run/decide", &body.to_string());
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
}

/// Approves the calls of a run and returns its end.
fn agreed(world: &World, server: &Running) -> Value {
    loop {
        let run = until(world, server, "run", |run| {
            run["state"] == "waiting" || run["state"] == "ended"
        });
        if run["state"] == "ended" {
            return run;
        }
        for call in run["waiting"].as_array().unwrap() {
            decide(
                server,
                &json!({"call": call["call"], "decision": "approve"}),
            );
        }
    }
}

/// Copies the journal and truncates the copy.
fn cut(world: &World, name: &str, main: usize, log: Option<usize>) -> String {
    let place = |of: &Path, end: &str| of.join(format!("{name}{end}"));
    let from = world.place.path();
    for (end, length) in [("", Some(main)), ("-wal", log)] {
        let Some(length) = length else { continue };
        let bytes = fs::read(from.join(format!("journal.db{end}"))).unwrap_or_default();
        let length = length.min(bytes.len());
        fs::write(place(from, end), &bytes[..length]).unwrap();
    }
    format!("sqlite:{name}")
}

#[test]
fn a_file_that_is_cut_anywhere_is_whole_or_says_that_it_is_not() {
    let world = waiting();
    let size = |end: &str| {
        let path = world.place.path().join(format!("journal.db{end}"));
        fs::metadata(path).map_or(0, |about| about.len() as usize)
    };
    let (main, log) = (size(""), size("-wal"));
    assert!(main + log > 4096, "{main} {log}");
    let page = 4096;
    // A frame of the write-ahead log is a page after a header of 24 bytes. The log itself has a
    // header of 32 bytes.
    let frame = page + 24;
    let mut cuts: Vec<(usize, Option<usize>)> = vec![(0, None), (1, None), (99, None)];
    for edge in (page..=main).step_by(page) {
        cuts.extend([(edge - 1, None), (edge, None), (edge + 1, None)]);
    }
    for at in (0..=log).step_by(frame * (log / frame / 12 + 1)) {
        cuts.extend([
            (main, Some(at)),
            (main, Some(at + 32)),
            (main, Some(at + 57)),
        ]);
    }
    cuts.push((main, Some(log)));
    let mut states = std::collections::BTreeMap::new();
    for (number, (main, log)) in cuts.into_iter().enumerate() {
        let journal = cut(&world, &format!("cut-{number}.db"), main, log);
        let shown = runs(&world, &journal, &["show", "run"]);
        let what = match shown.code {
            Some(0) => {
                assert!(shown.out.contains("state  "), "{main} {log:?}: {shown:?}");
                "shows the run"
            }
            _ if shown.err.contains("unknown durable run") => "has no run",
            _ => {
                // The error names the invalid file.
                assert!(shown.err.contains("cut-"), "{main} {log:?}: {shown:?}");
                "says that it is broken"
            }
        };
        *states.entry(what).or_insert(0) += 1;
    }
    println!("{states:?}");
    assert!(states.contains_key("shows the run"), "{states:?}");
    // The journal itself is unchanged.
    let shown = runs(&world, "sqlite:journal.db", &["show", "run"]);
    assert!(shown.out.contains("pending approvals"), "{shown:?}");
}

#[test]
fn a_step_that_this_version_does_not_know_is_named() {
    let world = waiting();
    let put = |number: i64, step: &str| {
        let done = file(&world).execute(
            "UPDATE steps SET step = ?1 WHERE number = ?2",
            params![step, number],
        );
        assert_eq!(done.unwrap(), 1);
    };
    let kept: String = file(&world)
        .query_row("SELECT step FROM steps WHERE number = 3", [], |row| {
            row.get(0)
        })
        .unwrap();
    put(3, r#"{"step":"dreamt","of":"sheep"}"#);
    for args in [&["show", "run"][..], &["resume", "run"]] {
        let done = runs(&world, "sqlite:journal.db", args);
        println!("{args:?}: {}", done.err.trim());
        // Only `show` reads the invalid step, because a run that waits for approval is not resumed.
        if args[0] == "show" {
            assert_ne!(done.code, Some(0), "{done:?}");
            assert!(done.err.contains("dreamt"), "{done:?}");
        }
    }
    let listed = runs(&world, "sqlite:journal.db", &["list"]);
    assert!(listed.out.contains("waiting"), "{listed:?}");
    // Journals of an older version lack newer fields.
    put(3, &kept);
    let old = json!({"step": "admitted", "request": {"who": {"key": "a", "scope": "any"},
        "request_id": "run", "request": {"model": {"model_id": "agent/clerk", "model": "openai"},
        "input": {"content": "Do it"}}}});
    put(1, &old.to_string());
    let shown = runs(&world, "sqlite:journal.db", &["show", "run"]);
    assert!(shown.out.contains("pending approvals"), "{shown:?}");
    let server = world.server();
    let came = world.came(&agreed(&world, &server));
    assert!(came.calls.values().all(|count| *count == 1), "{came:?}");
}

#[test]
fn what_changes_meanwhile_is_told_or_changes_nothing() {
    // A change of the stored definition does not affect a run that has started.
    let mut world = waiting();
    world.place = world.place.with(&[(
        "s/agents/clerk.yaml",
        "model: gpt-4o\ninstructions: Do nothing.\ntools: [\"*\"]\nask: [send]\n",
    )]);
    let server = world.server();
    let came = world.came(&agreed(&world, &server));
    assert_eq!(came.asked, TURNS.len() + 1, "{came:?}");
    for asked in world.provider.requests() {
        let body: Value = serde_json::from_slice(&asked.body).unwrap();
        assert_eq!(body["messages"][0]["content"], "Do it.", "{body}");
    }
    // The tool is removed, and the model gets an error.
    let world = waiting();
    fs::remove_file(world.place.path().join("s/tools/send.json")).unwrap();
    let server = world.server();
    let came = world.came(&agreed(&world, &server));
    assert!(!came.calls.contains_key("send 10"), "{came:?}");
    println!("a tool that is gone: {}", came.text);
    // In a script, the run itself reports the error.
    let world = World::of_script("sqlite:journal.db", "", scripts::SCRIPT, scripts::answer);
    let server = world.server();
    let mut body = scripts::durable();
    body["ask"] = json!(["send"]);
    let _reader = ask_script(&server, "run", &body);
    until(&world, &server, "run", |run| run["state"] == "waiting");
    kill(server);
    fs::remove_file(world.place.path().join("s/tools/send.json")).unwrap();
    let server = world.server();
    let run = agreed(&world, &server);
    let last = run["journal"].as_array().unwrap().last().unwrap();
    assert_eq!(last["how"], "error", "{last}");
    assert!(last["error"].as_str().unwrap().contains("send"), "{last}");
    let shown = runs(&world, "sqlite:journal.db", &["show", "run"]);
    assert!(shown.out.contains("error"), "{shown:?}");
}

/// The system clock is changed, so recorded times are a day in the future or in the past.
#[test]
fn a_clock_that_jumps_by_a_day_holds_up_no_run() {
    for day in [86_400_000_i64, -86_400_000] {
        let world = World::new("sqlite:journal.db");
        let first = world.server();
        ask(&first, "run");
        until(&world, &first, "run", |run| {
            run["steps"].as_u64() >= Some(6)
        });
        kill(first);
        let moved = "UPDATE runs SET free_ms = free_ms + ?1, updated_ms = updated_ms + ?1,
                     created_ms = created_ms + ?1";
        assert_eq!(file(&world).execute(moved, [day]).unwrap(), 1);
        file(&world)
            .execute("UPDATE steps SET at_ms = at_ms + ?1", [day])
            .unwrap();
        let second = world.server();
        let (run, _) = end(&world, &second, "run");
        let came = world.came(&run);
        for (call, count) in &came.calls {
            let never = call.starts_with("send") || call.starts_with("note");
            assert!(*count == 1 || !never, "{day}: {call} {count}");
        }
    }
}

/// When the disk is full, the run pauses, and it continues when there is space again.
#[cfg(target_os = "linux")]
#[test]
fn a_disk_that_is_full_loses_nothing() {
    let world = World::new("sqlite:journal.db");
    drop(world.server());
    let used = |end: &str| {
        let path = world.place.path().join(format!("journal.db{end}"));
        fs::metadata(path).map_or(0, |about| about.len())
    };
    // `ulimit` counts blocks of 512 bytes, as POSIX requires, and this limit leaves space for a few
    // steps.
    let most = used("").max(used("-wal")) / 512 + 160;
    let around = reach(&world.provider);
    let program = env!("CARGO_BIN_EXE_quillet");
    let limited = format!("trap '' XFSZ; ulimit -f {most}; exec {program} \"$@\"");
    let first = Running::start_by(
        &world.place,
        &["sh", "-c", &limited, "quillet"],
        &["--store", "dir:s"],
        &borrowed(&around),
    );
    ask(&first, "run");
    let began = Instant::now();
    let mut steps = 0;
    // Wait until the journal stops growing.
    let mut since = Instant::now();
    while since.elapsed() < Duration::from_secs(2) {
        assert!(began.elapsed() < Duration::from_secs(60));
        let now: u64 = file(&world)
            .query_row("SELECT coalesce(max(number), 0) FROM steps", [], |row| {
                row.get(0)
            })
            .unwrap_or(0);
        if now != steps {
            (steps, since) = (now, Instant::now());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("{steps} steps fit");
    assert!(steps > 0);
    kill(first);
    let shown = runs(&world, "sqlite:journal.db", &["show", "run"]);
    assert!(shown.out.contains("state  "), "{shown:?}");
    let second = world.server();
    let (run, _) = end(&world, &second, "run");
    let came = world.came(&run);
    for (call, count) in &came.calls {
        let never = call.starts_with("send") || call.starts_with("note");
        assert!(*count == 1 || !never, "{call} {count}");
    }
}

#[cfg(feature = "redis")]
#[test]
fn redis_that_is_away_is_waited_for() {
    let data = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut redis = quillet_test_support::RedisServer::start_with(&data);
    for kind in ["agent", "script"] {
        let world = match kind {
            "agent" => World::new(&redis.url()),
            _ => World::of_script(&redis.url(), "", scripts::SCRIPT, scripts::answer),
        };
        let server = world.server();
        let id = format!("run-{kind}");
        let _reader = match kind {
            "agent" => {
                ask(&server, &id);
                None
            }
            _ => Some(ask_script(&server, &id, &scripts::durable())),
        };
        until(&world, &server, &id, |run| run["steps"].as_u64() >= Some(6));
        redis.kill();
        // The outage is longer than the lease.
        std::thread::sleep(Duration::from_secs(5));
        redis.restart();
        let (run, _) = end(&world, &server, &id);
        let came = world.came(&run);
        for (call, count) in &came.calls {
            let never = call.starts_with("send") || call.starts_with("note");
            assert!(*count == 1 || !never, "{kind}: {call} {count}");
        }
        println!("{kind}: {} questions, {:?}", came.asked, came.calls);
    }
}

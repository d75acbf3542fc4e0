//! The approval prompt of `quillet chat` on a terminal.

use serde_json::Value;

use super::World;
use crate::ask::reach;
use crate::pseudo_terminal::Terminal;

const ASKED: &str = "needs approval. Allow the call? y, n, or a reason to deny";

fn chat(world: &World) -> Terminal {
    let args = [
        "chat",
        "--agent",
        "clerk",
        "--store",
        "dir:s",
        "--session",
        "s1",
    ];
    let mut command = world.place.command(&args);
    command.envs(reach(&world.provider));
    Terminal::start(command)
}

fn world() -> World {
    World::with("sqlite:journal.db", "", "ask: [send]\n")
}

/// Returns the messages of the last request to the model as JSON.
fn told(world: &World) -> String {
    let requests = world.provider.requests();
    let body: Value = serde_json::from_slice(&requests.last().unwrap().body).unwrap();
    body["messages"].to_string()
}

#[test]
fn words_decide() {
    for (first, calls, says) in [
        ("y", true, "send 10"),
        ("n", false, "the person who was asked did not agree"),
        ("Not on a Sunday.", false, "The user says: Not on a Sunday."),
        // An empty line is not a decision, so the question is repeated.
        ("\ry", true, "send 10"),
    ] {
        let world = world();
        let mut terminal = chat(&world);
        terminal.until(">");
        terminal.types("Do it\r");
        terminal.until("send(");
        terminal.until("\"step\":10");
        terminal.until(ASKED);
        if let Some(rest) = first.strip_prefix('\r') {
            terminal.types("\r");
            terminal.until("y, n, or a reason to deny");
            terminal.types(&format!("{rest}\r"));
        } else {
            terminal.types(&format!("{first}\r"));
        }
        // The tool is called a second time in the last turn.
        terminal.until("\"step\":40");
        terminal.until(ASKED);
        terminal.types("y\r");
        terminal.until("That is all.");
        terminal.types("/exit\r");
        assert_eq!(terminal.end(), Some(0), "{first:?}: {}", terminal.shown);
        let made = world.tools.counts();
        assert_eq!(made.contains_key("send 10"), calls, "{first:?}: {made:?}");
        assert_eq!(made.get("send 40"), Some(&1), "{first:?}: {made:?}");
        assert!(
            made.values().all(|count| *count == 1),
            "{first:?}: {made:?}"
        );
        assert!(told(&world).contains(says), "{first:?}: {}", told(&world));
    }
}

#[test]
fn whoever_leaves_leaves_it_waiting() {
    for (key, name) in [("\u{3}", "control-C"), ("\u{4}", "control-D")] {
        let world = world();
        let mut terminal = chat(&world);
        terminal.until(">");
        terminal.types("Do it\r");
        terminal.until(ASKED);
        // The key is pressed before the editor starts, so the terminal itself handles it.
        terminal.until("> ");
        terminal.types(key);
        terminal.until("the approval stays pending");
        let code = terminal.end();
        assert_eq!(code, Some(130), "{name}: {}", terminal.shown);
        assert!(!world.tools.counts().contains_key("send 10"), "{name}");
        // Another client makes the decision later.
        let store = ["--store", "dir:s"];
        let listed = world
            .place
            .run(&[&["runs", "list", "--state", "waiting"], &store[..]].concat());
        let id = listed.out.split(' ').next().unwrap().to_owned();
        assert!(id.starts_with("any.resp-"), "{name}: {listed:?}");
        let shown = world
            .place
            .run(&[&["runs", "show", &id], &store[..]].concat());
        assert!(shown.out.contains("pending approvals"), "{shown:?}");
        let denied = world
            .place
            .run(&[&["runs", "decide", &id, "deny"], &store[..]].concat());
        assert_eq!(denied.code, Some(0), "{name}: {denied:?}");
        let around = reach(&world.provider);
        let around = crate::ask::borrowed(&around);
        let resumed = [&["runs", "resume", &id], &store[..]].concat();
        let resumed = world.place.run_with(&resumed, "", &around);
        // The run waits for approval again, in its last turn.
        assert_eq!(resumed.code, Some(0), "{name}: {resumed:?}");
        assert!(
            told(&world).contains("did not agree"),
            "{name}: {}",
            told(&world)
        );
    }
}

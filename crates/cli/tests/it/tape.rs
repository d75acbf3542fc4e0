//! `--record` and `--replay`.

use quillet_fake_provider::{FakeProvider, ReplyScript, ScriptedReply};

use crate::Place;
use crate::ask::{borrowed, reach};

#[test]
fn what_was_recorded_is_played_without_a_provider() {
    let place = Place::new();
    let provider = FakeProvider::start(ReplyScript::turns([ScriptedReply::text(["Four", "."])]));
    let env = reach(&provider);
    let ask = |more: &[&'static str]| {
        let mut args = vec!["ask", "What is 2+2?", "-m", "gpt-4o"];
        args.extend(more);
        args
    };
    place
        .run_with(&ask(&["--record", "tapes"]), "", &borrowed(&env))
        .gives("Four.\n");
    let tapes: Vec<_> = std::fs::read_dir(place.path().join("tapes"))
        .unwrap()
        .collect();
    assert_eq!(tapes.len(), 1);
    let tape = std::fs::read_to_string(tapes[0].as_ref().unwrap().path()).unwrap();
    assert!(!tape.contains("canary"), "{tape}");
    drop(provider);
    // Replays need neither a key nor an address, because no provider is called.
    place.run(&ask(&["--replay", "tapes"])).gives("Four.\n");
    let miss = place.run(&ask(&["--replay", "tapes", "--temperature", "1"]));
    miss.fails(4, &["no recording", "the nearest", "temperature"]);
    let missing = place.run(&ask(&["--replay", "nowhere"]));
    missing.fails(2, &["nowhere"]);
    let both = place.run(&ask(&["--replay", "tapes", "--record", "x"]));
    both.fails(2, &["cannot be used with"]);
    let set = [("QUILLET_REPLAY", "tapes")];
    place.run_with(&ask(&[]), "", &set).gives("Four.\n");
}

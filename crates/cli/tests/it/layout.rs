//! `quillet fmt` and `quillet check` for scripts.

use std::fs;

use crate::Place;

const LOOSE: &str = "user:   hi\n\n\n\nassistant:  \"[[X]]\"\n";
const TIDY: &str = "user: hi\n\nassistant: \"[[X]]\"\n";

#[test]
fn scripts_are_laid_out_in_place_or_on_standard_output() {
    let place = Place::new().with(&[("a.ai.yaml", LOOSE), ("b.ai.yaml", TIDY)]);
    let checked = place.run(&["fmt", "--check", "a.ai.yaml", "b.ai.yaml"]);
    assert_eq!(
        (checked.code, checked.out.as_str()),
        (Some(1), "a.ai.yaml\n")
    );
    place.run(&["fmt", "a.ai.yaml", "b.ai.yaml"]).gives("");
    assert_eq!(
        fs::read_to_string(place.path().join("a.ai.yaml")).unwrap(),
        TIDY
    );
    place.run(&["fmt", "--check", "a.ai.yaml"]).gives("");
    place.run_with(&["fmt", "-"], LOOSE, &[]).gives(TIDY);
    place
        .run_with(&["fmt", "-"], "user: [a\n", &[])
        .fails(3, &["standard input:1:"]);
}

#[test]
fn scripts_and_fixtures_are_checked_without_running() {
    let place = Place::new().with(&[
        ("good.ai.yaml", "user: hi\n$print: \"?=1\"\n"),
        ("bad.ai.yaml", "user: hi\n$prnt: x\n"),
        ("good.fixture.yaml", "- {input: x, output: {$eqq: 1}}\n"),
    ]);
    let good = place.run(&["check", "good.ai.yaml"]);
    assert_eq!((good.code, good.out.as_str()), (Some(0), ""), "{good:?}");
    let bad = place.run(&["check", "."]);
    assert_eq!(bad.code, Some(3), "{bad:?}");
    for part in ["bad.ai.yaml:2:2", "$print", "good.fixture.yaml:1:", "$eq"] {
        assert!(bad.out.contains(part), "{part} is not in\n{}", bad.out);
    }
}

//! Companions of a prompt file: partials, referenced files, and the environment.

use crate::Place;

const PROMPTY: &str = "---\nname: p\nmodel: {id: '${env:TEAM_MODEL}', connection: {apiKey: '${env:KEY}'}}\ndescription: ${file:about.json}\n---\nsystem:\nHi\n";

#[test]
fn partials_are_seen_and_their_errors_have_their_own_place() {
    let place = Place::new().with(&[
        ("in/one.prompt", "Hi {{> head}}!"),
        ("in/_head.prompt", "---\nmodel: m\n---\nHead {{> foot}}"),
        ("in/_foot.hbs", "foot {{x}}"),
        ("in/two.tmpl", "{{template \"_go\" .}}"),
        ("in/_go.tmpl", "\n{{index .list 5}}"),
        ("in/bad.prompt", "{{> broken}}"),
        ("in/_broken.hbs", "one\n {{#if x}"),
    ]);
    let done = place.run(&["render", "in/one.prompt", "-D", "x=1"]);
    assert!(done.out.contains("Hi Head foot 1!"), "{done:?}");
    let cases: [(&[&str], &str); 4] = [
        (
            &["render", "in/two.tmpl", "-D", "list:=[1]"],
            "in/_go.tmpl:2:",
        ),
        (&["render", "in/bad.prompt"], "in/_broken.hbs:2:2"),
        (&["check", "in/bad.prompt"], "in/_broken.hbs:2:2"),
        (&["check", "in"], "in/_broken.hbs:2:2"),
    ];
    for (args, expected) in cases {
        let done = place.run(args);
        let said = format!("{}{}", done.out, done.err);
        assert_eq!(said.matches(expected).count(), 1, "{args:?}: {said}");
    }
}

#[test]
fn the_environment_is_closed_until_it_is_allowed() {
    let files = [("p.prompty", PROMPTY), ("about.json", "\"text\"")];
    let place = Place::new().with(&files);
    let env = [("TEAM_MODEL", "the-model"), ("KEY", "the-key")];
    let render = |place: &Place| place.run_with(&["render", "p.prompty"], "", &env);
    let done = render(&place);
    assert_ne!(done.code, Some(0), "{done:?}");
    for part in ["p.prompty:3:", "prompts.env_allow", "TEAM_MODEL"] {
        assert!(done.err.contains(part), "{done:?}");
    }
    assert!(!done.err.contains("the-"), "{done:?}");
    let place = place.with(&[("quillet.toml", "[prompts]\nenv_allow = [\"TEAM_*\"]\n")]);
    let done = render(&place);
    assert!(done.out.contains("Hi"), "{done:?}");
}

#[test]
fn files_are_read_from_the_own_folder_in_a_folder_store_too() {
    let place = Place::new().with(&[
        (
            "prompts/p.prompty",
            "---\ndescription: ${file:about.json}\n---\nHi",
        ),
        ("prompts/about.json", "\"text\""),
        (
            "prompts/out.prompty",
            "---\ndescription: ${file:../secret.txt}\n---\nHi",
        ),
        ("secret.txt", "the-secret"),
    ]);
    let done = place.run(&["prompt", "list", "--store", "dir:."]);
    assert_eq!(done.out, "out\np\n", "{done:?}");
    assert!(done.err.contains("out is invalid"), "{done:?}");
    assert!(!done.err.contains("the-secret"), "{done:?}");
}

#[test]
fn partials_of_a_folder_store_go_by_their_file_names() {
    let place = Place::new().with(&[
        ("prompts/one.prompt", "{{> a}} {{> b}}"),
        ("prompts/_a.prompt", "---\nmodel: m\n---\nA{{x}}"),
        ("prompts/_b.hbs", "B{{x}}"),
        ("prompts/j/two.j2", "{% include 'c' %}"),
        ("prompts/j/_c.j2", "C{{ x }}"),
    ]);
    for (id, expected) in [("one", "A1 B1"), ("j.two", "C1")] {
        let done = place.run(&["render", id, "--store", "dir:.", "-D", "x=1"]);
        assert!(done.out.contains(expected), "{id}: {done:?}");
    }
}

//! `quillet convert`.

use std::fs;

use crate::Place;

const JINJA: &str = "{% for item in items %}- {{ item.title }}\n{% endfor %}";

const PROMPTY: &str = "---
name: greet
model: {id: gpt-4o, options: {temperature: 0.2}}
inputs:
  - {name: customer, kind: string, required: true}
---
system:
You help {{ customer }}.

user:
Hi!
";

fn place() -> Place {
    Place::new().with(&[
        ("old.j2", JINJA),
        ("bad.j2", "{{ a | upper }}\n{% set x = 1 %}"),
        ("greet.prompty", PROMPTY),
        ("fun/skprompt.txt", "Say {{$x}} to {{people.name $id}}."),
        ("notes.txt", "Hi {name}"),
    ])
}

#[test]
fn templates_from_files_and_standard_input() {
    let place = place();
    let cases: [(&[&str], &str, &str); 8] = [
        (
            &["old.j2", "--to", "go"],
            "",
            "{{range .items}}- {{.title}}\n{{end}}",
        ),
        (
            &["old.j2", "--to", "hbs"],
            "",
            "{{#each items}}- {{title}}\n{{!}}{{/each}}",
        ),
        (
            &["old.j2", "-t", "mustache"],
            "",
            "{{#items}}- {{title}}\n{{/items}}",
        ),
        (
            &["fun/skprompt.txt", "--to", "go"],
            "",
            "Say {{.x}} to {{people_name .id}}.",
        ),
        (
            &["notes.txt", "--from", "langchain", "--to", "jinja"],
            "",
            "Hi {{ name }}",
        ),
        (&["-", "-f", "go", "-t", "f-string"], "{{.a}}{", "{a}{{"),
        (
            &["-", "-f", "mustache", "-t", "go", "-k", "a=list"],
            "{{#a}}{{b}}{{/a}}",
            "{{range .a}}{{.b}}{{end}}",
        ),
        (
            &["-", "-f", "go", "-t", "jinja", "-k", "a=boolean"],
            "{{.a}}",
            "{% if a %}true{% else %}false{% endif %}",
        ),
    ];
    for (args, input, expected) in cases {
        let mut all = vec!["convert", "--assume-text"];
        all.extend(args);
        let done = place.run_with(&all, input, &[]);
        assert_eq!(
            (done.out.as_str(), done.code),
            (expected, Some(0)),
            "{done:?}"
        );
    }
}

#[test]
fn prompt_files_become_each_other() {
    let place = place();
    for (name, to) in [
        ("a.yaml", "semantic-kernel"),
        ("a.prompt", "dotprompt"),
        ("a.json", "json"),
    ] {
        place
            .run(&["convert", "greet.prompty", "--to", to, "-o", name])
            .gives("");
        let back = place.run(&["convert", name, "--to", "prompty"]);
        for part in [
            "gpt-4o",
            "temperature: 0.2",
            "customer",
            "system:\nYou help {{ customer }}.",
        ] {
            assert!(back.out.contains(part), "{part:?} is not in {back:?}");
        }
    }
    let template = [
        "convert",
        "-",
        "--from",
        "go",
        "--to",
        "prompty",
        "--assume-text",
    ];
    let prompty = place.run_with(&template, "Hi {{.name}}", &[]);
    prompty.gives("user:\nHi {{ name }}");
}

#[test]
fn what_has_no_counterpart_is_refused_with_its_place() {
    let place = place();
    place.run(&["convert", "bad.j2", "--to", "go"]).fails(
        3,
        &[
            "bad.j2:1:4",
            "the filter upper",
            "^^^",
            "bad.j2:2:1",
            "the tag set",
        ],
    );
    place
        .run(&["convert", "old.j2", "--to", "f-string"])
        .fails(3, &["old.j2:1:1", "f-string has no loops"]);
    place
        .run(&["convert", "old.j2", "--to", "go", "--strict"])
        .fails(
            3,
            &["exact only if these are text or whole numbers: item.title"],
        );
    let done = place.run(&["convert", "old.j2", "--to", "go"]);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(done.err.contains("warning: exact only if"), "{done:?}");
}

#[test]
fn nothing_is_overwritten_and_wrong_usage_says_so() {
    let place = place();
    let cases: [(&[&str], i32, &[&str]); 8] = [
        (
            &["old.j2", "--to", "go", "-o", "notes.txt"],
            1,
            &["notes.txt: file already exists", "--force"],
        ),
        (
            &["notes.txt", "--to", "go"],
            2,
            &["unknown format of notes.txt: pass --from"],
        ),
        (&["old.j2"], 2, &["pass --to FORMAT"]),
        (
            &["old.j2", "--to", "handlbars"],
            2,
            &["did you mean handlebars?"],
        ),
        (
            &["old.j2", "--to", "go", "-k", "a"],
            2,
            &["--kind \"a\" must be NAME=KIND"],
        ),
        (
            &["greet.prompty", "--to", "go"],
            2,
            &["cannot convert the prompt file"],
        ),
        (
            &["nothing.j2", "--to", "go"],
            1,
            &["nothing.j2: No such file"],
        ),
        (&["fun", "--to", "go"], 2, &["pass --output FOLDER"]),
    ];
    for (args, code, words) in cases {
        let mut all = vec!["convert", "--assume-text"];
        all.extend(args);
        place.run(&all).fails(code, words);
    }
    let forced = [
        "convert",
        "old.j2",
        "-o",
        "notes.txt",
        "--force",
        "--to",
        "f-string",
        "-k",
        "items=list",
    ];
    place.run(&forced).fails(3, &["f-string has no loops"]);
    assert_eq!(
        fs::read_to_string(place.path().join("notes.txt")).unwrap(),
        "Hi {name}"
    );
    let forced = ["convert", "old.j2", "-o", "old.gotmpl", "--assume-text"];
    place.run(&forced).gives("");
    place.run(&[&forced[..], &["--force"]].concat()).gives("");
}

#[test]
fn a_folder_is_converted_into_another() {
    let place = place();
    let done = place.run(&["convert", ".", "-o", "new", "--to", "go", "--assume-text"]);
    assert_eq!((done.code, done.out.as_str()), (Some(3), ""), "{done:?}");
    for part in [
        "the filter upper",
        "cannot convert the prompt file ./greet.prompty",
        "2 of 4 files converted",
    ] {
        assert!(done.err.contains(part), "{part:?} is not in {done:?}");
    }
    let read = |name: &str| fs::read_to_string(place.path().join("new").join(name)).unwrap();
    assert_eq!(read("old.gotmpl"), "{{range .items}}- {{.title}}\n{{end}}");
    assert_eq!(read("fun.gotmpl"), "Say {{.x}} to {{people_name .id}}.");
}

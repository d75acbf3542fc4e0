//! A template that reads an unknown name fails with the most similar name. An optional name without
//! a value renders as an empty text.

use serde_json::{Value as Json, json};

use crate::cases::case::Case;
use crate::cases::run_cases;

const FRONT: &str = "---\ninput: [given, {topic: {type: string}}]\nlang: French\nobject: {a: 1}\nlist: [1, 2]\n---\n";

/// Positions of a template. `T` is where the name is read.
const PLACES: [(&str, &str); 17] = [
    ("message", "user: 'x T'"),
    ("bare message", "'x T'"),
    ("system message", "system: 'x T'\nuser: y"),
    (
        "part of a system message",
        "system: {background: 'x T', notes: [y]}\nuser: y",
    ),
    ("message with a hole", "user: y\nassistant: 'T [[A]]'"),
    ("immediate message", "user: '!x T'"),
    ("message object", "- {role: user, content: 'x T'}"),
    ("argument", "$echo: 'x T'"),
    ("argument in brackets", "$echo(\"x T\")"),
    ("field of an argument", "$set: {x: {y: ['T']}}"),
    ("condition", "- $if: 'T'\n  then: [$exit]"),
    ("template of $format", "$format: {template: 'T'}"),
    ("what a loop goes through", "- $for: 'T'\n  do: [$continue]"),
    ("loop", "- $for: 2\n  do:\n    - $echo: 'T'"),
    ("argument of a hole", "$echo: \"[[@echo(text='T')]]\""),
    ("link of a chain", "-> $echo(\"T\")"),
    (
        "template in a template",
        "$prompt: {p: 'a T'}\n$echo: '{{p}}'",
    ),
];

/// Unknown names in a template, and the most similar known name.
const READ: [(&str, &str); 8] = [
    ("{{lnag}}", "`lnag` (did you mean `lang`?)"),
    ("{{ lnag | upper }}", "`lnag` (did you mean `lang`?)"),
    ("{{ lnag.length }}", "`lnag` (did you mean `lang`?)"),
    ("{{ lnag[0] }}", "`lnag` (did you mean `lang`?)"),
    ("{{ lang ~ lnag }}", "`lnag` (did you mean `lang`?)"),
    (
        "{% if lang %}{{lnag}}{% endif %}",
        "`lnag` (did you mean `lang`?)",
    ),
    (
        "{% for x in lnag %}{{x}}{% endfor %}",
        "`lnag` (did you mean `lang`?)",
    ),
    ("{{quux}}", "`quux` (declare it under `input`"),
];

/// Optional names in a template, and the rendered text.
const LEGAL: [(&str, &str); 15] = [
    ("{% if quux %}{{quux}}{% else %}b{% endif %}", "b"),
    ("{{topic}}", ""),
    ("{{given}}", ""),
    ("{{ topic | upper }}", ""),
    ("{% if topic %}a{% else %}b{% endif %}", "b"),
    ("{{ quux | default('d') }}", "d"),
    ("{% if quux is defined %}a{% else %}b{% endif %}", "b"),
    ("{% if quux is defined and quux > 3 %}a{% endif %}", ""),
    ("{% if lang == 'x' %}{{quux}}{% endif %}", ""),
    ("{% set quux = 1 %}{{quux}}", "1"),
    ("{% for quux in list %}{{quux}}{% endfor %}", "12"),
    ("{{object.b}}", ""),
    ("{{ENV.QUUX}}", ""),
    ("{{LatestResult}}", ""),
    ("{{prompt.quux}}", ""),
];

fn case(id: &str, files: &Json, expect: &Json) -> Case {
    let json = json!({"id": id, "files": files, "run": "main.ai.yaml", "expect": expect});
    serde_json::from_value(json).unwrap()
}

fn main(script: &str) -> Json {
    json!({
        "main.ai.yaml": format!("{FRONT}{script}\n"),
        "echo.ai.yaml": "---\ninput: [text]\n---\n$echo: '{{text}}'\n",
    })
}

fn hold(cases: impl Iterator<Item = Case>) {
    let report = run_cases(cases).unwrap();
    report.print(false);
    assert_eq!(report.failed(), 0);
}

#[test]
fn a_name_that_nothing_has_is_an_error_wherever_it_is_read() {
    let cases = PLACES.into_iter().flat_map(|(name, place)| {
        READ.into_iter().map(move |(template, told)| {
            let wanted = json!({
                "error_contains": [format!("unknown variable {told}"), "main.ai.yaml:"],
                "request_count": 0,
            });
            let id = format!("{name}: {template}");
            case(&id, &main(&place.replace('T', template)), &wanted)
        })
    });
    hold(cases);
}

#[test]
fn a_name_that_may_be_missing_is_nothing() {
    let cases = LEGAL.into_iter().map(|(template, printed)| {
        let script = format!("$echo: '{}'", template.replace('\'', "''"));
        let wanted = json!({"result": printed});
        case(template, &main(&script), &wanted)
    });
    hold(cases);
}

#[test]
fn other_formats_hold_names_to_the_same() {
    let table = [
        ("golang", "{{.lnag}}", Err("`lnag` (did you mean `lang`?)")),
        ("golang", "{{.lang}}{{.topic}}", Ok("French")),
        ("fstring", "{lnag}", Err("`lnag` (did you mean `lang`?)")),
        ("fstring", "{ lang }{topic}", Ok("French")),
    ];
    let cases = table.into_iter().map(|(format, template, wanted)| {
        let script = format!("$format: {{template: '{template}', templateFormat: {format}}}");
        let wanted = match wanted {
            Ok(text) => json!({"result": text}),
            Err(told) => json!({"error_contains": [format!("unknown variable {told}")]}),
        };
        case(&format!("{format}: {template}"), &main(&script), &wanted)
    });
    hold(cases);
}

#[test]
fn an_unknown_name_is_told_where_it_stands() {
    let table = [
        ("user: 'Hi {{lnag}}'\n", "main.ai.yaml:7:13"),
        (
            "user: |-\n  Hi\n  you {{ lang }} {{lnag}}\n",
            "main.ai.yaml:9:20",
        ),
    ];
    let cases = table.into_iter().map(|(script, place)| {
        let wanted = json!({"error_contains": [place]});
        case(place, &main(script), &wanted)
    });
    hold(cases);
}

#[test]
fn templates_know_the_file_and_lengths_as_expressions_do() {
    let table = [
        ("{{lang.length}}", "?=lang.length", "6"),
        ("{{list.length}}", "?=list.length", "2"),
        ("{{thumbs.length}}", "?=thumbs.length", "3"),
        ("{{sized.length}}", "?=sized.length", "7"),
        (
            "{% if lang.length > 5 %}long{% endif %}",
            "?=lang.length > 5 ? 'long' : ''",
            "long",
        ),
        ("{{ list[0:1].length }}", "?=list.slice(0, 1).length", "1"),
    ];
    let front = "---\nlang: French\nlist: [1, 2]\nthumbs: '\u{1f44d}a'\nsized: {length: 7}\n---\n";
    let mut cases = Vec::new();
    for (template, expression, printed) in table {
        let script = format!(
            "{front}$set: {{a: '{template}', b: \"{expression}\"}}\n$ret: \"?=a + '|' + b\"\n"
        );
        let files = json!({"main.ai.yaml": script});
        let wanted = json!({"result": format!("{printed}|{printed}")});
        cases.push(case(template, &files, &wanted));
    }
    for name in ["__dirname", "__filename"] {
        for used in [name.to_owned(), format!("{name} + '/x'")] {
            let script = format!(
                "$set: {{a: \"{{{{ {used} }}}}\", b: \"?={used}\"}}\n$ret: \"?=a == b && a != ''\"\n"
            );
            let files = json!({"main.ai.yaml": script});
            cases.push(case(&used, &files, &json!({"result": true})));
        }
    }
    hold(cases.into_iter());
}

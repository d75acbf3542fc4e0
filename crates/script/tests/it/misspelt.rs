//! Misspelled names are reported with their location and the most similar name, both by `quillet
//! check` and by a run before a model is called.

use std::sync::Arc;

use quillet_script::host::NoTools;
use quillet_script::library::{Library, Memory, check};
use quillet_script::reader;
use quillet_script::syntax::ScriptSource;
use serde_json::json;

use crate::cases::case::Case;
use crate::cases::run_cases;

struct Slip {
    script: &'static str,
    /// Line and column.
    at: &'static str,
    told: &'static str,
    mend: &'static str,
}

const fn slip(
    script: &'static str,
    at: &'static str,
    told: &'static str,
    mend: &'static str,
) -> Slip {
    Slip {
        script,
        at,
        told,
        mend,
    }
}

const FRONT: &str = "---\nroles: {dobby: dobby}\nname: guide\n---\n";

/// Lines after [`FRONT`], whose last line is the fourth.
const SLIPS: &[Slip] = &[
    // Roles and words that are not roles.
    slip(
        "asistant: '[[X]]'",
        "5:1",
        "unknown role `asistant`",
        "did you mean `assistant`?",
    ),
    slip(
        "- Assistant: '[[X]]'",
        "5:3",
        "unknown role `Assistant`",
        "did you mean `assistant`?",
    ),
    slip(
        "- {role: usre, content: x}",
        "5:10",
        "unknown role `usre`",
        "did you mean `user`?",
    ),
    slip(
        "doby: '[[AI]]'",
        "5:1",
        "unknown role `doby`",
        "did you mean `dobby`?",
    ),
    slip(
        "$if: 'true'\nthen: [$exit]",
        "6:1",
        "`then` is read as the role",
        "below `$if`",
    ),
    slip(
        "$if: 'true'\nesle: [$exit]",
        "6:1",
        "`esle` is read as the role",
        "indent `else` below",
    ),
    slip(
        "$for: 3\ndo: [$exit]",
        "6:1",
        "`do` is read as the role",
        "below `$for` or `$while`",
    ),
    slip(
        "print: x",
        "5:1",
        "unknown role `print`",
        "write the directive as `$print`",
    ),
    slip("user[@doby]: hi", "5:", "unknown role `doby`", "dobby"),
    slip(
        "user[@nobody]: hi",
        "5:",
        "unknown role `nobody`",
        "under `roles`",
    ),
    // Keys of instructions.
    slip(
        "- $if: 'false'\n  then: [$exit]\n  esle: [$exit]",
        "7:3",
        "`$if` takes no `esle`",
        "did you mean `else`?",
    ),
    slip(
        "- $for: 3\n  doo: [$break]",
        "6:3",
        "`$for` takes no `doo`",
        "did you mean `do`?",
    ),
    slip(
        "- $for: 3\n  stp: 2\n  do: [$break]",
        "6:3",
        "`$for` takes no `stp`",
        "did you mean `step`?",
    ),
    slip(
        "- $while: 'false'\n  then: [$break]",
        "6:3",
        "`$while` takes no `then`",
        "it takes `condition` and `do`",
    ),
    // Parameters of directives, in all notations.
    slip(
        "$listFilenames(folder='x')",
        "5:",
        "`$listFilenames` takes no `folder`",
        "it takes `path`, `pattern`, `dir`",
    ),
    slip(
        "$listFilenames: {pth: x}",
        "5:",
        "`$listFilenames` takes no `pth`",
        "did you mean `path`?",
    ),
    slip(
        "- $format: '{{name}}'\n  templteFormat: hf",
        "",
        "`$format` takes no `templteFormat`",
        "did you mean `templateFormat`?",
    ),
    slip(
        "$exec: {id: dobby, argz: {a: 1}}",
        "5:",
        "`$exec` takes no `argz`",
        "did you mean `args`?",
    ),
    slip(
        "$emit(evnt='x')",
        "5:",
        "`$emit` takes no `evnt`",
        "did you mean `event`?",
    ),
    // Settings of models.
    slip(
        "user: x\nassistant: '[[X:temprature=0.1]]'",
        "6:",
        "model setting `temprature`",
        "did you mean `temperature`?",
    ),
    slip(
        "user: x\n$AI: {temprature: 1}",
        "6:",
        "model setting `temprature`",
        "did you mean `temperature`?",
    ),
    slip(
        "$AI(max_token=5)",
        "5:",
        "model setting `max_token`",
        "did you mean `max_tokens`?",
    ),
    slip(
        "$parameters: {responce_format: {type: json}}",
        "5:",
        "model setting `responce_format`",
        "did you mean `response_format`?",
    ),
    // Inputs of scripts.
    slip(
        "-> speaker(tpoic='x')",
        "5:",
        "unknown input",
        "did you mean `topic`?",
    ),
    slip(
        "$echo: \"[[@speaker(topik='x')]]\"",
        "5:",
        "unknown input",
        "did you mean `topic`?",
    ),
    slip(
        "$exec: {id: speaker, args: {topics: x}}",
        "5:",
        "unknown input",
        "did you mean `topic`?",
    ),
    // Calls.
    slip("$echo: '?=this.$nope(1)'", "5:", "no", "$nope"),
    slip("$echo: '?=this.$ecko(1)'", "5:", "$ecko", "$echo"),
    slip(
        "!fn |-\n  f () { return this.$ecko(1) }\n$f()",
        "6:",
        "$ecko",
        "$echo",
    ),
    slip("$set: {lang: '$ecko(1)'}", "5:", "$ecko", "$echo"),
];

const DOBBY: &str = "---\ntype: char\n---\nsystem: You are Dobby.\n";
const SPEAKER: &str = "---\ninput: [topic]\n---\n$echo: '?=topic'\n";

async fn checked(text: &str) -> Vec<String> {
    let source = ScriptSource {
        name: "main.ai.yaml".to_owned(),
        path: None,
        text: text.into(),
    };
    let read = reader::read(Arc::new(source));
    if !read.diagnostics.is_empty() {
        return read.diagnostics.iter().map(ToString::to_string).collect();
    }
    let library = Memory::new([
        ("main.ai.yaml", text),
        ("dobby.ai.yaml", DOBBY),
        ("speaker.ai.yaml", SPEAKER),
    ]);
    let main = library.find("main", None).await.unwrap().unwrap();
    let found = check(&main, &library, &NoTools).await;
    found.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_check_tells_what_is_misspelt() {
    let mut wrong = Vec::new();
    for slip in SLIPS {
        let found = checked(&format!("{FRONT}{}\n", slip.script)).await;
        let place = format!("main.ai.yaml:{}", slip.at);
        let told = |found: &&String| {
            found.starts_with(&place) && found.contains(slip.told) && found.contains(slip.mend)
        };
        if !found.iter().any(|found| told(&found)) {
            wrong.push(format!("{}\n  found {found:#?}\n", slip.script));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[test]
fn a_run_ends_at_what_is_misspelt() {
    let case = |slip: &Slip| -> Case {
        let json = json!({
            "id": slip.script,
            "files": {
                "main.ai.yaml": format!("{FRONT}{}\n", slip.script),
                "dobby.ai.yaml": DOBBY,
                "speaker.ai.yaml": SPEAKER,
            },
            "run": "main.ai.yaml",
            "grants": {"read": [""]},
            "expect": {
                "error_contains": [format!("main.ai.yaml:{}", slip.at), slip.told, slip.mend],
                "request_count": 0,
            },
        });
        serde_json::from_value(json).unwrap()
    };
    let report = run_cases(SLIPS.iter().map(case)).unwrap();
    report.print(false);
    assert_eq!(report.failed(), 0);
}

#[test]
fn a_front_matter_and_arguments_are_held_to_the_same() {
    let table = [
        (
            "---\nparameters: {temprature: 0.1}\n---\nuser: x\n",
            json!({}),
            "main.ai.yaml:2:14: unknown model setting `temprature` (did you mean `temperature`?)",
        ),
        (
            "---\ninput: [topic]\n---\n$echo: '?=topic'\n",
            json!({"topik": 1}),
            "`topik`: unknown input (did you mean `topic`?)",
        ),
        (
            "---\nprompt: {messages: [{role: sytem, content: x}]}\n---\nuser: x\n",
            json!({}),
            "main.ai.yaml:2:28: unknown role `sytem` (did you mean `system`?",
        ),
    ];
    let cases = table.into_iter().map(|(script, args, told)| {
        let json = json!({
            "id": told,
            "files": {"main.ai.yaml": script},
            "run": "main.ai.yaml",
            "args": args,
            "expect": {"error_contains": [told], "request_count": 0},
        });
        serde_json::from_value(json).unwrap()
    });
    let report = run_cases(cases).unwrap();
    report.print(false);
    assert_eq!(report.failed(), 0);
}

/// Custom names are not reported as typos.
#[tokio::test]
async fn what_is_meant_is_not_told() {
    let table = [
        "narrator: It rains.\nfool: Ha!\nElsie: Oh.\n旁白: x",
        "guide: '@dobby, hi'\ndobby: '[[AI]]'",
        "user[@dobby, @all]: hi",
        "user: 'mail a@b.example, and @somebody'",
        "$prompt: {temprament: calm}\nuser: '{{temprament}}'\n$AI: {temprament: wild}",
        "- $if: {condition: 'true', then: [$exit], else: [$exit]}",
        "$ret: {a: 1, valeu: 2}",
        "$print: {contnet: 1}",
        "$set: {temprature: 1}\n$AI: {temprature: 1}",
        "!fn |-\n  f () { return this.$g ? this.$g(1) : 0 }\n$f()",
        "$set: {price: '$5 (five)'}",
        "-> speaker(topic='x', color='red')",
        "user: x\nassistant: \"[[X:|a|b, type='random']]\"",
    ];
    for script in table {
        let found = checked(&format!("{FRONT}{script}\n")).await;
        assert_eq!(found, Vec::<String>::new(), "{script}");
    }
}

//! Static checks of scripts.

use quillet_core::Severity;
use quillet_script::host::NoTools;
use quillet_script::library::{Library, Memory, check};

async fn findings(files: &[(&str, &str)]) -> Vec<String> {
    let library = Memory::new(files.iter().copied());
    let main = library.find("main", None).await.unwrap().unwrap();
    let found = check(&main, &library, &NoTools).await;
    let mark = |severity| {
        if severity == Severity::Error {
            ""
        } else {
            "warning: "
        }
    };
    found
        .iter()
        .map(|found| format!("{}{found}", mark(found.severity)).replace("main.ai.yaml:", ""))
        .collect()
}

/// Checks `main` next to several other scripts.
async fn of_main(main: &str) -> Vec<String> {
    findings(&[
        ("main.ai.yaml", main),
        ("translator.ai.yaml", "---\ninput:\n  - content: {required: true, index: 0}\n  - lang: {required: true}\n---\nuser: x\n"),
        ("weather.ai.yaml", "---\ninput: [{location: {required: true}}]\nlocation: Rome\n---\n$echo: sun\n"),
        ("tools.js", "export function hi() {}"),
    ])
    .await
}

#[tokio::test]
async fn what_is_right_has_no_findings() {
    let table = [
        "user: hi\n",
        "---\nname: x\n---\nsystem: \"{{name}}\"\nassistant: \"[[JOKE]]\"\n-> $print(JOKE)\n$ret('')\n",
        "- $set: {i: 5}\n- $while: \"i >= 0\"\n  do:\n    - $set: {i: \"?=i-1\"}\n    - $if: \"i == 2\"\n      then: $break\n",
        "user: joke\nassistant: \"[[JOKE]]\"\n-> translator(lang=\"pt\") -> $print\n",
        "!fn |-\n  hi() {}\n$hi: {a: 1}\n$echo: \"?=this.anything\"\n",
        "---\nimport: {./tools.js: '*'}\n---\n$tools.hi(\"x\")\n",
        "---\nimport: \"js:path\"\n---\n$basename(\"x\")\n",
        "user: \"[[@weather]] and [[@weather(location='Oslo')]]\"\n",
        "user: \"[[/<R>(.+)</R>/i:Answer]]\"\nassistant: \"[[Answer]]\"\n",
        "---\ninput: [x]\n---\n$match(x):\n  :1..5:\n    - $echo: a\n  _:\n    - $echo: b\n",
        "---\nimport: translator.ai.yaml\n---\n$translator(content=\"x\", lang=\"de\")\n",
        "---\nparameters: {response_format: {type: json}, temperature: 0.1}\nshouldThink: deep\noutput: {type: object}\n---\nuser: x\n",
        "---\ntools: [weather]\npermissions: {ai: {call: [\"w*\", \"!search\"]}}\n---\nuser: x\n",
        "---\ntype: char\nname: Dobby\nroles: {t: translator}\n---\nuser: x\n",
        "- $for: 3\n  as: {value: item}\n  do:\n    - $print(\"{{item}}\")\n    - $continue\n",
        "$on:\n  event: test\n  callback: \"?={...arg1, event: event.type}\"\n",
    ];
    for text in table {
        assert_eq!(of_main(text).await, Vec::<String>::new(), "{text}");
    }
}

#[tokio::test]
async fn what_is_wrong_is_told_with_its_place_and_the_mend() {
    let table = [
        // Names of directives, functions and scripts.
        (
            "$prnt: x\n",
            "1:2: unknown directive or function $prnt (did you mean $print?)",
        ),
        (
            "!fn |-\n  hello() {}\n$hallo()\n",
            "3:2: unknown directive or function $hallo (did you mean $hello?)",
        ),
        (
            "user: x\n-> translater -> $print\n",
            "2:4: unknown script \"translater\" (did you mean translator?)",
        ),
        (
            "user: x\n-> translator -> $prnt\n",
            "2:19: unknown directive or function $prnt (did you mean $print?)",
        ),
        (
            "user: \"[[@translater]]\"\n",
            "1:8: unknown script \"translater\" (did you mean translator?)",
        ),
        (
            "user: \"[[@$ecko]]\"\n",
            "1:8: unknown directive or function $ecko (did you mean $echo?)",
        ),
        (
            "$exec: {id: weathr}\n",
            "1:13: unknown script \"weathr\" (did you mean weather?)",
        ),
        (
            "---\nroles: {t: translater}\n---\nuser: x\n",
            "2:12: unknown script \"translater\" (did you mean translator?)",
        ),
        (
            "---\ntools: [weathr]\n---\nuser: x\n",
            "2:9: unknown script \"weathr\" (did you mean weather?)",
        ),
        (
            "---\ntools: {weathr: {title: x}}\n---\nuser: x\n",
            "2:9: unknown script \"weathr\" (did you mean weather?)",
        ),
        (
            "---\nextends: translater\n---\nuser: x\n",
            "2:10: unknown script \"translater\" (did you mean translator?)",
        ),
        (
            "---\nextends: main\n---\nuser: x\n",
            "2:10: inheritance cycle: main → main",
        ),
        (
            "---\nimport: ./tols.js\n---\nuser: x\n",
            "2:9: file \"./tols.js\" not found (paths are relative to this script's folder)",
        ),
        (
            "---\nimport: lodash\n---\nuser: x\n",
            "2:9: unknown script \"lodash\" (add its folder with -I; write an npm package as \"js:lodash\")",
        ),
        (
            "---\nexport: [./nothing.rb]\n---\nuser: x\n",
            "2:10: cannot import \"./nothing.rb\"",
        ),
        (
            "$exec: {id: ../../etc/passwd}\n",
            "1:13: the name \"../../etc/passwd\" is outside",
        ),
        (
            "!fn |-\n  onTest() {}\n$on: {event: x, callback: onTst}\n",
            "3:27: unknown listener function $onTst (did you mean $onTest?)",
        ),
        // Inputs of called scripts.
        (
            "user: \"[[@translator(content='x')]]\"\n",
            "1:8: missing input \"lang\" of translator (write translator(lang=…))",
        ),
        (
            "user: \"[[@translator('x')]]\"\n",
            "1:8: missing input \"lang\" of translator",
        ),
        (
            "$exec: {id: translator, args: {lang: de}}\n",
            "1:13: missing input \"content\" of translator",
        ),
        (
            "---\nimport: translator.ai.yaml\n---\n$translator(lang=\"de\")\n",
            "4:2: missing input \"content\" of $translator",
        ),
        // Control flow.
        ("$break\n", "1:2: $break outside of a loop"),
        (
            "- $if: \"1 == 1\"\n  then:\n    - $continue\n",
            "3:8: $continue outside of a loop",
        ),
        (
            "$ret: 1\n$echo: 2\n",
            "warning: 2:1: unreachable code: $ret ends the block before it",
        ),
        (
            "$match(1):\n  _:\n    - $echo: a\n  :1..5:\n    - $echo: b\n",
            "warning: 4:3: unreachable branch: `_` before it matches everything (put `_` last)",
        ),
        ("$match(1):\n  :/(/:\n    - $echo: a\n", "2:"),
        // Texts.
        ("user: \"{% if x %}\"\n", "1:"),
        (
            "user: \"[[/(/:A]]\"\nassistant: \"[[A]]\"\n",
            "1:11: invalid regular expression /(/",
        ),
        ("$echo: \"?=1 +\"\n", "1:"),
        ("$print(a b)\n", "1:"),
        (
            "---\ncontent: x\n---\nuser: \"{{contnet}}\"\n",
            "warning: 4:10: no value for \"contnet\" (did you mean content?)",
        ),
        (
            "---\ninput: [a]\n---\nuser: \"{{zzz}} {{a}}\"\n",
            "warning: 4:10: no value for \"zzz\" (declare it under `input:`",
        ),
        (
            "---\ninput: [a]\n---\n$echo: \"?=zzz + a\"\n",
            "warning: 4:11: no value for \"zzz\"",
        ),
        // Front matter.
        (
            "---\nparameters: {response_format: {type: jsn}}\n---\nuser: x\n",
            "warning: 2:31: unknown response_format.type \"jsn\"",
        ),
        ("---\nshouldThink: depp\n---\nuser: x\n", "warning: 2:14: "),
        (
            "---\ntemplateFormat: hff\n---\nuser: x\n",
            "2:17: unknown template format \"hff\" (did you mean hf?)",
        ),
        (
            "---\nformatStringStrategy: Later\n---\nuser: x\n",
            "warning: 2:23: unknown formatStringStrategy \"Later\"",
        ),
        (
            "---\npermissions: {ai: {call: [\"!\"]}}\n---\nuser: x\n",
            "2:27: empty pattern",
        ),
        (
            "---\npermissions: {ai: {call: [\"a b\"]}}\n---\nuser: x\n",
            "2:27: invalid pattern \"a b\"",
        ),
        (
            "---\npermissions: {call: [a]}\n---\nuser: x\n",
            "2:15: unknown key \"call\" in permissions (the only key is `ai`)",
        ),
        (
            "---\ninput: [{a: {requird: true}}]\n---\nuser: x\n",
            "2:10: the input \"a\": unknown key requird (did you mean required?)",
        ),
        (
            "---\ninput: [{a: {type: strng}}]\n---\nuser: x\n",
            "2:10: the input \"a\": unknown type \"strng\"",
        ),
        (
            "---\ninput: [{a: {index: -1}}]\n---\nuser: x\n",
            "2:10: the input \"a\": index must be a whole number",
        ),
        (
            "---\ninput: 5\n---\nuser: x\n",
            "2:8: input: expected a list of names and objects",
        ),
        (
            "---\noutput: {type: 5}\n---\nuser: x\n",
            "2:9: invalid JSON Schema in output",
        ),
        (
            "---\napiKey: 0123456789abcdef\n---\nuser: x\n",
            "warning: 2:9: possible secret key in the script",
        ),
        (
            "user: my key is sk-abcdefghijklmnopqrstuv\n",
            "warning: 1:17: possible secret key in the script",
        ),
    ];
    let mut wrong = Vec::new();
    for (text, expected) in table {
        let found = of_main(text).await;
        if found
            .first()
            .is_none_or(|first| !first.starts_with(expected))
        {
            wrong.push(format!("{text}  expected {expected}\n  found {found:#?}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
}

#[tokio::test]
async fn every_finding_is_told_and_nothing_twice() {
    let found = of_main("$prnt: 1\n$ecko: 2\nuser: \"[[@nothing]] [[@nothing]]\"\n").await;
    assert_eq!(found.len(), 4, "{found:#?}");
    let many = "$prnt: 1\n".repeat(500);
    assert_eq!(of_main(&many).await.len(), 100);
}

#[tokio::test]
async fn so_many_findings_are_told_and_so_many_names_compared() {
    let hole = |number| format!("{{{{name{number}}}}}[[@s{number}(x{number})]] ");
    let holes: String = (0..2_000).map(hole).collect();
    let message = format!("---\ninput: [a]\n---\nuser: |-\n  {holes}\n");
    assert_eq!(of_main(&message).await.len(), 100);
    let set = |number| format!("- $set: {{value{number}: \"?=valve{number}\"}}\n");
    let sets: String = (0..500).map(set).collect();
    let found = of_main(&sets).await;
    assert_eq!(found.len(), 50);
    assert!(
        found[49].ends_with("no value for \"valve49\" (did you mean value49?)"),
        "{found:?}"
    );
}

/// Scripts that run have no errors: checks all third-party cases.
#[tokio::test]
async fn scripts_that_run_have_no_errors() {
    let files = [
        "01_dialogue",
        "02_templates_io",
        "03_ai_chain",
        "04_control",
        "05_fn_import_format",
        "06_events_chat_tools",
    ];
    let mut alarms = Vec::new();
    for file in files {
        let Some(text) = crate::library::vectors(&format!("ppe/cases_{file}.json")) else {
            return;
        };
        let cases: Vec<serde_json::Value> = serde_json::from_str(&text).unwrap();
        for case in cases.iter().filter(|case| case["expect"]["error"] != true) {
            for found in of_case(case).await {
                alarms.push(format!("{}: {found}", case["id"]));
            }
        }
    }
    assert!(alarms.is_empty(), "{alarms:#?}");
}

async fn of_case(case: &serde_json::Value) -> Vec<String> {
    let files = case["files"].as_object().unwrap();
    let texts = files
        .iter()
        .filter_map(|(name, text)| Some((name.as_str(), text.as_str()?)));
    let library = Memory::new(texts);
    let main = case["run"].as_str().unwrap();
    let script = match library.find(main, None).await {
        Ok(script) => script.unwrap(),
        Err(error) => return vec![format!("not read: {}", error.message())],
    };
    let found = check(&script, &library, &NoTools).await;
    found.iter().map(ToString::to_string).collect()
}

//! A condition sees the answers of all messages before it, in any position and notation.

use serde_json::json;

use crate::cases::case::Case;
use crate::cases::run_cases;

/// Ways to test whether `go` is yes.
const CONDITIONS: [&str; 7] = [
    "\"go == 'yes'\"",
    "\"?=go == 'yes'\"",
    "\"{{ go == 'yes' }}\"",
    "\"{% if go == 'yes' %}1{% endif %}\"",
    "\"$goes\"",
    "\"$goes()\"",
    "{$echo: \"?=go == 'yes'\"}",
];

/// Blocks that end with a message that requests `go`, at the indentation of `do`.
const ENDS: [(&str, &str); 9] = [
    ("alone", "    - assistant: '[[go]]'\n"),
    (
        "before $continue",
        "    - assistant: '[[go]]'\n    - $continue\n",
    ),
    ("in a text", "    - assistant: 'It is [[go]].'\n"),
    (
        "in then",
        "    - $if: 'true'\n      then:\n        - assistant: '[[go]]'\n",
    ),
    (
        "in an inner else",
        "    - $if: 'true'\n      then:\n        - $if: 'false'\n          then: $break\n          else:\n            - assistant: '[[go]]'\n",
    ),
    (
        "in a branch of $match",
        "    - $match(1):\n        :1:\n          - assistant: '[[go]]'\n",
    ),
    (
        "in $for",
        "    - $for: 1\n      do:\n        - assistant: '[[go]]'\n",
    ),
    (
        "before $continue in an inner else",
        "    - $if: 'false'\n      then: $break\n      else:\n        - assistant: '[[go]]'\n        - $continue\n",
    ),
    ("in a list", "    - - assistant: '[[go]]'\n"),
];

const FRONT: &str = "---\ngo: 'yes'\nn: 0\n---\n";

const GOES: &str = "- !fn |-\n    goes () { return this.go === 'yes' }\n";

fn case(id: &str, script: &str, result: &serde_json::Value, requests: usize) -> Case {
    let json = json!({
        "id": id,
        "files": {"main.ai.yaml": script},
        "run": "main.ai.yaml",
        // The first answer continues the loop, and the second ends it. A third request is an error.
        "llm": [
            {"match": "assistant: .*no", "reply": "never asked"},
            {"match": "assistant: .*yes", "reply": "no"},
            {"match": "", "reply": "yes"},
        ],
        "expect": {"result": result, "request_count": requests},
    });
    serde_json::from_value(json).unwrap()
}

fn hold(cases: impl Iterator<Item = Case>) {
    let report = run_cases(cases).unwrap();
    report.print(false);
    assert_eq!(report.failed(), 0);
}

fn each() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    let of = |(name, block): (&'static str, &'static str)| {
        CONDITIONS.map(move |condition| (name, block, condition))
    };
    ENDS.into_iter().flat_map(of)
}

#[test]
fn a_loop_tests_its_condition_with_the_answers_of_its_body() {
    let cases = each().map(|(name, block, condition)| {
        let body = format!(
            "{GOES}- $while: {condition}\n  do:\n    - $set: {{n: '?=n + 1'}}\n    - user: 'again?'\n{block}- $ret: '?=n'\n"
        );
        let id = format!("$while, hole {name}: {condition}");
        case(&id, &format!("{FRONT}{body}"), &json!(2), 2)
    });
    hold(cases);
}

#[test]
fn a_branch_is_chosen_with_the_answers_before_it() {
    let cases = each().map(|(name, block, condition)| {
        let body = format!(
            "{GOES}- $for: 2\n  do:\n    - user: 'again?'\n{block}- $if: {condition}\n  then:\n    - $ret: 'went on'\n  else:\n    - $ret: stopped\n"
        );
        let id = format!("$if, hole {name}: {condition}");
        case(&id, &format!("{FRONT}{body}"), &json!("stopped"), 2)
    });
    hold(cases);
}

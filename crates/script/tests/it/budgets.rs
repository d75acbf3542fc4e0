//! Token and cost limits of a run, and how scripts see them.

use serde_json::json;

use crate::cases::case::Case;
use crate::cases::run_cases;

fn hold(cases: impl Iterator<Item = Case>) {
    let report = run_cases(cases).unwrap();
    report.print(false);
    assert_eq!(report.failed(), 0);
}

const LOOP: &str = "- $for: 9\n  do:\n    - user: 'again {{value}}'\n    - assistant: '[[A]]'\n- $ret: '?=stats.modelCalls'\n";

#[test]
fn a_run_ends_with_an_error_that_names_the_bound() {
    let table = [
        (json!({}), Ok(9)),
        (json!({"tokens": 100_000}), Ok(9)),
        (
            json!({"tokens": 40}),
            Err(vec![
                "(limit of this run: 40)",
                "limits.tokens (--max-tokens-total",
            ]),
        ),
        (
            json!({"tokens": 0}),
            Err(vec!["(limit of this run: 0)", "limits.tokens"]),
        ),
        (json!({"cost": 1000.0, "price": 10.0}), Ok(9)),
        (
            json!({"cost": 0.001, "price": 10.0}),
            Err(vec![
                "the models cost 0.0",
                "USD (limit of this run: 0.001)",
                "limits.cost (--max-cost",
            ]),
        ),
        (
            json!({"cost": 1.0}),
            Err(vec![
                "the price of `scripted-1` is unknown",
                "`quillet models`",
            ]),
        ),
    ];
    let cases = table.into_iter().map(|(limits, wanted)| {
        let expect = match wanted {
            Ok(calls) => json!({"result": calls, "request_count": calls}),
            Err(parts) => json!({"error_code": "script.limit", "error_contains": parts}),
        };
        let json = json!({
            "id": limits.to_string(),
            "files": {"main.ai.yaml": format!("---\nparameters: {{model: scripted-1}}\n---\n{LOOP}")},
            "run": "main.ai.yaml",
            "llm": [{"match": "", "reply": "four words of answer"}],
            "limits": limits,
            "expect": expect,
        });
        serde_json::from_value(json).unwrap()
    });
    hold(cases);
}

/// The limit applies to every request: a repair, a turn with tools, a called script.
#[test]
fn every_request_counts() {
    let table = [
        "user: x\nassistant: '[[A:|yes|no]]'\n$ret: done\n",
        "$exec: {id: inner, memoized: false}\n$exec: {id: inner, memoized: false}\n$ret: done\n",
        "---\nshouldThink: {mode: first, depth: 3}\n---\nuser: x\nassistant: '[[A]]'\n$ret: done\n",
    ];
    let cases = table.into_iter().map(|script| {
        let json = json!({
            "id": script,
            "files": {
                "main.ai.yaml": script,
                "inner.ai.yaml": "user: x\nassistant: '[[A]]'\n",
            },
            "run": "main.ai.yaml",
            "llm": [{"match": "", "reply": "neither of them"}],
            "limits": {"tokens": 5},
            // The first answer already exceeds the limit, so there is no second request.
            "expect": {"error_contains": ["(limit of this run: 5)"], "request_count": 1},
        });
        serde_json::from_value(json).unwrap()
    });
    hold(cases);
}

#[test]
fn a_script_sees_what_is_left() {
    let script = "---\nparameters: {model: scripted-1}\n---\n- $set: {before: '?=stats.tokensLeft'}\n- user: x\n- assistant: '[[A]]'\n- $ret: '?=[before, stats.totalTokens == stats.inputTokens + stats.outputTokens, stats.tokensLeft == before - stats.totalTokens, stats.cost > 0, stats.costLeft < 1, stats.modelCalls]'\n";
    let json = json!({
        "id": "stats",
        "files": {"main.ai.yaml": script},
        "run": "main.ai.yaml",
        "llm": [{"match": "", "reply": "an answer"}],
        "limits": {"tokens": 1000, "cost": 1.0, "price": 100.0},
        "expect": {"result": [1000, true, true, true, true, 1]},
    });
    hold(std::iter::once(serde_json::from_value(json).unwrap()));
}

//! Stored prompts that replace those of the text-to-SQL pipeline.

use quillet_core::store::EntryKind;
use serde_json::json;

use super::served::{Setup, error};
use super::shop::Shop;

const COUNT: &str = r#"{"sql": "SELECT count(*) AS n FROM orders"}"#;

fn with_prompt(text: &str) -> Setup {
    Setup {
        entries: vec![(EntryKind::Prompt, "sql:query", text.to_owned())],
        ..Setup::saying([COUNT])
    }
}

#[tokio::test]
async fn a_stored_prompt_takes_the_place_of_the_built_in_one() {
    let shop = Shop::sqlite();
    let text = json!({"messages": [
        {"role": "system", "content": "Write {{.variables.dialect}} for a pirate."},
        {"role": "user", "content": "{{.variables.schema}}\nAsked: {{.variables.prompt}}"}]});
    let served = with_prompt(&text.to_string()).with(&shop).await;
    let answer = served.ask("how many {{orders}}?", true).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let sent = served.provider.requests()[0].json();
    assert_eq!(sent["messages"][0]["content"], "Write SQLite for a pirate.");
    let asked = sent["messages"][1]["content"].as_str().unwrap();
    assert!(
        asked.contains("customers") && asked.ends_with("Asked: how many {{orders}}?"),
        "{asked}"
    );
}

#[tokio::test]
async fn a_broken_stored_prompt_is_named() {
    let shop = Shop::sqlite();
    for text in [
        r#"{"userPrompt": "{{if .variables.schema}}"}"#,
        r#"{"userPrompt": "{{.variables.no_such}}", "missing": "strict"}"#,
        r#"{"userPrompt": "{{no_such_function 1}}"}"#,
    ] {
        let served = with_prompt(text).with(&shop).await;
        let body = error(&served.ask("how many?", false).await, 500, "sql.prompt");
        assert!(
            body["detail"].as_str().unwrap().contains("sql.query"),
            "{body}"
        );
        assert!(served.provider.requests().is_empty(), "{text}");
    }
}

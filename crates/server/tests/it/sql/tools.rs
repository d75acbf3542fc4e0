//! Databases as tools of every kind of caller, with a real database.

use quillet_core::store::EntryKind;
use quillet_core::tool::{ToolBuilder, ToolContext};
use quillet_fake_provider::{ReplyScript, ScriptedReply};
use quillet_tools::{Tools, ToolsConfig};
use serde_json::{Value, json};

use super::served::{Served, Setup};
use super::shop::Shop;
use crate::client;
use crate::test_agents::question;
use crate::test_server::eventually;

/// Sends one message as an MCP client.
async fn mcp(served: &Served, method: &str, params: Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params});
    let headers = [
        ("accept", "application/json, text/event-stream"),
        ("content-type", "application/json"),
        ("mcp-protocol-version", "2025-06-18"),
    ];
    let body = body.to_string();
    let answer = client::request(served.address, "POST", "/mcp", &headers, &body).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["result"].clone()
}

async fn names(served: &Served) -> Vec<String> {
    let listed = mcp(served, "tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap().iter();
    let names = tools.map(|tool| tool["name"].as_str().unwrap().to_owned());
    names.filter(|name| name.starts_with("db_")).collect()
}

/// Calls a tool and returns its result or its error text.
async fn call(served: &Served, name: &str, arguments: Value) -> Result<Value, String> {
    let params = json!({"name": name, "arguments": arguments});
    let result = mcp(served, "tools/call", params).await;
    let text = result["content"][0]["text"].as_str().unwrap_or_default();
    if result["isError"] == true {
        Err(text.to_owned())
    } else {
        Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into()))
    }
}

#[tokio::test]
async fn tools_come_and_go_with_their_connections() {
    let shop = Shop::sqlite();
    let served = Setup::default().start().await;
    assert!(names(&served).await.is_empty());
    served.put("shop", &shop.url()).await;
    assert_eq!(
        names(&served).await,
        [
            "db_shop_ask",
            "db_shop_list_tables",
            "db_shop_query",
            "db_shop_table_schema"
        ]
    );
    // Another replica adds a connection, and the store reports it.
    let text = json!({"url": shop.url()}).to_string();
    let key = quillet_core::store::EntryKey::new("other");
    served
        .store
        .put(EntryKind::Database, &key, &text)
        .await
        .unwrap();
    eventually("the tools of other", async || {
        names(&served).await.len() == 8
    })
    .await;
    served.send("DELETE", "/dbs/shop", "").await;
    let left = names(&served).await;
    assert!(left.len() == 4 && left[0] == "db_other_ask", "{left:?}");
}

#[tokio::test]
async fn without_a_model_nobody_can_be_asked() {
    let shop = Shop::sqlite();
    let setup = Setup {
        has_model: false,
        ..Setup::default()
    };
    let served = setup.with(&shop).await;
    assert!(!names(&served).await.contains(&"db_shop_ask".to_owned()));
}

#[tokio::test]
async fn mcp_clients_look_and_ask() {
    let shop = Shop::sqlite();
    let served =
        Setup::saying([r#"{"sql": "SELECT count(*) AS n FROM orders", "explanation": "All."}"#])
            .with(&shop)
            .await;
    let tables = call(
        &served,
        "db_shop_list_tables",
        json!({"question": "customers by city"}),
    )
    .await
    .unwrap();
    assert_eq!(tables["tables"][0]["name"], "main.customers", "{tables}");
    assert_eq!(tables["total"], 6);
    let schema = call(
        &served,
        "db_shop_table_schema",
        json!({"tables": ["orders", "custommers"]}),
    )
    .await
    .unwrap();
    assert_eq!(
        schema["tables"][0]["columns"][2]["name"], "total",
        "{schema}"
    );
    assert!(
        schema["unknown"][0].as_str().unwrap().contains("customers"),
        "{schema}"
    );
    let rows = call(
        &served,
        "db_shop_query",
        json!({"sql": "SELECT id FROM orders"}),
    )
    .await
    .unwrap();
    assert_eq!(
        (&rows["rowCount"], &rows["truncated"]),
        (&json!(4), &json!(false)),
        "{rows}"
    );
    let asked = call(
        &served,
        "db_shop_ask",
        json!({"question": "how many orders?"}),
    )
    .await
    .unwrap();
    assert_eq!(asked["rows"], json!([{"n": 4}]), "{asked}");
    assert_eq!(asked["explanation"], "All.");
}

#[tokio::test]
async fn what_is_wrong_is_said_so_that_a_model_can_mend_it() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    for (tool, arguments, part) in [
        (
            "db_shop_query",
            json!({"sql": "DELETE FROM orders"}),
            "DELETE",
        ),
        (
            "db_shop_query",
            json!({"sql": "SELECT nmae FROM customers"}),
            "name",
        ),
        ("db_shop_query", json!({}), "sql"),
        (
            "db_shop_table_schema",
            json!({"tables": ["ordres"]}),
            "orders",
        ),
        ("db_shop_table_schema", json!({"tables": []}), "empty"),
    ] {
        let said = call(&served, tool, arguments.clone()).await.unwrap_err();
        assert!(said.contains(part), "{tool} {arguments}: {said}");
    }
}

/// Results are limited to 100 rows and 10,000 characters, and report truncation.
#[tokio::test]
async fn results_are_bounded() {
    let shop = Shop::sqlite();
    shop.execute(
        "CREATE TABLE long (id integer PRIMARY KEY, text text);
         WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
         INSERT INTO long SELECT i, replace(hex(zeroblob(150)), '0', '店') FROM n;",
    );
    let served = Setup::default().with(&shop).await;
    let ids = call(
        &served,
        "db_shop_query",
        json!({"sql": "SELECT id FROM long"}),
    )
    .await
    .unwrap();
    assert_eq!(
        (&ids["rowCount"], &ids["truncated"]),
        (&json!(100), &json!(true))
    );
    assert!(
        ids["note"]
            .as_str()
            .unwrap()
            .contains("more than these 100"),
        "{}",
        ids["note"]
    );
    let texts = call(
        &served,
        "db_shop_query",
        json!({"sql": "SELECT * FROM long"}),
    )
    .await
    .unwrap();
    let count = texts["rowCount"].as_u64().unwrap();
    assert!((10..40).contains(&count), "{count}");
    assert!(texts["rows"].to_string().chars().count() <= 10_000);
    assert!(
        texts["note"].as_str().unwrap().contains("10000 characters"),
        "{}",
        texts["note"]
    );
    let many: String = (0..900)
        .map(|i| format!("CREATE TABLE many_{i} (id integer);"))
        .collect();
    shop.execute(&format!("BEGIN;{many}COMMIT;"));
    served.send("POST", "/dbs/shop/metadata/refresh", "").await;
    let tables = call(&served, "db_shop_list_tables", json!({"limit": 200}))
        .await
        .unwrap();
    assert_eq!(tables["total"], 907);
    assert!(tables["tables"].to_string().len() <= 10_000 + 200);
    assert!(
        tables["note"].as_str().unwrap().contains("of 907"),
        "{}",
        tables["note"]
    );
}

#[tokio::test]
async fn templates_of_each_format_call_them() {
    let shop = Shop::sqlite();
    let go = r#"{{range (db_shop_query "SELECT name FROM customers ORDER BY id").rows}}{{.name}} {{end}}"#;
    let jinja = r#"{% for row in db_shop_query("SELECT name FROM customers ORDER BY id").rows %}{{ row.name }} {% endfor %}"#;
    for (format, text) in [("go", go), ("jinja", jinja)] {
        let prompt = json!({"format": format, "userPrompt": text}).to_string();
        let setup = Setup {
            entries: vec![(EntryKind::Prompt, "people", prompt)],
            ..Setup::default()
        };
        let served = setup.with(&shop).await;
        let answer = served.post("//api/render/prompts/people", &json!({})).await;
        assert!(
            answer.body.contains("Ann Bob Cai"),
            "{format}: {}",
            answer.body
        );
    }
}

#[tokio::test]
async fn scripts_call_them() {
    let shop = Shop::sqlite();
    let source = "-> db_shop_query(sql=\"SELECT count(*) AS n FROM orders\")\n";
    let prompt = json!({"format": "script", "source": source}).to_string();
    let setup = Setup {
        entries: vec![(EntryKind::Prompt, "count", prompt)],
        ..Setup::default()
    };
    let served = setup.with(&shop).await;
    let answer = served.post("//api/chat/prompts/count", &json!({})).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    assert_eq!(
        answer.json()["script"]["result"]["rows"],
        json!([{"n": 4}]),
        "{}",
        answer.body
    );
}

/// Returns a setup whose model calls the tool, receives its rows, and replies.
fn calling() -> Setup {
    Setup {
        answers: ReplyScript::turns([
            ScriptedReply::call(
                "db_shop_query",
                [r#"{"sql": "SELECT count(*) AS n FROM orders"}"#],
            ),
            ScriptedReply::text(["There are 4 orders."]),
        ]),
        ..Setup::default()
    }
}

/// Returns the rows that the model received.
fn told(served: &Served) -> String {
    let requests = served.provider.requests();
    let last = requests.last().unwrap().json();
    let messages = last["messages"].as_array().unwrap();
    let tool = messages
        .iter()
        .find(|message| message["role"] == "tool")
        .unwrap();
    tool["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn agents_call_them() {
    let shop = Shop::sqlite();
    let served = calling().with(&shop).await;
    let more = json!({"tools": {"builtin": {"db_shop_query": {}}}});
    let body = question("How many orders?", more);
    let answer = served.post("//v1/response", &body).await;
    assert!(answer.body.contains("4 orders"), "{}", answer.body);
    assert!(told(&served).contains(r#"[{"n":4}]"#), "{}", told(&served));
}

#[tokio::test]
async fn stored_agents_call_them_through_the_door_of_openai() {
    let shop = Shop::sqlite();
    let mut setup = calling();
    let agent =
        r#"{"model": "gpt-4o", "instructions": "Answer from the shop.", "tools": ["db_shop_*"]}"#;
    setup.entries = vec![(EntryKind::Agent, "clerk", agent.to_owned())];
    let served = setup.with(&shop).await;
    let body = json!({"model": "agent/clerk", "messages": [{"role": "user", "content": "How many orders?"}]});
    let answer = served.post("//v1/chat/completions", &body).await;
    assert_eq!(answer.status, 200, "{}", answer.body);
    let content = &answer.json()["choices"][0]["message"]["content"];
    assert_eq!(content, "There are 4 orders.");
    assert!(told(&served).contains(r#"[{"n":4}]"#), "{}", told(&served));
}

#[tokio::test]
async fn a_real_mcp_client_calls_them() {
    let shop = Shop::sqlite();
    let served = Setup::default().with(&shop).await;
    let tools = Tools::new(ToolsConfig::default()).unwrap();
    let definition = json!({"mcp": {"url": format!("http://{}/mcp", served.address), "tool": "db_shop_query"},
        "parameters": [{"name": "sql", "type": "string", "required": true}]});
    let built = tools
        .build("orders", "orders", "tools:orders", &definition.to_string())
        .unwrap();
    let arguments = [("sql", "SELECT count(*) AS n FROM orders".into())]
        .into_iter()
        .collect();
    let result = built
        .tool
        .call(arguments, &ToolContext::default())
        .await
        .unwrap();
    let text = quillet_core::json::to_string(&result);
    assert!(text.contains('4'), "{text}");
}

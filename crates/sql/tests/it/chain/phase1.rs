//! Runs the published vectors of phase 1 in both pipeline modes.

use std::path::Path;
use std::sync::Arc;

use quillet_core::chat::{Bytes4, ModelErrorKind};
use quillet_core::{BoxFuture, MessageContent};
use quillet_sql::catalogue::{DatabaseTable, TableType};
use quillet_sql::chain::{
    AcceptedQuery, BuiltIn, GeneratedQuery, Judge, PreparedCatalogue, QueryChain,
    build_table_summary_context,
};
use quillet_sql::rank::Glossary;
use quillet_sql::{Catalogue, ChainMode, SqlConfig, SqlDialect, SqlError};
use serde_json::Value;

use crate::scripted::{Says, Scripted};

fn vectors() -> Value {
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/sql/nl2sql-phase1.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn fixture(tables: &Value) -> Catalogue {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let table = |table: &Value| DatabaseTable {
        schema_name: text(&table["schema"]).unwrap(),
        table_name: text(&table["name"]).unwrap(),
        table_type: match table["type"].as_str() {
            Some("view") => TableType::View,
            _ => TableType::Table,
        },
        comment: text(&table["comment"]),
        ..DatabaseTable::default()
    };
    let tables = tables.as_array().into_iter().flatten().map(table).collect();
    let path = vec!["public".to_owned()];
    Catalogue::new(
        SqlDialect::PostgreSql,
        "15".into(),
        path,
        tables,
        String::new(),
    )
}

/// Returns the selected tables, whether they are a fallback, and the number of model calls.
async fn choose(case: &Value, config: &SqlConfig) -> (Value, bool, usize) {
    let vectors = vectors();
    let catalogue = Arc::new(fixture(
        &vectors["fixtures"][case["tables"].as_str().unwrap()],
    ));
    let prepared = PreparedCatalogue::new(catalogue.clone(), &Glossary::default(), &Bytes4);
    let choice = match case["llm_reply"].as_str() {
        Some(reply) => Says::Text(reply.to_owned()),
        None => Says::Fails(ModelErrorKind::Timeout),
    };
    let is_asked = case["expect"]["phase1_calls"] != 0;
    let query = Says::Text("SELECT 1".to_owned());
    let model = Scripted::new(is_asked.then_some(choice).into_iter().chain([query]));
    let prompts = BuiltIn::new().unwrap();
    let chain = QueryChain {
        examples: &[],
        model: &model,
        prompts: &prompts,
        tokens: &Bytes4,
        embedder: None,
        config,
        prepared: &prepared,
        name: "shop",
        description: "",
        previous: &[],
    };
    let (generated, ()) = chain.run("how many orders?", &Everything).await.unwrap();
    let names = names(&generated);
    let all = !names.is_empty() && names.len() == catalogue.tables.len();
    let selected = if all && case["expect"]["selected"] == "ALL" {
        "ALL".into()
    } else {
        Value::from(names)
    };
    // The last call is that of phase 2.
    (selected, generated.fallback_used, model.asked().len() - 1)
}

fn names(generated: &GeneratedQuery) -> Vec<&str> {
    let tables = generated.selected_tables.iter();
    tables.map(|table| table.name.as_str()).collect()
}

#[tokio::test]
async fn answers_choose_tables_as_the_vectors_say() {
    let seed = SqlConfig {
        chain: ChainMode::Seed,
        ..SqlConfig::default()
    };
    // Runs the same cases in budget mode, with settings that force phase 1 and disable repair.
    let budget = SqlConfig {
        full_schema_tokens: 0,
        repair_tables: 0,
        ..SqlConfig::default()
    };
    let vectors = vectors();
    for case in vectors["cases"].as_array().unwrap() {
        for config in [&seed, &budget] {
            let (selected, fallback, calls) = choose(case, config).await;
            let expect = &case["expect"];
            let is = |e: &Value| e["selected"] == selected && e["fallback_used"] == fallback;
            let alternative = &case["accept_alternative"];
            assert!(
                is(expect) || is(alternative),
                "{} ({}): {selected} {fallback}",
                case["id"],
                config.chain.name()
            );
            assert_eq!(expect["phase1_calls"], calls, "{}", case["id"]);
        }
    }
}

#[tokio::test]
async fn the_list_is_the_seeds() {
    let vectors = vectors();
    let (list, count) = build_table_summary_context(&fixture(&vectors["fixtures"]["T"]));
    assert_eq!(count, 5);
    assert_eq!(Value::from(list), vectors["expected_summary"]["T"]);
}

pub(crate) struct Everything;

impl Judge for Everything {
    type Outcome = ();

    fn judge<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Result<AcceptedQuery<()>, SqlError>> {
        let sql = sql.to_owned();
        Box::pin(async move { Ok(AcceptedQuery { sql, outcome: () }) })
    }
}

/// The model gets the prompts, settings and order that table-chat documents.
#[tokio::test]
async fn both_phases_ask_as_the_seed_says() {
    let vectors = vectors();
    let catalogue = Arc::new(fixture(&vectors["fixtures"]["T"]));
    let prepared = PreparedCatalogue::new(catalogue, &Glossary::default(), &Bytes4);
    let model = Scripted::texts(&[r#"["orders"]"#, r#"{"sql":"SELECT 1","explanation":"one"}"#]);
    let prompts = BuiltIn::new().unwrap();
    let config = SqlConfig {
        chain: ChainMode::Seed,
        ..SqlConfig::default()
    };
    let chain = QueryChain {
        examples: &[],
        model: &model,
        prompts: &prompts,
        tokens: &Bytes4,
        embedder: None,
        config: &config,
        prepared: &prepared,
        name: "shop",
        description: "",
        previous: &[],
    };
    let answered = chain.run("how many {orders}?", &Everything).await;
    let (generated, ()) = answered.unwrap();
    assert_eq!(generated.generated_sql, "SELECT 1");
    assert_eq!(generated.explanation.as_deref(), Some("one"));
    let asked = model.asked();
    let text = |call: usize, message: usize| match &asked[call].messages[message].content {
        MessageContent::Text(text) => text.clone(),
        MessageContent::Parts(parts) => panic!("{parts:?}"),
    };
    assert_eq!(asked[0].options.max_tokens, Some(256));
    assert_eq!(asked[0].options.temperature, Some(0.1));
    assert!(text(0, 0).starts_with("You are a database schema analyst."));
    assert!(text(0, 0).ends_with("5. Consider table names AND comments when making decisions"));
    assert!(text(0, 1).starts_with("Available Tables:\nTable: public.orders (table) - 订单主表\n"));
    assert!(text(0, 1).contains("public.products (table) - No description"));
    assert!(text(0, 1).ends_with(
        "User Query: how many {orders}?\n\nReturn a JSON array of relevant table names. Example: [\"orders\", \"customers\"]"
    ));
    assert!(
        text(1, 1).starts_with("Schema Information:\nTable: public.orders (table) - 订单主表\n")
    );
    assert!(
        !text(1, 1).contains("customers"),
        "phase 2 sees the chosen tables only"
    );
}

/// An answer whose stream breaks off counts as a failed call, and a partial array is not used.
#[tokio::test]
async fn a_broken_answer_falls_back() {
    let vectors = vectors();
    let catalogue = Arc::new(fixture(&vectors["fixtures"]["T"]));
    let prepared = PreparedCatalogue::new(catalogue, &Glossary::default(), &Bytes4);
    let model = Scripted::new([
        Says::Breaks("[\"orders\"".to_owned()),
        Says::Text("SELECT 1".to_owned()),
    ]);
    let prompts = BuiltIn::new().unwrap();
    let config = SqlConfig {
        full_schema_tokens: 0,
        ..SqlConfig::default()
    };
    let chain = QueryChain {
        examples: &[],
        model: &model,
        prompts: &prompts,
        tokens: &Bytes4,
        embedder: None,
        config: &config,
        prepared: &prepared,
        name: "shop",
        description: "",
        previous: &[],
    };
    let (generated, ()) = chain.run("orders?", &Everything).await.unwrap();
    assert!(generated.fallback_used);
    let names = names(&generated);
    assert_eq!(names.len(), 5, "all five fit into the budget");
}

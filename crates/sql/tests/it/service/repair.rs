//! Tests the single repair of a failed query.

use std::sync::Arc;

use quillet_core::MessageContent;
use quillet_core::chat::FinishReason;
use quillet_sql::eval::ExecutionOutcome;
use quillet_sql::{RunOptions, SqlConfig, SqlDialect, SqlError};

use super::shop::{Shop, serving};
use crate::scripted::{Says, Scripted};

const RIGHT: &str = r#"{"sql": "SELECT COUNT(*) AS n FROM orders"}"#;

/// Unusable answers, the code of the error, and a word from the message to the model.
const WRONG: &[(&str, &str, &str)] = &[
    ("There are many orders.", "sql.answer", "gave no query"),
    ("", "sql.answer", "empty answer"),
    (
        r#"{"sql": "SELECT 1; DELETE FROM orders"}"#,
        "sql.guard.statements",
        "statement",
    ),
    (
        r#"{"sql": "DELETE FROM orders"}"#,
        "sql.guard.statement",
        "DELETE",
    ),
    (
        r#"{"sql": "SELECT * FROM orderz"}"#,
        "sql.guard.table",
        "orders",
    ),
    (
        r#"{"sql": "SELECT totl FROM orders"}"#,
        "sql.guard.column",
        "total",
    ),
    (r#"{"sql": "SELECT TOP 5 * FROM orders"}"#, "sql.guard.", ""),
    (
        r#"{"sql": "SELECT * FROM orders WHERE"}"#,
        "sql.guard.syntax",
        "",
    ),
];

#[tokio::test]
async fn what_the_guard_refuses_goes_back_once() {
    let shop = Shop::open(SqlDialect::Sqlite);
    for (wrong, code, told) in WRONG {
        let model = Arc::new(Scripted::texts(&[wrong, RIGHT]));
        let databases = serving(&shop, &model, SqlConfig::default()).await;
        let generated = databases.generate("shop", "how many orders?").await;
        let generated = generated.unwrap_or_else(|error| panic!("{wrong}: {error}"));
        let [repair] = generated.repairs.as_slice() else {
            panic!("{wrong}: {:?}", generated.repairs);
        };
        assert!(repair.code.starts_with(code), "{wrong}: {repair:?}");
        assert!(repair.error.contains(told), "{wrong}: {repair:?}");
        let asked = model.asked();
        let MessageContent::Text(second) = &asked[1].messages[1].content else {
            panic!("{asked:?}");
        };
        assert!(second.contains(&repair.error), "{second}");
        assert!(second.contains("how many orders?"), "{second}");
    }
}

#[tokio::test]
async fn what_the_database_refuses_goes_back_once() {
    let shop = Shop::open(SqlDialect::PostgreSql);
    let wrong = r#"{"sql": "SELECT 1 / (total - total) FROM orders"}"#;
    let model = Arc::new(Scripted::texts(&[wrong, RIGHT]));
    let databases = serving(&shop, &model, SqlConfig::default()).await;
    let options = RunOptions::default();
    let (generated, ran) = databases
        .ask("shop", "how many orders?", &options)
        .await
        .unwrap();
    assert_eq!(generated.repairs[0].code, "sql.failed");
    assert!(generated.repairs[0].error.contains("division by zero"));
    assert_eq!(ran.rows.rows.len(), 1);
}

#[tokio::test]
async fn repairs_are_counted() {
    let shop = Shop::open(SqlDialect::Sqlite);
    for (repairs, calls) in [(0, 1), (1, 2), (3, 4)] {
        let model = Arc::new(Scripted::texts(&["DROP TABLE orders"]));
        let config = SqlConfig {
            repairs,
            ..SqlConfig::default()
        };
        let databases = serving(&shop, &model, config).await;
        let error = databases
            .generate("shop", "how many orders?")
            .await
            .unwrap_err();
        assert_eq!(error.code(), "sql.guard.statement");
        assert_eq!(model.asked().len(), calls, "{repairs} repairs");
    }
}

#[tokio::test]
async fn a_query_that_failed_later_goes_back_with_its_error() {
    let shop = Shop::open(SqlDialect::PostgreSql);
    let wrong = r#"{"sql": "SELECT 1 / (total - total) FROM orders"}"#;
    let model = Arc::new(Scripted::texts(&[wrong, RIGHT]));
    let databases = serving(&shop, &model, SqlConfig::default()).await;
    let question = "how many orders?";
    let before = databases.generate("shop", question).await.unwrap();
    let options = RunOptions::default();
    let ran = databases.run("shop", &before.generated_sql, &options);
    let error = ran.await.unwrap_err();
    assert!(error.is_repairable(), "{error:?}");
    let after = databases
        .repair_query("shop", question, &before, &error, &RunOptions::default())
        .await
        .unwrap();
    assert!(after.generated_sql.contains("COUNT(*)"), "{after:?}");
    assert_eq!(after.selected_tables, before.selected_tables);
    assert_eq!(after.repairs[0].code, "sql.failed");
    let asked = model.asked();
    let MessageContent::Text(second) = &asked[1].messages[1].content else {
        panic!("{asked:?}");
    };
    for part in [
        "division by zero",
        "total - total",
        "public.orders",
        question,
    ] {
        assert!(second.contains(part), "{part}: {second}");
    }
}

#[tokio::test]
async fn a_model_that_says_no_is_quoted() {
    let shop = Shop::open(SqlDialect::Sqlite);
    for (said, quoted) in [
        (
            r#"{"sql": null, "explanation": "there are no planets here"}"#,
            "there are no planets here",
        ),
        (
            "```json\n{\"sql\": \"\", \"explanation\": \"no planets\"}\n```",
            "no planets",
        ),
        (r#"{"sql": null}"#, r#"{"sql": null}"#),
    ] {
        let model = Arc::new(Scripted::texts(&[said]));
        let databases = serving(&shop, &model, SqlConfig::default()).await;
        let error = databases.generate("shop", "planets?").await.unwrap_err();
        let SqlError::Answer { answer, .. } = &error else {
            panic!("{said}: {error:?}");
        };
        assert_eq!(answer, quoted);
    }
}

#[tokio::test]
async fn queries_are_compared_under_the_guard() {
    let shop = Shop::open(SqlDialect::Sqlite);
    let model = Arc::new(Scripted::texts(&[RIGHT]));
    let databases = serving(&shop, &model, SqlConfig::default()).await;
    let gold = "SELECT city, COUNT(*) FROM customers GROUP BY city";
    let compare = |query: &'static str| databases.compare("shop", gold, query);
    let same = "SELECT c.city, COUNT(c.id) AS n FROM customers c GROUP BY 1 ORDER BY n";
    assert_eq!(compare(same).await.unwrap(), ExecutionOutcome::Same);
    let other = "SELECT city, 1 FROM customers";
    assert_eq!(compare(other).await.unwrap(), ExecutionOutcome::Different);
    for wrong in [
        "DELETE FROM customers",
        "SELECT abs(-9223372036854775807 - 1)",
    ] {
        let outcome = compare(wrong).await.unwrap();
        assert!(
            matches!(outcome, ExecutionOutcome::Failed(_)),
            "{wrong}: {outcome:?}"
        );
    }
    let gold_fails = databases
        .compare("shop", "DELETE FROM customers", same)
        .await;
    assert_eq!(gold_fails.unwrap_err().code(), "sql.guard.statement");
    let history = databases.history("shop", None, 10).await.unwrap();
    assert!(history.items.is_empty(), "{history:?}");
}

/// A truncated query may read more than was requested.
#[tokio::test]
async fn an_answer_that_was_cut_is_repaired_once_and_never_used() {
    let shop = Shop::open(SqlDialect::Sqlite);
    let reasons = [
        FinishReason::Length,
        FinishReason::ContentFilter,
        FinishReason::Pause,
        FinishReason::Error,
    ];
    for (reason, said) in reasons.into_iter().flat_map(|reason| {
        ["SELECT * FROM orders", RIGHT, "```sql\nSELECT 1\n```", ""].map(|said| (reason, said))
    }) {
        let cut = Says::Cut(said.to_owned(), reason);
        let model = Arc::new(Scripted::new([cut.clone(), Says::Text(RIGHT.to_owned())]));
        let databases = serving(&shop, &model, SqlConfig::default()).await;
        let options = RunOptions::default();
        let (generated, ran) = databases.ask("shop", "which?", &options).await.unwrap();
        assert_eq!(generated.repairs.len(), 1, "{reason} {said}");
        assert_eq!(
            generated.repairs[0].code, "sql.answer_cut",
            "{reason} {said}"
        );
        assert_eq!(format!("{:?}", ran.rows.rows), "[[Int(4)]]");
        let MessageContent::Text(second) = &model.asked()[1].messages[1].content else {
            panic!("no text");
        };
        assert!(second.contains("is not used"), "{second}");

        let model = Arc::new(Scripted::new([cut]));
        let databases = serving(&shop, &model, SqlConfig::default()).await;
        for error in [
            databases.ask("shop", "which?", &options).await.unwrap_err(),
            databases.generate("shop", "which?").await.unwrap_err(),
        ] {
            assert_eq!(error.code(), "sql.answer_cut", "{reason} {said}");
            let names = reason != FinishReason::Length
                || error.to_string().contains("4096 (sql.phase2_max_tokens)");
            assert!(names, "{error}");
        }
        assert_eq!(model.asked().len(), 4, "one repair each");
    }
}

#[tokio::test]
async fn a_choice_of_tables_that_was_cut_is_a_fallback() {
    let shop = Shop::open(SqlDialect::Sqlite);
    let cut = Says::Cut(r#"["orders"]"#.to_owned(), FinishReason::Length);
    let model = Arc::new(Scripted::new([cut, Says::Text(RIGHT.to_owned())]));
    let config = SqlConfig {
        full_schema_tokens: 0,
        ..SqlConfig::default()
    };
    let databases = serving(&shop, &model, config).await;
    let generated = databases
        .generate("shop", "how many orders?")
        .await
        .unwrap();
    let fallback = generated.fallback_reason.unwrap();
    assert_eq!(fallback.code, "cut");
    assert!(
        fallback.message.contains("256 (sql.phase1_max_tokens)"),
        "{fallback:?}"
    );
}

//! Tests parsing queries from models' answers.

use quillet_sql::chain::read_query;

/// A query and its explanation.
type Found = Option<(&'static str, Option<&'static str>)>;

#[test]
fn queries_are_found_in_what_models_say() {
    let cases: &[(&str, Found)] = &[
        (
            r#"{"sql": "SELECT 1", "explanation": "one"}"#,
            Some(("SELECT 1", Some("one"))),
        ),
        (
            "```json\n{\"sql\": \"SELECT 1\"}\n```",
            Some(("SELECT 1", None)),
        ),
        (
            "Sure! {\"sql\": \"SELECT '{' AS b\", \"explanation\": \"x\"} Enjoy.",
            Some(("SELECT '{' AS b", Some("x"))),
        ),
        (
            "```sql\nSELECT a\nFROM t\n```",
            Some(("SELECT a\nFROM t", None)),
        ),
        ("```SELECT 1```", Some(("SELECT 1", None))),
        (
            "Here you are:\n```sql\nSELECT 1;\n```\nIt gives one.",
            Some(("SELECT 1;", Some("Here you are:\nIt gives one."))),
        ),
        ("SELECT 1", Some(("SELECT 1", None))),
        (
            "-- all of them\nselect * from t",
            Some(("-- all of them\nselect * from t", None)),
        ),
        (
            "(SELECT 1) UNION (SELECT 2)",
            Some(("(SELECT 1) UNION (SELECT 2)", None)),
        ),
        (
            "<think>maybe {\"sql\": \"DROP TABLE x\"}</think>{\"sql\": \"SELECT 2\"}",
            Some(("SELECT 2", None)),
        ),
        ("<think>never ends {\"sql\": \"SELECT 2\"}", None),
        (
            r#"{"sql": "```sql\nSELECT 3\n```"}"#,
            Some(("SELECT 3", None)),
        ),
        ("DROP TABLE users", Some(("DROP TABLE users", None))),
        ("", None),
        ("I cannot answer that.", None),
        (r#"{"sql": ""}"#, None),
        (r#"{"sql": null, "explanation": "no table fits"}"#, None),
        (r#"{"sql": "SELECT 1", "expl"#, None),
        ("Selecting the right table is hard", None),
        ("[\"orders\"]", None),
    ];
    for (answer, expected) in cases {
        let found = read_query(answer);
        let found = found
            .as_ref()
            .map(|w| (w.sql.as_str(), w.explanation.as_deref()));
        assert_eq!(found, *expected, "{answer}");
    }
}

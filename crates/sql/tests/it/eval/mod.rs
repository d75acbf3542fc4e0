//! Tests measuring: question files, recordings and rows.

use std::path::PathBuf;

use quillet_core::chat::Bytes4;
use quillet_sql::SqlConfig;
use quillet_sql::eval::{DEPTHS, Recording, SearchScope, Suite, measure, replay, same_rows};
use quillet_sql::rows::{Cell, ColumnInfo, RowSet, ValueType};

/// A file in a temporary folder, removed on drop.
struct File(PathBuf);

impl File {
    fn new(name: &str, text: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("quillet-eval-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("questions.json");
        std::fs::write(&path, text).unwrap();
        File(path)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(self.0.parent().unwrap());
    }
}

const SMALL: &str = r#"{
    "name": "small", "scope": "union",
    "databases": [
        {"db_id": "a", "tables": [
            {"schema": "a", "name": "orders", "comment": null, "columns": [["id", "int"], ["customer_id", null, "who"]]},
            {"schema": "a", "name": "customers", "columns": [["id"]], "pk": ["id"]}
        ], "fks": [["orders", "customer_id", "customers", "id"]]},
        {"db_id": "b", "tables": [{"schema": "b", "name": "planets", "columns": [["id"]]}]}
    ],
    "questions": [
        {"id": "1", "db_id": "a", "question": "orders by customer", "gold": ["orders", "a.customers"], "sql": "SELECT 1"},
        {"id": "2", "db_id": "b", "question": "how many planets", "gold": ["planets"]}
    ]
}"#;

#[test]
fn files_are_read_and_measured() {
    let file = File::new("small", SMALL);
    let suite = Suite::open(&file.0).unwrap();
    assert_eq!(suite.scope, SearchScope::Union);
    assert_eq!(suite.questions[0].gold, ["a.orders", "a.customers"]);
    assert_eq!(suite.questions[0].sql.as_deref(), Some("SELECT 1"));
    let measured = measure(&suite, &SqlConfig::default(), &Bytes4, &|_, _, _| {});
    assert_eq!((measured.questions, measured.tables), (2, 3));
    assert_eq!(
        measured.order.at.iter().map(|at| at.k).collect::<Vec<_>>(),
        DEPTHS
    );
    assert!(
        measured
            .order
            .at
            .iter()
            .all(|at| at.recall == 1.0 && at.complete == 1.0),
        "{measured:?}"
    );
    assert_eq!(
        measure(
            &suite.only(|name| name == "b"),
            &SqlConfig::default(),
            &Bytes4,
            &|_, _, _| {}
        )
        .questions,
        1
    );
}

#[test]
fn recordings_are_repaired_by_rank() {
    let file = File::new("replay", SMALL);
    let suite = Suite::open(&file.0).unwrap();
    let selection = |id: &str, table: &str| serde_json::json!({"id": id, "tables": [table]});
    let recording = serde_json::json!({"model": "m", "selections": [selection("1", "orders"), selection("2", "moons")]});
    let recording: Recording = serde_json::from_value(recording).unwrap();
    let replayed = replay(&suite, &recording, &SqlConfig::default(), &Bytes4);
    assert_eq!((replayed.questions, replayed.fallbacks), (2, 1));
    assert_eq!(
        (replayed.complete, replayed.complete_repaired),
        (0.5, 1.0),
        "a fallback shows all tables"
    );
}

#[test]
fn wrong_files_say_what_is_wrong() {
    let cases = [
        ("{", "line 1"),
        (r#"{"questions": 7}"#, "sequence"),
        (
            r#"{"databases": [{"db_id": "a", "tables": []}], "questions": [{"id": "9", "db_id": "z", "question": "", "gold": []}]}"#,
            "\"9\"",
        ),
        (
            r#"{"databases": [{"db_id": "a", "tables": []}], "questions": [{"id": "9", "db_id": "a", "question": "", "gold": ["t"]}]}"#,
            "\"t\"",
        ),
        (r#"{"questions": []}"#, "questions_union.json"),
    ];
    for (i, (text, wanted)) in cases.into_iter().enumerate() {
        let file = File::new(&format!("wrong{i}"), text);
        let error = Suite::open(&file.0).unwrap_err();
        assert_eq!(error.code(), "sql.invalid.eval");
        assert!(error.to_string().contains(wanted), "{error}");
    }
}

fn rows(rows: Vec<Vec<Cell>>) -> RowSet {
    let column = ColumnInfo {
        name: "c".to_owned(),
        data_type: String::new(),
        value_type: ValueType::Other,
    };
    let columns = vec![column; rows.first().map_or(1, Vec::len)];
    RowSet {
        columns,
        rows,
        truncated: None,
    }
}

#[test]
fn rows_are_compared_by_value() {
    let text = |text: &str| Cell::Text(text.to_owned());
    let one = |cell: Cell| rows(vec![vec![cell]]);
    let same = [
        (Cell::Int(3), Cell::Float(3.0)),
        (Cell::Int(3), text("3.00")),
        (Cell::UInt(1), Cell::Bool(true)),
        (Cell::Float(0.0), Cell::Float(-0.0)),
        (Cell::Float(0.1 + 0.2), Cell::Float(0.3)),
        (Cell::Null, Cell::Null),
    ];
    for (a, b) in same {
        assert!(
            same_rows(&one(a.clone()), &one(b.clone()), false),
            "{a:?} {b:?}"
        );
    }
    let different = [
        (Cell::Int(3), Cell::Int(4)),
        (Cell::Null, text("null")),
        (Cell::Null, Cell::Int(0)),
        (text("a"), text("A")),
        (Cell::Bytes(vec![1]), Cell::Int(1)),
    ];
    for (a, b) in different {
        assert!(
            !same_rows(&one(a.clone()), &one(b.clone()), false),
            "{a:?} {b:?}"
        );
    }
    let up = rows(vec![vec![Cell::Int(1)], vec![Cell::Int(2)]]);
    let down = rows(vec![vec![Cell::Int(2)], vec![Cell::Int(1)]]);
    assert!(same_rows(&up, &down, false));
    assert!(!same_rows(&up, &down, true));
    assert!(!same_rows(&up, &one(Cell::Int(1)), false));
}

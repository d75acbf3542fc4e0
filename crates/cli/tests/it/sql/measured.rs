//! `eval`, `format` and `doctor`: reports about questions, queries and connections.

use super::json;
use crate::Place;

const QUESTIONS: &str = r#"{"name": "demo", "questions": [
    {"id": "cities", "db_id": "demo", "question": "How many customers are in each city?", "gold": ["customers"],
     "sql": "SELECT city, count(*) FROM customers GROUP BY city"},
    {"id": "柏林", "db_id": "demo", "question": "哪些客户来自柏林?", "gold": ["customers"],
     "sql": "SELECT name FROM customers WHERE city = 'Berlin'"},
    {"id": "dearest", "db_id": "demo", "question": "Which product costs most?", "gold": ["products"],
     "sql": "SELECT name FROM products ORDER BY price DESC LIMIT 1"}
]}"#;
const RECORDED: &str = r#"{"selections": [
    {"id": "cities", "sql": "SELECT c.city, count(c.id) AS n FROM customers AS c GROUP BY 1 ORDER BY n"},
    {"id": "柏林", "sql": "SELECT email FROM customers WHERE city = 'Berlin'"},
    {"id": "dearest", "sql": "DELETE FROM products"}
]}"#;
const CHOICES: &str = r#"{"selections": [{"id": "1", "tables": ["orders"]}]}"#;
const FILE: &str = r#"{"name": "two", "databases": [{"db_id": "shop", "tables": [
        {"schema": "shop", "name": "orders", "columns": [["id"]]},
        {"schema": "shop", "name": "planets", "columns": [["id"]]}
    ]}],
    "questions": [{"id": "1", "db_id": "shop", "question": "how many orders?", "gold": ["orders"]}]}"#;

fn place() -> Place {
    Place::new().with(&[
        ("questions.json", QUESTIONS),
        ("recorded.json", RECORDED),
        ("choices.json", CHOICES),
        ("file.json", FILE),
    ])
}

#[test]
fn choices_of_tables_are_measured() {
    let place = place();
    let measured = place.run(&["sql", "eval", "file.json", "--recorded", "choices.json"]);
    assert_eq!(measured.code, Some(0), "{measured:?}");
    for part in [
        "two: 1 questions, 2 tables",
        "    5  100.0%     100.0%",
        "recorded choices: 1 questions, complete 100.0 %",
    ] {
        assert!(measured.out.contains(part), "{part}: {measured:?}");
    }
    place
        .run(&["sql", "eval", "file.json", "-k", "7"])
        .fails(2, &["invalid -k 7"]);
    place
        .run(&["sql", "eval", "questions.json"])
        .fails(2, &["has no databases of its own"]);
}

#[test]
fn recorded_queries_are_run_beside_the_right_ones() {
    let place = place();
    let args = [
        "sql",
        "eval",
        "questions.json",
        "--recorded",
        "recorded.json",
        "--db",
        "demo",
    ];
    let done = place.run(&args);
    assert_eq!(done.code, Some(0), "{done:?}");
    assert!(
        done.out.contains(
            "33.3 % return the rows of the reference query (1 identical, 1 different, 1 failed)"
        ),
        "{done:?}"
    );
    for remark in [
        "柏林: different rows",
        "dearest: the query fails: DELETE does not read",
    ] {
        assert!(done.err.contains(remark), "{done:?}");
    }
    let all = json(&place.run(&[&args[..], &["--json"]].concat()));
    assert_eq!(
        all[0]["execution"],
        serde_json::json!({"same": 1, "different": 1, "failed": 1, "unknown": 0})
    );
    place
        .run(&["sql", "eval", "questions.json", "--db", "demo"])
        .fails(2, &["pass --recorded FILE"]);
}

#[test]
fn queries_are_laid_out_and_mistakes_have_their_place() {
    let place = Place::new().with(&[("query.sql", "select a from t where b=1")]);
    let laid_out = "SELECT a\nFROM t\nWHERE b = 1\n";
    place.run(&["sql", "format", "query.sql"]).gives(laid_out);
    let typed = place.run_with(&["sql", "format"], "select a from t where b=1", &[]);
    typed.gives(laid_out);
    let near = place.run(&["sql", "format", "select 1", "--dialect", "sqlit"]);
    near.fails(2, &["did you mean sqlite?"]);
    let wrong = place.run(&["sql", "format", "select 'open"]);
    assert_ne!(wrong.code, Some(0), "{wrong:?}");
    assert!(wrong.err.contains("query:1:8"), "{wrong:?}");
}

#[test]
fn the_doctor_looks_at_connections() {
    let place = Place::new().with(&[
        ("hello.tmpl", "Hello"),
        ("words.yaml", "turnover: [definitions, 订单]"),
    ]);
    let store = ["--store", "sqlite:store.db"];
    let run = |args: &[&str]| place.run(&[args, &store].concat());
    assert_eq!(run(&["prompt", "add", "hello", "hello.tmpl"]).code, Some(0));
    let added = run(&["sql", "add", "own", "store.db", "--glossary", "words.yaml"]);
    assert_eq!(added.code, Some(0), "{added:?}");
    let found = run(&["sql", "tables", "our turnover", "--db", "own"]);
    assert!(found.out.starts_with("main.definitions"), "{found:?}");
    let none = run(&[
        "sql",
        "add",
        "own",
        "store.db",
        "--glossary",
        "hello.tmpl",
        "--force",
    ]);
    none.fails(2, &["--glossary: hello.tmpl"]);
    let env = [("QUILLET_STORE", "sqlite:store.db")];
    let doctor = place.run_with(&["doctor"], "", &env);
    assert!(doctor.out.contains("ok    database"), "{doctor:?}");
    std::fs::copy(place.path().join("store.db"), place.path().join("away.db")).unwrap();
    assert_eq!(run(&["sql", "add", "away", "away.db"]).code, Some(0));
    std::fs::remove_file(place.path().join("away.db")).unwrap();
    let doctor = place.run_with(&["doctor"], "", &env);
    assert!(doctor.out.contains("away"), "{doctor:?}");
    assert_ne!(doctor.code, Some(0), "{doctor:?}");
}

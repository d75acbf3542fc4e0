//! Errors name the problem and the fix.

use super::demo;
use crate::Place;

#[test]
fn without_a_database_there_is_a_way_to_one() {
    let place = Place::new();
    let done = place.run(&["sql", "How many orders?"]);
    done.fails(2, &["no database is set", "--db demo"]);
    place.run(&["sql"]).fails(2, &["missing question"]);
    place
        .run(&["sql", "run", "--db", "demo"])
        .fails(2, &["missing query"]);
}

#[test]
fn a_database_that_is_not_there_is_named() {
    let place = Place::new().with(&[("shop.db", "")]);
    for (db, words) in [
        ("none.db", &["no such file: none.db"][..]),
        (
            "shpo.db",
            &["no such file: shpo.db", "did you mean shop.db?"],
        ),
        ("./", &["is a folder"]),
        ("oracle://h/d", &["oracle", "postgresql://user@host/name"]),
        ("postgresql://h", &["missing database name"]),
        ("shop", &["unknown database \"shop\""]),
    ] {
        let done = place.run(&["sql", "tables", "--db", db]);
        done.fails(2, words);
    }
}

#[test]
fn a_question_without_quotes_is_recognised() {
    let words = Place::new().run(&["sql", "how", "many", "orders", "--db", "demo"]);
    let quoted = Place::new().run(&["sql", "how many orders", "--db", "demo"]);
    assert_eq!(
        (words.code, &words.out),
        (Some(0), &quoted.out),
        "{words:?}"
    );
    // Even a word that is the name of a command is part of the question.
    let done = Place::new().run(&["sql", "show", "tables", "--db", "demo"]);
    done.fails(4, &["no answer to this question", "the closest are"]);
}

#[test]
fn settings_that_cannot_be_are_refused_with_their_place() {
    let place = Place::new().with(&[("quillet.toml", "[sql]\nchain = \"sed\"\n")]);
    demo(&place, &["tables"]).fails(2, &["sql.chain", "quillet.toml:2", "\"sed\""]);
    let place = Place::new().with(&[("quillet.toml", "[sql]\nrow = 5\n")]);
    demo(&place, &["tables"]).fails(2, &["sql.row", "did you mean sql.rows?"]);
    let place = Place::new().with(&[("quillet.toml", "[sql]\nphase1_temperature = \"hot\"\n")]);
    demo(&place, &["tables"]).fails(2, &["a non-negative number"]);
}

#[test]
fn what_changes_something_is_refused_at_its_place() {
    let place = Place::new();
    let done = demo(&place, &["run", "DELETE FROM orders"]);
    done.fails(5, &["error:", "query:1:1", "DELETE"]);
    let done = demo(&place, &["--sql", "SELECT 1; DROP TABLE orders"]);
    assert_eq!(done.code, Some(5), "{done:?}");
    let done = demo(&place, &["run", "SELECT * FROM ordrs"]);
    done.fails(5, &["ordrs", "orders"]);
}

#[test]
fn a_query_takes_standard_input_and_a_pattern_no_question() {
    let place = Place::new();
    let done = place.run_with(
        &["sql", "run", "--db", "demo", "-o", "csv"],
        "SELECT 1 AS one\n",
        &[],
    );
    assert_eq!(done.out, "one\r\n1\r\n", "{done:?}");
    demo(&place, &["tables", "coupns"]).fails(1, &["did you mean \"coupons\"?"]);
    demo(&place, &["tables", "nothing*"]).fails(1, &["no table matches", "lists all"]);
    demo(&place, &["schema", "ordrs"]).fails(2, &["unknown table \"ordrs\"", "orders"]);
}

//! Tests queries on full-text and R-tree tables with the authorizer installed.

use quillet_sql::QueryLimits;
use quillet_sql::rows::Cell;

use super::folder::Folder;

const SCHEMA: &str = "
CREATE VIRTUAL TABLE docs USING fts5(title, body);
INSERT INTO docs VALUES ('one', 'hello world'), ('two', 'hello there, hello'), ('three', 'bye');
CREATE TABLE pages (id INTEGER PRIMARY KEY, body TEXT);
INSERT INTO pages VALUES (7, 'hello outside'), (8, 'bye');
CREATE VIRTUAL TABLE outside USING fts5(body, content = 'pages', content_rowid = 'id');
INSERT INTO outside(outside) VALUES ('rebuild');
CREATE VIRTUAL TABLE old USING fts4(body);
INSERT INTO old VALUES ('hello old'), ('bye');
CREATE VIRTUAL TABLE rt USING rtree(id, x0, x1, y0, y1, +name);
INSERT INTO rt VALUES (1, 0, 1, 0, 1, 'near'), (2, 10, 11, 10, 11, 'far');
CREATE VIRTUAL TABLE whole USING rtree_i32(id, x0, x1);
INSERT INTO whole VALUES (5, 1, 2);
CREATE VIEW found AS SELECT title FROM docs WHERE rowid = 2;
";

#[tokio::test]
async fn virtual_tables_are_read() {
    let folder = Folder::with(SCHEMA);
    for (sql, expected) in [
        ("SELECT count(*) FROM docs", "3"),
        (
            "SELECT group_concat(title) FROM docs WHERE docs MATCH 'hello'",
            "one,two",
        ),
        ("SELECT title FROM docs('bye')", "three"),
        (
            "SELECT title FROM docs WHERE docs MATCH 'hello' ORDER BY bm25(docs) LIMIT 1",
            "two",
        ),
        (
            "SELECT title FROM docs WHERE docs MATCH 'hello' ORDER BY rank LIMIT 1",
            "two",
        ),
        (
            "SELECT highlight(docs, 1, '[', ']') FROM docs WHERE docs MATCH 'bye'",
            "[bye]",
        ),
        (
            "SELECT snippet(docs, 1, '[', ']', '', 2) FROM docs WHERE docs MATCH 'world'",
            "hello [world]",
        ),
        (
            "SELECT title FROM docs WHERE docs MATCH 'by* NOT hello'",
            "three",
        ),
        ("SELECT rowid FROM outside WHERE outside MATCH 'hello'", "7"),
        ("SELECT body FROM old WHERE old MATCH 'hello'", "hello old"),
        (
            "SELECT snippet(old) FROM old WHERE body MATCH 'old'",
            "hello <b>old</b>",
        ),
        ("SELECT id FROM rt WHERE x0 >= 5 AND y1 <= 20", "2"),
        ("SELECT name FROM rt WHERE id = 1", "near"),
        ("SELECT count(*) FROM rt", "2"),
        ("SELECT x1 FROM whole WHERE x0 < 2", "2"),
        ("SELECT title FROM found", "two"),
        (
            "SELECT d.title FROM docs AS d JOIN rt ON rt.id = d.rowid WHERE rt.x0 > 5",
            "two",
        ),
    ] {
        let rows = folder.database().query(sql, &QueryLimits::default()).await;
        let rows = rows.unwrap_or_else(|error| panic!("{sql}: {error}")).rows;
        let found = match rows.as_slice() {
            [row] => match row.as_slice() {
                [Cell::Text(text)] => text.clone(),
                [Cell::Int(number)] => number.to_string(),
                other => panic!("{sql}: {other:?}"),
            },
            other => panic!("{sql}: {other:?}"),
        };
        assert_eq!(found, expected, "{sql}");
    }
}

/// Writes are still rejected, including the commands of full-text search.
#[tokio::test]
async fn virtual_tables_are_not_changed() {
    let folder = Folder::with(SCHEMA);
    for sql in [
        "INSERT INTO docs(docs) VALUES ('rebuild')",
        "INSERT INTO docs(docs, rank) VALUES ('pgsz', 64)",
        "DELETE FROM docs",
        "UPDATE rt SET x0 = 0",
        "INSERT INTO old(old) VALUES ('optimize')",
        "SELECT optimize(old) FROM old WHERE old MATCH 'hello'",
        "SELECT fts3_tokenizer('simple')",
        "SELECT title FROM docs WHERE title = ?1",
        "PRAGMA data_version = 5",
    ] {
        let refused = folder.database().query(sql, &QueryLimits::default()).await;
        assert!(refused.is_err(), "{sql}: {refused:?}");
    }
    let rows = "SELECT count(*) FROM docs WHERE docs MATCH 'hello'";
    let rows = folder.database().query(rows, &QueryLimits::default()).await;
    assert_eq!(rows.unwrap().rows, [[Cell::Int(2)]]);
}

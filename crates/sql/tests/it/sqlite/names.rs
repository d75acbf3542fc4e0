//! Tests names that need quotes.

use quillet_sql::rows::Cell;
use quillet_sql::{Catalogue, QueryLimits};

use super::folder::Folder;

const SCHEMA: &str = r#"
CREATE TABLE 订单 (订单号 INTEGER PRIMARY KEY, 金额 REAL, "客户 名" TEXT);
CREATE TABLE "select" ("from" TEXT, "Group By" INTEGER, [order] TEXT, `with``tick` TEXT);
CREATE TABLE "Mixed Case" ("Id" INTEGER PRIMARY KEY, "say ""hi""" TEXT);
CREATE TABLE "it's" ("a.b" TEXT, " spaces " TEXT, '引号' TEXT);
INSERT INTO 订单 VALUES (1, 9.5, '安');
INSERT INTO "select" VALUES ('x', 7, 'y', 'z');
INSERT INTO "Mixed Case" VALUES (3, 'hello');
INSERT INTO "it's" VALUES ('p', 'q', 'r');
"#;

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

async fn read(folder: &Folder) -> Catalogue {
    folder.database().catalogue(&|_, _, _| {}).await.unwrap()
}

#[tokio::test]
async fn every_name_comes_back_and_can_be_asked_for() {
    let folder = Folder::with(SCHEMA);
    let catalogue = read(&folder).await;
    let names: Vec<&str> = catalogue
        .tables
        .iter()
        .map(|t| t.table_name.as_str())
        .collect();
    assert_eq!(names, ["Mixed Case", "it's", "select", "订单"]);
    let columns = |i: usize| -> Vec<&str> {
        catalogue.tables[i]
            .columns
            .iter()
            .map(|c| c.name.as_str())
            .collect()
    };
    assert_eq!(columns(0), ["Id", "say \"hi\""]);
    assert_eq!(columns(1), ["a.b", " spaces ", "引号"]);
    assert_eq!(columns(2), ["from", "Group By", "order", "with`tick"]);
    assert_eq!(columns(3), ["订单号", "金额", "客户 名"]);
    for table in &catalogue.tables {
        let columns: Vec<String> = table.columns.iter().map(|c| quoted(&c.name)).collect();
        let from = format!("{}.{}", table.schema_name, quoted(&table.table_name));
        let sql = format!("SELECT {} FROM {from}", columns.join(", "));
        let rows = folder
            .database()
            .query(&sql, &QueryLimits::default())
            .await
            .unwrap();
        assert_eq!(rows.rows.len(), 1, "{sql}");
        let named: Vec<&str> = rows.columns.iter().map(|c| c.name.as_str()).collect();
        let expected: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
        assert_eq!(named, expected);
    }
}

/// As everywhere in SQLite, a word in double quotes is a name if it exists, otherwise a string.
#[tokio::test]
async fn a_quoted_word_that_names_nothing_is_a_text() {
    let folder = Folder::with(SCHEMA);
    let cases = [
        ("SELECT 'a' FROM 订单", Cell::Text("a".to_owned())),
        ("SELECT \"a\" FROM 订单", Cell::Text("a".to_owned())),
        ("SELECT \"金额\" FROM 订单", Cell::Float(9.5)),
        (
            "SELECT count(*) FROM 订单 WHERE \"客户 名\" = \"安\"",
            Cell::Int(1),
        ),
        (
            "SELECT \"客户 名\" FROM 订单 WHERE \"客户 名\" IN (\"安\", \"x\")",
            Cell::Text("安".to_owned()),
        ),
        (
            "SELECT count(*) FROM 订单 GROUP BY \"客户 名\" HAVING max(\"客户 名\") <> \"金\"",
            Cell::Int(1),
        ),
    ];
    for (sql, expected) in cases {
        let rows = folder.database().query(sql, &QueryLimits::default()).await;
        assert_eq!(rows.unwrap().rows, [[expected]], "{sql}");
    }
}

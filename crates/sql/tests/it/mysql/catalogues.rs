//! Tests catalogues, their fingerprints, and role privileges.

use std::path::PathBuf;
use std::sync::Mutex;

use quillet_sql::catalogue::{Catalogue, DatabaseTable, ForeignKey, TableType};
use quillet_sql::{Cell, Database};
use quillet_test_support::MariaDb;

use super::{only, open, rows};

async fn read(database: &dyn Database) -> Catalogue {
    database.catalogue(&|_, _, _| {}).await.unwrap()
}

fn table<'a>(catalogue: &'a Catalogue, name: &str) -> &'a DatabaseTable {
    let found = catalogue.resolve(None, name);
    found.unwrap_or_else(|| panic!("no table {name}"))
}

/// Returns a sample database. If it is missing, prints a message and returns `None`.
fn sample(name: &str) -> Option<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/nl2sql/samples");
    let text = std::fs::read_to_string(folder.join(name));
    if text.is_err() {
        eprintln!("left out: {name} is not here");
    }
    text.ok()
}

const SCHEMA: &str = "
CREATE DATABASE other;
CREATE TABLE other.country (code char(2) PRIMARY KEY) COMMENT '国家';
CREATE TABLE customer (
    id bigint unsigned AUTO_INCREMENT PRIMARY KEY COMMENT '编号',
    email varchar(80) NOT NULL DEFAULT 'none''s',
    first varchar(20), last varchar(20) DEFAULT NULL,
    whole varchar(41) AS (CONCAT(first, ' ', last)) STORED,
    kind enum('new','it''s','老客户') DEFAULT 'new',
    tags set('a','b'),
    country char(2),
    changed timestamp DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
    UNIQUE KEY by_name (last, first),
    UNIQUE KEY (email),
    CONSTRAINT lives FOREIGN KEY (country) REFERENCES other.country (code)
) COMMENT '客户表 🙂';
CREATE TABLE line (
    item int, customer bigint unsigned, parent_order int, parent_item int,
    amount decimal(12,4) unsigned NOT NULL,
    PRIMARY KEY (customer, item),
    UNIQUE KEY pair (item, customer),
    FOREIGN KEY (customer) REFERENCES customer (id),
    CONSTRAINT within FOREIGN KEY (parent_item, customer) REFERENCES line (item, customer)
);
CREATE VIEW everyone AS SELECT id, email FROM customer;
CREATE TABLE gone (a int);
CREATE VIEW broken AS SELECT a FROM gone;
DROP TABLE gone;
CREATE SEQUENCE counter;
CREATE TABLE history (a int) WITH SYSTEM VERSIONING;
INSERT INTO other.country VALUES ('cn');
INSERT INTO customer (email) SELECT seq FROM seq_1_to_100;
";

#[tokio::test]
async fn tables_columns_and_keys_are_as_declared() {
    let server = MariaDb::start();
    server.execute(SCHEMA);
    let database = open(&server.url());
    let steps = Mutex::new(Vec::new());
    let progress =
        |done, total, what: &str| steps.lock().unwrap().push((done, total, what.to_owned()));
    let catalogue = database.catalogue(&progress).await.unwrap();
    let steps = steps.into_inner().unwrap();
    assert_eq!(steps.first(), Some(&(0, 4, "tables".to_owned())));
    assert_eq!(steps.last().map(|step| step.0), Some(4));

    let names: Vec<String> = catalogue
        .tables
        .iter()
        .map(DatabaseTable::qualified)
        .collect();
    assert_eq!(
        names,
        [
            "test.broken",
            "test.customer",
            "test.everyone",
            "test.history",
            "test.line"
        ]
    );
    assert_eq!(
        (catalogue.schemas, catalogue.search_path),
        (vec!["test".to_owned()], vec!["test".to_owned()])
    );
    assert!(catalogue.version.starts_with("1"), "{}", catalogue.version);

    let catalogue = read(&*database).await;
    let customer = table(&catalogue, "customer");
    // The server stores table comments in three-byte UTF-8, so it replaces the emoji.
    assert_eq!(customer.comment.as_deref(), Some("客户表 ?"));
    // The server only estimates the number of rows.
    assert!((90..=110).contains(&customer.row_count.unwrap()));
    let columns: Vec<_> = customer
        .columns
        .iter()
        .map(|c| {
            (
                c.name.as_str(),
                c.data_type.as_str(),
                c.is_nullable,
                c.is_primary_key,
                c.default_value.as_deref(),
                c.extra.as_deref(),
            )
        })
        .collect();
    assert_eq!(
        columns,
        [
            (
                "id",
                "bigint(20) unsigned",
                false,
                true,
                None,
                Some("auto_increment")
            ),
            (
                "email",
                "varchar(80)",
                false,
                false,
                Some("'none''s'"),
                None
            ),
            ("first", "varchar(20)", true, false, None, None),
            ("last", "varchar(20)", true, false, None, None),
            ("whole", "varchar(41)", true, false, None, Some("generated")),
            ("kind", "enum", true, false, Some("'new'"), None),
            ("tags", "set", true, false, None, None),
            ("country", "char(2)", true, false, None, None),
            (
                "changed",
                "timestamp",
                true,
                false,
                Some("current_timestamp()"),
                Some("on update current_timestamp()")
            ),
        ]
    );
    assert_eq!(customer.columns[0].comment.as_deref(), Some("编号"));
    assert_eq!(customer.columns[5].values, ["new", "it's", "老客户"]);
    assert_eq!(customer.columns[6].values, ["a", "b"]);
    assert_eq!(customer.unique, [vec!["last", "first"], vec!["email"]]);
    assert_eq!(
        customer.foreign_keys,
        [key(&["country"], "other", "country", &["code"])]
    );

    let line = table(&catalogue, "line");
    let primary: Vec<bool> = line
        .columns
        .iter()
        .map(|column| column.is_primary_key)
        .collect();
    assert_eq!(primary, [true, true, false, false, false]);
    assert_eq!(line.unique, [["item", "customer"]]);
    assert_eq!(
        line.foreign_keys,
        [
            key(&["customer"], "test", "customer", &["id"]),
            key(
                &["parent_item", "customer"],
                "test",
                "line",
                &["item", "customer"]
            ),
        ]
    );
    assert_eq!(table(&catalogue, "history").table_type, TableType::Table);
    for view in ["everyone", "broken"] {
        let view = table(&catalogue, view);
        assert_eq!(
            (view.table_type, view.comment.as_ref(), view.row_count),
            (TableType::View, None, None)
        );
    }
    assert_eq!(table(&catalogue, "everyone").columns.len(), 2);
}

fn key(columns: &[&str], schema: &str, table: &str, references: &[&str]) -> ForeignKey {
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    ForeignKey {
        columns: owned(columns),
        ref_schema: schema.to_owned(),
        ref_table: table.to_owned(),
        ref_columns: owned(references),
    }
}

#[tokio::test]
async fn other_databases_are_read_where_the_address_names_them() {
    let server = MariaDb::start();
    server.execute(SCHEMA);
    let both = read(&*open(&(server.url() + "?schemas=other,test"))).await;
    assert_eq!(both.schemas, ["other", "test"]);
    assert_eq!(both.search_path, ["test"]);
    assert_eq!(both.tables.len(), 6);
    let reader = server.create_role("reader");
    server.execute("GRANT SELECT ON test.everyone TO reader; GRANT SELECT (id, email) ON test.customer TO reader;");
    let seen = read(&*open(&(reader + "?schemas=other"))).await;
    let names: Vec<String> = seen.tables.iter().map(DatabaseTable::qualified).collect();
    assert_eq!(names, ["test.customer", "test.everyone"]);
    assert_eq!(seen.tables[0].columns.len(), 2);
}

#[tokio::test]
async fn the_fingerprint_changes_with_what_the_catalogue_holds() {
    let server = MariaDb::start();
    server.execute(SCHEMA);
    let database = open(&(server.url() + "?schemas=other"));
    let mut last = read(&*database).await.fingerprint;
    assert_eq!(database.fingerprint().await.unwrap(), last);
    for change in [
        "CREATE TABLE added (a int)",
        "ALTER TABLE added ADD b int",
        "ALTER TABLE added MODIFY b bigint",
        "ALTER TABLE added MODIFY b bigint DEFAULT 0",
        "ALTER TABLE added MODIFY b bigint DEFAULT 0 COMMENT 'b'",
        "ALTER TABLE added CHANGE b c bigint DEFAULT 0 COMMENT 'b'",
        "ALTER TABLE added COMMENT 'added'",
        "ALTER TABLE added ADD UNIQUE (c)",
        "ALTER TABLE added ADD PRIMARY KEY (a)",
        "ALTER TABLE line ADD CONSTRAINT again FOREIGN KEY (customer) REFERENCES customer (id)",
        "ALTER TABLE line DROP FOREIGN KEY again",
        "CREATE OR REPLACE VIEW everyone AS SELECT id FROM customer",
        "RENAME TABLE added TO renamed",
        "CREATE TABLE other.more (a int)",
        "DROP TABLE renamed",
    ] {
        server.execute(change);
        let now = database.fingerprint().await.unwrap();
        assert_ne!(now, last, "{change}");
        last = now;
    }
    server.execute("INSERT INTO customer (email) VALUES ('x@y')");
    server.create_database("unseen");
    server.execute_in("unseen", "CREATE TABLE t (a int)");
    assert_eq!(database.fingerprint().await.unwrap(), last);
}

#[tokio::test]
async fn roles_are_warned_of_for_what_reading_does_not_need() {
    let server = MariaDb::start();
    server.execute("CREATE TABLE t (a int)");
    let reader = server.create_role("reader");
    let writer = server.create_role("writer");
    server.execute(
        "GRANT SELECT, SHOW VIEW ON test.* TO reader;
         GRANT SELECT, INSERT, DROP, EXECUTE ON test.* TO writer;
         GRANT FILE ON *.* TO writer;",
    );
    let warnings = async |url: &str| open(url).check().await.unwrap().warnings;
    assert_eq!(warnings(&reader).await, Vec::<String>::new());
    let found = warnings(&writer).await;
    for part in [
        "(FILE)",
        "EXECUTE on `test`.*",
        "may INSERT, DROP on `test`.*",
    ] {
        assert!(
            found.iter().any(|warning| warning.contains(part)),
            "{found:?}"
        );
    }
    let found = warnings(&server.url()).await;
    assert!(
        found[0].contains("everything on *.*") && found[1].contains("GRANT OPTION"),
        "{found:?}"
    );
    assert!(!found.concat().contains("PASSWORD"), "{found:?}");
}

#[tokio::test]
async fn samples_are_read_whole() {
    let server = MariaDb::start();
    // The numbers are tables, views, columns, foreign keys, unique keys and comments.
    for (name, file, expected) in [
        ("Chinook", "chinook_mysql.sql", [11, 0, 64, 11, 0, 0]),
        ("sakila", "sakila_mysql_schema.sql", [16, 7, 131, 22, 2, 0]),
        ("mall", "mall_mysql.sql", [76, 0, 669, 0, 2, 452]),
    ] {
        let Some(script) = sample(file) else {
            return;
        };
        let url = server.create_database(name);
        server.execute_in(name, &format!("SET autocommit = 0;\n{script}\nCOMMIT;"));
        let catalogue = read(&*open(&url)).await;
        let tables = &catalogue.tables;
        let sum = |count: &dyn Fn(&DatabaseTable) -> usize| tables.iter().map(count).sum::<usize>();
        let comments = |table: &DatabaseTable| {
            let columns = table
                .columns
                .iter()
                .filter(|column| column.comment.is_some());
            columns.count() + usize::from(table.comment.is_some())
        };
        let found = [
            sum(&|table| usize::from(table.table_type == TableType::Table)),
            sum(&|table| usize::from(table.table_type == TableType::View)),
            sum(&|table| table.columns.len()),
            sum(&|table| table.foreign_keys.len()),
            sum(&|table| table.unique.len()),
            sum(&comments),
        ];
        assert_eq!(found, expected, "{name}");
    }
    let database = open(&server.url_of("root", "Chinook"));
    let tracks = rows(&*database, "SELECT COUNT(*) FROM Track").await;
    assert_eq!(only(tracks), Cell::Int(3503));
    let total = rows(
        &*database,
        "SELECT SUM(UnitPrice * Quantity) FROM InvoiceLine",
    )
    .await;
    assert_eq!(only(total), Cell::Text("2328.60".to_owned()));
    let mall = read(&*open(&server.url_of("root", "mall"))).await;
    let order = table(&mall, "oms_order");
    assert_eq!(order.comment.as_deref(), Some("订单表"));
    assert_eq!(
        order.column("pay_amount").unwrap().comment.as_deref(),
        Some("应付金额（实际支付金额）")
    );
}

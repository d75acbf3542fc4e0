//! Tests that every kind of relation appears in the catalogue, with all properties, for roles that
//! may read it.

use quillet_sql::catalogue::{DatabaseTable, TableType};
use quillet_sql::{Catalogue, Cell};
use quillet_test_support::Postgres;

use super::{catalogue, database, value};

fn find<'a>(catalogue: &'a Catalogue, schema: &str, name: &str) -> &'a DatabaseTable {
    let found = catalogue.resolve(Some(schema), name);
    found.unwrap_or_else(|| panic!("{schema}.{name}"))
}

#[tokio::test]
async fn every_kind_of_relation() {
    let server = Postgres::start();
    server.execute(
        "CREATE TABLE plain (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n int DEFAULT 7, gone int,
             twice int GENERATED ALWAYS AS (n * 2) STORED, UNIQUE (n, twice));
         ALTER TABLE plain DROP COLUMN gone;
         COMMENT ON TABLE plain IS '普通表';
         COMMENT ON COLUMN plain.twice IS 'two times n';
         INSERT INTO plain (n) SELECT g FROM generate_series(1, 500) g;
         CREATE TABLE measured (at date NOT NULL, v float8) PARTITION BY RANGE (at);
         CREATE TABLE measured_2025 PARTITION OF measured FOR VALUES FROM ('2025-01-01') TO ('2026-01-01');
         CREATE TABLE measured_2026 PARTITION OF measured FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
         INSERT INTO measured SELECT date '2025-12-01' + g, g FROM generate_series(0, 99) g;
         CREATE TABLE parent (a int); CREATE TABLE child (b int) INHERITS (parent);
         CREATE VIEW seen AS SELECT id, n FROM plain;
         CREATE MATERIALIZED VIEW kept AS SELECT count(*) AS c FROM plain;
         COMMENT ON MATERIALIZED VIEW kept IS 'counted';
         CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER far FOREIGN DATA WRAPPER nowhere;
         CREATE FOREIGN TABLE away (x int) SERVER far;
         CREATE TEMP TABLE passing (x int); CREATE SEQUENCE counter; CREATE INDEX ON plain (n);
         CREATE TYPE shape AS (w int, h int);
         ANALYZE;",
    );
    let catalogue = catalogue(&server.url()).await;
    let kinds: Vec<(&str, TableType)> = catalogue
        .tables
        .iter()
        .map(|table| (table.table_name.as_str(), table.table_type))
        .collect();
    assert_eq!(
        kinds,
        [
            ("away", TableType::ForeignTable),
            ("child", TableType::Table),
            ("kept", TableType::MaterializedView),
            ("measured", TableType::Table),
            ("parent", TableType::Table),
            ("plain", TableType::Table),
            ("seen", TableType::View),
        ]
    );
    assert_eq!(catalogue.search_path, ["public"]);
    assert!(catalogue.version.starts_with(|c: char| c.is_ascii_digit()));
    let rows = |name| find(&catalogue, "public", name).row_count;
    assert_eq!(rows("plain"), Some(500));
    assert_eq!(rows("measured"), Some(100), "the partitions know");
    assert_eq!((rows("seen"), rows("away")), (None, None));
    let plain = find(&catalogue, "public", "plain");
    assert_eq!(plain.comment.as_deref(), Some("普通表"));
    assert_eq!(plain.unique, [["n", "twice"]]);
    let [id, n, twice] = &plain.columns[..] else {
        panic!("{:?}", plain.columns)
    };
    assert_eq!(
        (id.extra.as_deref(), id.is_primary_key),
        (Some("identity"), true)
    );
    assert_eq!(
        (n.default_value.as_deref(), n.is_nullable),
        (Some("7"), true)
    );
    assert_eq!(
        (twice.extra.as_deref(), &twice.default_value),
        (Some("generated"), &None)
    );
    assert_eq!(twice.comment.as_deref(), Some("two times n"));
}

#[tokio::test]
async fn keys_lead_where_they_lead() {
    let server = Postgres::start();
    server.execute(
        "CREATE SCHEMA sales; CREATE SCHEMA archive;
         CREATE TABLE sales.orders (a int, b int, PRIMARY KEY (a, b));
         CREATE TABLE archive.orders (id int PRIMARY KEY, x int, y int, self int REFERENCES archive.orders,
             FOREIGN KEY (y, x) REFERENCES sales.orders (b, a));
         CREATE TABLE parted (id int, day int, PRIMARY KEY (id, day)) PARTITION BY LIST (day);
         CREATE TABLE parted_1 PARTITION OF parted FOR VALUES IN (1);
         CREATE TABLE parted_2 PARTITION OF parted FOR VALUES IN (2);
         CREATE TABLE pointing (i int, d int, FOREIGN KEY (i, d) REFERENCES parted);",
    );
    let catalogue = catalogue(&server.url()).await;
    let keys: Vec<String> = catalogue
        .tables
        .iter()
        .flat_map(|table| {
            table.foreign_keys.iter().map(|key| {
                let (from, to) = (key.columns.join(","), key.ref_columns.join(","));
                let (schema, other) = (&key.ref_schema, &key.ref_table);
                format!("{}({from}) -> {schema}.{other}({to})", table.qualified())
            })
        })
        .collect();
    assert_eq!(
        keys,
        [
            "archive.orders(y,x) -> sales.orders(b,a)",
            "archive.orders(self) -> archive.orders(id)",
            "public.pointing(i,d) -> public.parted(id,day)",
        ]
    );
    assert!(
        catalogue.resolve(None, "orders").is_none(),
        "two schemas have it"
    );
}

#[tokio::test]
async fn names_are_whatever_their_authors_wanted() {
    let names = [
        "select",
        "MixedCase",
        "mixedcase",
        "订单",
        "with space",
        "dot.in",
        "quo\"te",
        "per%cent",
        "semi;colon",
        "back\\slash",
        "apo'strophe",
        "$dollar",
        "emoji😀",
        "user",
    ];
    let server = Postgres::start();
    let quoted = |name: &str| format!("\"{}\"", name.replace('"', "\"\""));
    for name in names {
        let quoted = quoted(name);
        server.execute(&format!(
            "CREATE SCHEMA {quoted}; CREATE TABLE {quoted}.{quoted} ({quoted} int);
             COMMENT ON COLUMN {quoted}.{quoted}.{quoted} IS 'it''s';
             INSERT INTO {quoted}.{quoted} VALUES (1);"
        ));
    }
    let url = server.url();
    let catalogue = catalogue(&url).await;
    assert_eq!(catalogue.tables.len(), names.len());
    for name in names {
        let table = find(&catalogue, name, name);
        assert_eq!(table.table_name, name);
        assert_eq!(table.columns[0].name, name);
        assert_eq!(table.columns[0].comment.as_deref(), Some("it's"));
        let quoted = quoted(name);
        let sql = format!("SELECT {quoted} FROM {quoted}.{quoted}");
        assert_eq!(value(&url, &sql).await, Cell::Int(1), "{sql}");
    }
}

#[tokio::test]
async fn a_role_sees_what_it_may_read() {
    let server = Postgres::start();
    let reader = server.create_role("reader");
    server.execute(
        "CREATE SCHEMA open; CREATE SCHEMA shut;
         CREATE TABLE open.whole (a int PRIMARY KEY, b int); CREATE TABLE open.half (a int, secret int);
         CREATE TABLE open.none (a int REFERENCES open.whole); CREATE TABLE shut.whole (a int);
         CREATE TABLE open.key (a int REFERENCES open.whole, s int, UNIQUE (s, a));
         GRANT USAGE ON SCHEMA open TO reader;
         GRANT SELECT ON open.whole TO reader; GRANT SELECT (a) ON open.half, open.key TO reader;
         GRANT SELECT ON shut.whole TO reader;",
    );
    let catalogue = catalogue(&reader).await;
    let seen: Vec<String> = catalogue
        .tables
        .iter()
        .map(|table| {
            let columns: Vec<&str> = table.columns.iter().map(|c| c.name.as_str()).collect();
            format!("{}({})", table.qualified(), columns.join(","))
        })
        .collect();
    assert_eq!(seen, ["open.half(a)", "open.key(a)", "open.whole(a,b)"]);
    let key = find(&catalogue, "open", "key");
    assert_eq!((key.foreign_keys.len(), key.unique.len()), (1, 0));
}

#[tokio::test]
async fn the_search_path_is_the_roles_own() {
    let server = Postgres::start();
    let reader = server.create_role("reader");
    server.execute(
        "CREATE SCHEMA shop; CREATE TABLE shop.t (a int); CREATE TABLE public.t (b int);
         GRANT USAGE ON SCHEMA shop TO reader; GRANT SELECT ON shop.t, public.t TO reader;
         ALTER ROLE reader SET search_path = missing, shop, public;",
    );
    let catalogue = catalogue(&reader).await;
    assert_eq!(catalogue.search_path, ["shop", "public"]);
    assert_eq!(catalogue.resolve(None, "t").unwrap().schema_name, "shop");
}

#[tokio::test]
async fn the_fingerprint_changes_with_what_is_read() {
    let server = Postgres::start();
    server.execute("CREATE TABLE t (a int PRIMARY KEY); INSERT INTO t VALUES (1)");
    let database = database(&server.url());
    let mut last = database.fingerprint().await.unwrap();
    assert_eq!(
        database.catalogue(&|_, _, _| {}).await.unwrap().fingerprint,
        last
    );
    for change in [
        "CREATE TABLE u (x int REFERENCES t)",
        "ALTER TABLE u ADD COLUMN y text",
        "ALTER TABLE u RENAME COLUMN y TO z",
        "ALTER TABLE u ALTER COLUMN z TYPE varchar(9)",
        "ALTER TABLE u ALTER COLUMN z SET DEFAULT 'd'",
        "ALTER TABLE u ALTER COLUMN z SET NOT NULL",
        "COMMENT ON TABLE u IS 'one'",
        "COMMENT ON TABLE u IS 'two'",
        "COMMENT ON COLUMN u.z IS 'column'",
        "COMMENT ON TABLE u IS NULL",
        "ALTER TABLE u ADD UNIQUE (z)",
        "ALTER TABLE u DROP CONSTRAINT u_x_fkey",
        "CREATE TYPE e AS ENUM ('a'); ALTER TABLE u ADD COLUMN e e",
        "ALTER TYPE e ADD VALUE 'b'",
        "CREATE VIEW v AS SELECT a FROM t",
        "ALTER TABLE u RENAME TO w",
        "CREATE SCHEMA s",
        "ALTER TABLE w SET SCHEMA s",
        "CREATE ROLE r; GRANT SELECT ON t TO r",
        "GRANT r TO postgres",
        "ALTER TABLE s.w DROP COLUMN z",
        "DROP TABLE s.w",
        "DROP VIEW v",
    ] {
        server.execute(change);
        let now = database.fingerprint().await.unwrap();
        assert_ne!(now, last, "{change}");
        last = now;
    }
    for no_change in [
        "INSERT INTO t SELECT generate_series(2, 5000)",
        "ANALYZE t",
        "VACUUM t",
        "CREATE TEMP TABLE passing (a int)",
        "CREATE INDEX ON t (a)",
    ] {
        server.execute(no_change);
        assert_eq!(database.fingerprint().await.unwrap(), last, "{no_change}");
    }
}

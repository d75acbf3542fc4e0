//! Tests that queries accepted by the guard and the server-side check call only allowed functions.
//! A grammar generates the queries, which run on a real server as its owner and as a reader.
//!
//! The tests determine calls independently of the check. They use EXPLAIN (VERBOSE), which prints
//! each call, the server's statistics of user function calls, and lasting effects: rows, locks,
//! slots, large objects, sequences, other users' sessions.
//!
//! Each query goes through the server-side check even if the guard rejects it, so that both checks
//! are tested independently. `scripts/trials judges` runs many queries.

mod grammar;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use grammar::Grammar;
use quillet_sql::guard::{self, Policy};
use quillet_sql::{Catalogue, Database, DatabaseErrorKind as Kind, QueryLimits, SqlDialect};
use quillet_test_support::Postgres;
use tokio_postgres::{NoTls, SimpleQueryMessage};

use super::{catalogue, database};

const FIXTURE: &str = r#"
CREATE EXTENSION dblink;
CREATE TABLE users (id int PRIMARY KEY, name text, d date); INSERT INTO users SELECT g, 'PG_VERSION', now() FROM generate_series(1, 5) g;
CREATE TABLE orders (id int, user_id int, x text); INSERT INTO orders VALUES (1, 1, 'PG_VERSION');
CREATE TABLE "订单" ("订单号" int, name text); CREATE TABLE info (value text, key text); INSERT INTO info VALUES ('PG_VERSION', 'a');
CREATE TABLE secured (id int, name text); ALTER TABLE secured ENABLE ROW LEVEL SECURITY;
CREATE SEQUENCE s1; CREATE SCHEMA app;
CREATE TYPE mood AS ENUM ('sad', 'ok'); CREATE TYPE pair AS (a int, name text); CREATE TYPE cls AS (c regclass, x text);
CREATE DOMAIN clsdom AS regclass; CREATE DOMAIN evil_dom AS text;
CREATE FUNCTION evil() RETURNS int LANGUAGE plpgsql AS 'BEGIN DELETE FROM users; RETURN 1; END';
CREATE FUNCTION evil(text) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN DELETE FROM users; RETURN 1; END';
CREATE FUNCTION evil(users) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN DELETE FROM users; RETURN 1; END';
CREATE FUNCTION evil_stable(text) RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER AS 'BEGIN RETURN pg_read_file($1); END';
CREATE FUNCTION app_evil(int) RETURNS int LANGUAGE plpgsql STABLE AS 'BEGIN RETURN 1; END';
CREATE FUNCTION length(users) RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS 'BEGIN DELETE FROM users; RETURN 1; END';
CREATE FUNCTION lower(int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
CREATE FUNCTION abs(text) RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER AS 'BEGIN RETURN pg_read_file($1); END';
CREATE FUNCTION app.evil(text) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
CREATE FUNCTION app.lower(text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
CREATE FUNCTION op_evil(text, text) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN pg_read_file($1); END';
CREATE OPERATOR ### (LEFTARG = text, RIGHTARG = text, FUNCTION = op_evil);
CREATE FUNCTION cast_evil(pair) RETURNS text LANGUAGE plpgsql AS 'BEGIN RETURN pg_read_file(''PG_VERSION''); END';
CREATE CAST (pair AS text) WITH FUNCTION cast_evil(pair);
CREATE VIEW v_ok AS SELECT id, upper(name) AS name FROM users; CREATE VIEW v_evil AS SELECT id, evil() AS x FROM users;
CREATE VIEW v_deep AS SELECT * FROM v_evil; CREATE VIEW v_definer AS SELECT evil_stable(name) AS name FROM users;
CREATE VIEW v_stat AS SELECT pg_read_file('PG_VERSION') AS value; CREATE VIEW v_catalogue AS SELECT relname FROM pg_class;
CREATE ROLE reader LOGIN PASSWORD 's3cret/of:all';
GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader; GRANT USAGE ON SCHEMA app TO reader;
"#;

/// Query for everything that a query could leave behind.
const STATE: &str = r#"
SELECT part FROM (
    SELECT 'u' || users::text FROM users UNION ALL SELECT 's' || last_value || is_called FROM s1
    UNION ALL SELECT 'c' || oid || relname || relfilenode FROM pg_class WHERE relkind <> 't'
    UNION ALL SELECT 'n' || nspname FROM pg_namespace
    UNION ALL SELECT 'p' || oid || proname FROM pg_proc
    UNION ALL SELECT 'l' || oid FROM pg_largeobject_metadata
    UNION ALL SELECT 'k' || objid FROM pg_locks WHERE locktype = 'advisory'
    UNION ALL SELECT 't' || slot_name FROM pg_replication_slots
    UNION ALL SELECT 'w' || pid FROM pg_stat_activity WHERE application_name = 'witness'
    UNION ALL SELECT 'f' || funcname FROM pg_stat_user_functions WHERE calls > 0 AND schemaname <> 'information_schema'
    UNION ALL SELECT 'd' || name FROM pg_ls_dir('.') AS name
) AS parts(part)"#;

/// Names before brackets in a plan that are not functions, or that only syntax and casts call.
const SYNTAX: &[&str] = &[
    "coalesce",
    "greatest",
    "least",
    "row",
    "xmltable",
    "extract",
    "overlay",
    "position",
    "substring",
    "trim",
    "xmlparse",
    "bpchar",
    "varchar",
    "numeric",
    "timestamp",
    "time",
    "bit",
    "interval",
    "system",
];

#[derive(Debug, Default)]
struct Tally {
    queries: u64,
    guard_let: u64,
    /// Number of queries that the server can resolve but the server-side check rejects.
    judge_refused: u64,
    judge_let: u64,
    both_let: u64,
    ran: u64,
    explained: u64,
    by_judge_alone: BTreeMap<String, String>,
    /// Functions that were called although they are not allowed, each with the query.
    wrong: BTreeMap<String, String>,
}

struct Trial {
    server: Postgres,
    roles: Vec<(Arc<dyn Database>, Arc<Catalogue>)>,
    listed: BTreeSet<String>,
    /// Functions that views of `information_schema` call themselves.
    of_information: BTreeSet<String>,
    look: tokio_postgres::Client,
}

impl Trial {
    async fn start() -> Trial {
        let server = Postgres::start_with(&["track_functions=all", "lock_timeout=2s"]);
        server.execute(FIXTURE);
        let catalogue = Arc::new(catalogue(&server.url()).await);
        let at = |role: &str| {
            let folder = server.socket_folder().display();
            let port = server.port();
            database(&format!(
                "postgresql://{role}@localhost:{port}/postgres?host={folder}"
            ))
        };
        let roles = vec![
            (at("postgres"), Arc::clone(&catalogue)),
            (at("reader"), catalogue),
        ];
        let listed = include_str!("../../../../src/guard/functions/postgres.rs");
        let listed = listed.split('"').nth(1).unwrap().split_whitespace();
        let url = server.url() + "?application_name=witness";
        let (look, wire) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(wire);
        let mut trial = Trial {
            of_information: BTreeSet::new(),
            listed: listed
                .chain(SYNTAX.iter().copied())
                .map(str::to_owned)
                .collect(),
            roles,
            look,
            server,
        };
        for view in ["tables", "columns"] {
            let plan = trial
                .plan(&format!("SELECT * FROM information_schema.{view}"))
                .await;
            trial.of_information.extend(plan.unwrap());
        }
        trial
    }

    /// Returns the names of the functions that a query calls; `None` if it cannot be planned.
    async fn plan(&self, sql: &str) -> Option<Vec<String>> {
        let sql = format!("EXPLAIN (VERBOSE, COSTS OFF) {sql}");
        let messages = self.look.simple_query(&sql).await.ok()?;
        let lines = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => row.get(0),
            _ => None,
        });
        Some(lines.flat_map(calls).collect())
    }

    async fn one(&self, i: u64, seed: u64, tally: &mut Tally) {
        let sql = Grammar::new(seed.wrapping_add(i).wrapping_mul(0x5851_f42d_4c95_7f2d)).query();
        let (database, catalogue) = &self.roles[usize::try_from(i).unwrap() % 2];
        let checked = guard::check(
            &sql,
            SqlDialect::PostgreSql,
            Some(catalogue),
            &Policy::default(),
        );
        let limits = QueryLimits {
            rows: 20,
            bytes: 1 << 16,
            timeout: Duration::from_secs(5),
        };
        let sent = checked
            .as_ref()
            .map_or(sql.as_str(), |approved| approved.sql.as_str());
        let result = database.query(sent, &limits).await;
        let refused = |kind| {
            matches!(
                kind,
                Kind::Refused | Kind::ReadOnly | Kind::Unjudged | Kind::Role
            )
        };
        tally.queries += 1;
        tally.guard_let += u64::from(checked.is_ok());
        match result {
            Err(error) if refused(error.kind) => {
                assert_ne!(error.kind, Kind::Unjudged, "{sql}: {error}");
                tally.judge_refused += 1;
                if checked.is_ok() {
                    tally.by_judge_alone.entry(error.message).or_insert(sql);
                }
            }
            Err(error) if matches!(error.kind, Kind::Syntax | Kind::UnknownName) => {}
            result => {
                tally.judge_let += 1;
                tally.both_let += u64::from(checked.is_ok());
                tally.ran += u64::from(result.is_ok());
                self.hold(sent, tally).await;
            }
        }
    }

    /// Checks that an accepted query calls only allowed functions.
    async fn hold(&self, sql: &str, tally: &mut Tally) {
        // A query that cannot be resolved cannot be explained either.
        let Some(names) = self.plan(sql).await else {
            return;
        };
        tally.explained += 1;
        let own = sql.contains("information_schema.");
        for name in names {
            let permitted =
                self.listed.contains(&name) || (own && self.of_information.contains(&name));
            if !permitted {
                tally.wrong.entry(name).or_insert_with(|| sql.to_owned());
            }
        }
    }

    fn state(&self) -> BTreeSet<String> {
        let state = self.server.look("postgres", STATE);
        state.lines().map(str::to_owned).collect()
    }
}

/// Returns names before an opening bracket, outside string literals.
fn calls(line: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut plain = String::new();
    let mut pieces = line.split('\'');
    while let Some(outside) = pieces.next() {
        plain.push_str(outside);
        plain.push('0');
        pieces.next();
    }
    // A quoted name may contain brackets.
    let mut in_quotes = false;
    let mut name = String::new();
    for c in plain.chars() {
        match c {
            '"' => {
                in_quotes = !in_quotes;
                name.push(c);
            }
            _ if in_quotes => name.push(c),
            '(' => {
                if !name.is_empty() {
                    names.push(std::mem::take(&mut name));
                }
            }
            c if c.is_alphanumeric() || c == '_' || c == '.' => name.push(c),
            _ => name.clear(),
        }
    }
    let bare = |name: &String| name.replace('"', "").to_lowercase();
    let begins = |name: &String| !name.starts_with(|c: char| c.is_ascii_digit());
    names.iter().filter(|name| begins(name)).map(bare).collect()
}

/// Runs this number of queries, several at a time.
async fn trial(count: u64, seed: u64) {
    const AT_ONCE: u64 = 6;
    let trial = Arc::new(Trial::start().await);
    let before = trial.state();
    let mut all = Tally::default();
    let mut done = 0;
    while done < count {
        let piece = (count - done).min(2_000);
        let workers = (0..AT_ONCE).map(|worker| {
            let trial = Arc::clone(&trial);
            tokio::spawn(async move {
                let mut tally = Tally::default();
                let mine = (done..done + piece).filter(|i| i % AT_ONCE == worker);
                for i in mine {
                    trial.one(i, seed, &mut tally).await;
                }
                tally
            })
        });
        for worker in workers.collect::<Vec<_>>() {
            let tally = worker.await.unwrap();
            all.queries += tally.queries;
            all.guard_let += tally.guard_let;
            all.judge_refused += tally.judge_refused;
            all.judge_let += tally.judge_let;
            all.both_let += tally.both_let;
            all.ran += tally.ran;
            all.explained += tally.explained;
            all.by_judge_alone.extend(tally.by_judge_alone);
            all.wrong.extend(tally.wrong);
        }
        done += piece;
        // A cancelled query may still be active on the server.
        let mut now = trial.state();
        for _ in 0..100 {
            if now == before {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
            now = trial.state();
        }
        let changed: Vec<&String> = now.symmetric_difference(&before).collect();
        assert!(
            changed.is_empty(),
            "left behind after {done} queries: {changed:?}"
        );
        if done % 20_000 == 0 {
            println!(
                "{done}: {} by both, {} by the judge",
                all.both_let, all.judge_let
            );
        }
    }
    println!(
        "{} queries: the guard let {} through; of those that the server can resolve the second judge \
         refused {} and let {} through, which the guard did with {} of these; {} ran, {} were explained",
        all.queries,
        all.guard_let,
        all.judge_refused,
        all.judge_let,
        all.both_let,
        all.ran,
        all.explained
    );
    println!(
        "{} kinds that the second judge alone refused:",
        all.by_judge_alone.len()
    );
    for (why, sql) in &all.by_judge_alone {
        println!("  {why}\n    {sql}");
    }
    assert!(
        all.both_let * 100 > all.queries,
        "hardly anything passes: {all:?}"
    );
}

#[test]
fn calls_are_seen_in_plans() {
    for (line, expected) in [
        (
            "  Output: pg_read_file('a(b'::text), u.id",
            &["pg_read_file"][..],
        ),
        (
            "  Filter: ((u.id > 1) AND (lower(u.name) = 'x'::text))",
            &["lower"],
        ),
        ("  Function Call: app.\"a b\"(1), \"x(\".y", &["app.a b"]),
        ("  Sort Key: (count(*)) DESC", &["count"]),
    ] {
        assert_eq!(calls(line), expected, "{line}");
    }
}

/// `TRIALS_COUNT` and `TRIALS_SEED` set the number of queries and the seed:
/// `scripts/trials judges`.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_both_judges_let_through_calls_only_what_is_permitted() {
    let number = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let count = number("TRIALS_COUNT").unwrap_or(2_000);
    trial(count, number("TRIALS_SEED").unwrap_or(1)).await;
}

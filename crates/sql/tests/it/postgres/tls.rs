//! TLS as libpq has it.

use std::time::Duration;

use quillet_real_servers::Postgres;
use quillet_sql::database::{ConnectOptions, SecondJudge};
use quillet_sql::{Cell, DatabaseErrorKind as Kind, QueryLimits, connect};

use super::{database, value};

const IS_TLS: &str = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";

#[tokio::test]
async fn each_mode_checks_what_it_says() {
    let server = Postgres::start_with_tls();
    let root = server.certificate().display().to_string();
    let named = server.url().replace("127.0.0.1", "localhost");
    for (url, parameters, is_tls) in [
        (server.url(), String::new(), true),
        (server.url(), "?sslmode=disable".to_owned(), false),
        (server.url(), "?sslmode=prefer".to_owned(), true),
        (
            server.url(),
            "?sslmode=require&channel_binding=require".to_owned(),
            true,
        ),
        (
            server.url(),
            format!("?sslmode=verify-ca&sslrootcert={root}"),
            true,
        ),
        (
            server.url(),
            format!("?sslmode=require&sslrootcert={root}"),
            true,
        ),
        (
            named.clone(),
            format!("?sslmode=verify-full&sslrootcert={root}"),
            true,
        ),
    ] {
        let cell = value(&(url + &parameters), IS_TLS).await;
        assert_eq!(cell, Cell::Bool(is_tls), "{parameters}");
    }
    for (url, parameters) in [
        (
            server.url(),
            format!("?sslmode=verify-full&sslrootcert={root}"),
        ),
        (named, "?sslmode=verify-full".to_owned()),
        (server.url(), "?sslmode=verify-ca".to_owned()),
        (
            server.url(),
            "?sslmode=disable&channel_binding=require".to_owned(),
        ),
    ] {
        let error = database(&(url + &parameters)).check().await.unwrap_err();
        assert_eq!(error.kind, Kind::Unreachable, "{parameters}: {error}");
    }
}

#[tokio::test]
async fn a_connection_put_in_without_tls_has_none() {
    let server = Postgres::start_with_tls();
    let options = ConnectOptions {
        ssl_disabled: true,
        powerful_roles: true,
        second_judge: SecondJudge::Off,
        ..ConnectOptions::default()
    };
    let database = connect(&server.url().parse().unwrap(), &options).unwrap();
    let rows = database
        .query(IS_TLS, &QueryLimits::default())
        .await
        .unwrap();
    assert_eq!(rows.rows[0][0], Cell::Bool(false));
}

#[tokio::test]
async fn queries_are_cancelled_under_tls_as_well() {
    let server = Postgres::start_with_tls();
    let database = database(&(server.url() + "?sslmode=require"));
    let limits = QueryLimits {
        timeout: Duration::from_secs(36_000),
        ..QueryLimits::default()
    };
    let endless = "SELECT count(*) FROM (SELECT generate_series(1, 1000000000000)) AS endless";
    let running = tokio::spawn(async move { database.query(endless, &limits).await });
    let at_work = "SELECT count(*) FROM pg_stat_activity
        WHERE application_name = 'quillet' AND state = 'active'";
    while server.look("postgres", at_work) != "1" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    running.abort();
    while server.look("postgres", at_work) != "0" {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

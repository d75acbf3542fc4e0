//! Tests TLS with libpq's semantics.

use std::time::Duration;

use quillet_sql::database::{ConnectOptions, SecondJudge};
use quillet_sql::{Cell, DatabaseErrorKind as Kind, QueryLimits, connect};
use quillet_test_support::Postgres;

use super::{database, powerful, value};
use crate::certificates::Certificates;

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

/// `openssl req -x509` creates a CA certificate. libpq trusts it as a server certificate if it is
/// named as trusted, and uses its common name if it has no other names.
#[tokio::test]
async fn a_certificate_that_vouches_for_itself_is_trusted_where_it_is_named() {
    let files = Certificates::make();
    let server =
        Postgres::start_with_certificate(&files.text("own.crt"), &files.text("own.key"), None);
    let named = server.url().replace("127.0.0.1", "localhost");
    let own = files.path("own.crt");
    for (url, mode) in [
        (server.url(), "verify-ca"),
        (server.url(), "require"),
        (named.clone(), "verify-full"),
    ] {
        let url = format!("{url}?sslmode={mode}&sslrootcert={own}");
        assert_eq!(value(&url, IS_TLS).await, Cell::Bool(true), "{mode}");
    }
    let stranger = files.path("stranger.crt");
    for (url, mode, root) in [
        // The certificate is not for this address.
        (server.url(), "verify-full", &own),
        // This certificate is for the same name, but from another issuer.
        (named.clone(), "verify-full", &stranger),
        (named, "verify-ca", &files.path("ca.crt")),
    ] {
        let url = format!("{url}?sslmode={mode}&sslrootcert={root}");
        let error = database(&url).check().await.unwrap_err();
        assert_eq!(error.kind, Kind::Unreachable, "{mode} {root}: {error}");
    }
}

#[tokio::test]
async fn a_server_that_asks_who_we_are_is_told() {
    let files = Certificates::make();
    let clients = files.text("ca.crt");
    let server = Postgres::start_with_certificate(
        &files.text("server.crt"),
        &files.text("server.key"),
        Some(&clients),
    );
    let root = files.path("ca.crt");
    let named = server.url().replace("127.0.0.1", "localhost");
    let url = |certificate: &str, key: &str| {
        let (certificate, key) = (files.path(certificate), files.path(key));
        format!("{named}?sslmode=verify-full&sslrootcert={root}&sslcert={certificate}&sslkey={key}")
    };
    for (certificate, key) in [
        ("rsa.crt", "rsa.key"),
        ("rsa.crt", "rsa.pkcs1.key"),
        ("ec.crt", "ec.key"),
    ] {
        let cell = value(&url(certificate, key), IS_TLS).await;
        assert_eq!(cell, Cell::Bool(true), "{key}");
    }
    let none = format!("{named}?sslmode=verify-full&sslrootcert={root}");
    for url in [none, url("stranger.crt", "stranger.key")] {
        assert!(database(&url).check().await.is_err(), "{url}");
    }
}

#[test]
fn files_that_cannot_be_used_are_named_with_their_mend() {
    let files = Certificates::make();
    let (certificate, key) = (files.path("rsa.crt"), files.path("rsa.key"));
    let file = |name: &str| files.path(name);
    for (parameters, parts) in [
        (format!("sslcert={certificate}"), &["missing sslkey"][..]),
        (format!("sslkey={key}"), &["missing sslcert"]),
        (
            format!("sslcert={}&sslkey={key}", file("no.crt")),
            &["sslcert", "no.crt", "No such file"],
        ),
        (
            format!("sslcert={certificate}&sslkey={}", file("no.key")),
            &["sslkey", "no.key", "No such file"],
        ),
        (
            format!("sslcert={certificate}&sslkey={}", file("nothing.pem")),
            &["nothing.pem", "no private key", "BEGIN PRIVATE KEY"],
        ),
        (
            format!("sslcert={}&sslkey={key}", file("nothing.pem")),
            &["nothing.pem", "no certificate", "BEGIN CERTIFICATE"],
        ),
        (
            format!(
                "sslcert={certificate}&sslkey={}",
                file("encrypted.pkcs8.key")
            ),
            &["encrypted.pkcs8.key", "is encrypted", "openssl pkey"],
        ),
        (
            format!(
                "sslcert={certificate}&sslkey={}",
                file("encrypted.pkcs1.key")
            ),
            &["encrypted.pkcs1.key", "is encrypted", "openssl pkey"],
        ),
        (
            format!("sslcert={certificate}&sslkey={}", file("ec.key")),
            &["rsa.crt", "ec.key", "do not match"],
        ),
        (
            format!("sslmode=verify-ca&sslrootcert={}", file("nothing.pem")),
            &["sslrootcert", "nothing.pem"],
        ),
    ] {
        let url = format!("postgresql://u@h/d?{parameters}").parse().unwrap();
        let error = connect(&url, &powerful()).unwrap_err();
        for part in parts {
            assert!(error.message.contains(part), "{parameters}: {error}");
        }
    }
    // TLS parameters are ignored without TLS.
    let url = format!(
        "postgresql://u@h/d?sslmode=disable&sslcert={}",
        file("no.crt")
    );
    assert!(connect(&url.parse().unwrap(), &powerful()).is_ok());
}

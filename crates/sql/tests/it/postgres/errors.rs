//! Tests that errors include the problem, its position and a fix.

use std::time::Duration;

use quillet_sql::database::ConnectOptions;
use quillet_sql::{DatabaseErrorKind as Kind, connect};
use quillet_test_support::Postgres;

use super::{database, query};

#[tokio::test]
async fn errors_have_kinds_places_and_hints() {
    let server = Postgres::start();
    let reader = server.create_role("reader");
    server.execute(
        "CREATE TABLE users (name text, \"订单\" int); CREATE TABLE hidden (a int);
         GRANT SELECT ON users TO reader;",
    );
    // The columns are the SQL, the kind, the SQLSTATE, the text at the position, and a part of the
    // hint.
    let table = [
        ("SELECT * FRM users", Kind::Syntax, "42601", "FRM", ""),
        (
            "SELECT '订单', nam FROM users",
            Kind::UnknownName,
            "42703",
            "nam ",
            "users.name",
        ),
        (
            "SELECT \"订单\" FROM user_s",
            Kind::UnknownName,
            "42P01",
            "user_s",
            "",
        ),
        (
            "SELECT lenght('a')",
            Kind::UnknownName,
            "42883",
            "lenght",
            "No function matches",
        ),
        (
            "SELECT name, count(*) FROM users",
            Kind::Syntax,
            "42803",
            "name,",
            "",
        ),
        ("SELECT 1 / 0", Kind::Failed, "22012", "", ""),
        ("SELECT 'x'::int", Kind::Failed, "22P02", "'x'", ""),
        ("SELECT * FROM hidden", Kind::Denied, "42501", "", ""),
        ("SELECT 1; SELECT 2", Kind::Syntax, "42601", "", ""),
        (
            "SELECT '订', point(1, 2), zzz",
            Kind::UnknownName,
            "42703",
            "zzz",
            "",
        ),
        ("SELECT '", Kind::Syntax, "42601", "'", ""),
        (
            "INSERT INTO users VALUES ('x') RETURNING name",
            Kind::ReadOnly,
            "25006",
            "",
            "",
        ),
    ];
    for (sql, kind, code, place, hint) in table {
        let error = query(&reader, sql).await.unwrap_err();
        assert_eq!(
            (error.kind, error.native_code.as_deref()),
            (kind, Some(code)),
            "{sql}: {error}"
        );
        let at = error
            .position
            .and_then(|byte| sql.get(byte..))
            .unwrap_or_default();
        match place {
            "" => assert_eq!(error.position, None, "{sql}"),
            _ => assert!(at.starts_with(place), "{sql}: {at:?}"),
        }
        assert!(error.hint.unwrap_or_default().contains(hint), "{sql}");
    }
    for (sql, kind) in [
        ("", Kind::ReadOnly),
        ("-- nothing", Kind::ReadOnly),
        ("SET work_mem = '1MB'", Kind::ReadOnly),
        ("SELECT", Kind::ReadOnly),
        ("SELECT '$1', $1::int", Kind::Syntax),
    ] {
        let error = query(&reader, sql).await.unwrap_err();
        assert_eq!((error.kind, error.native_code), (kind, None), "{sql}");
    }
    let owner = query(&server.url(), "DELETE FROM users RETURNING name").await;
    assert_eq!(owner.unwrap_err().kind, Kind::ReadOnly);
}

#[tokio::test]
async fn connections_that_fail_say_why_and_no_password() {
    let server = Postgres::start();
    let port = server.port();
    for (url, kind, needed) in [
        (
            format!("postgresql://postgres:wr0ng@127.0.0.1:{port}/postgres"),
            Kind::Denied,
            "authentication failed",
        ),
        (
            format!("postgresql://nobody:wr0ng@127.0.0.1:{port}/postgres"),
            Kind::Denied,
            "authentication failed",
        ),
        (
            format!("postgresql://postgres@127.0.0.1:{port}/postgres"),
            Kind::Denied,
            "missing password for \"postgres\"",
        ),
        (
            server.url_of("postgres", "postgrse"),
            Kind::Unreachable,
            "did you mean \"postgres\"?",
        ),
        (
            "postgresql://postgres:wr0ng@127.0.0.1:1/postgres".to_owned(),
            Kind::Unreachable,
            "no server listens at 127.0.0.1:1",
        ),
        (
            "postgresql://postgres:wr0ng@no.such.host.invalid/postgres".to_owned(),
            Kind::Unreachable,
            "no.such.host.invalid",
        ),
        (
            server.url() + "?sslmode=require",
            Kind::Unreachable,
            "?sslmode=prefer",
        ),
        (
            "postgresql://postgres:wr0ng@x/postgres?host=/nowhere".to_owned(),
            Kind::Unreachable,
            "No such file",
        ),
    ] {
        let error = database(&url).check().await.unwrap_err();
        assert_eq!(error.kind, kind, "{url}: {error}");
        let text = format!(
            "{error:?} {error} {}",
            error.hint.as_deref().unwrap_or_default()
        );
        assert!(text.contains(needed), "{url}: {text}");
        // The message contains the user and the address, but no secrets.
        assert!(error.message.starts_with("postgresql://"), "{url}: {text}");
        assert!(
            !text.contains("wr0ng") && !text.contains(server.password()),
            "{text}"
        );
    }
}

#[tokio::test]
async fn a_host_that_never_answers_is_left_in_time() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    let url = format!("postgresql://u:s3cret@127.0.0.1:{port}/d");
    let options = ConnectOptions {
        connect_timeout: Duration::from_millis(200),
        powerful_roles: true,
        ..ConnectOptions::default()
    };
    let database = connect(&url.parse().unwrap(), &options).unwrap();
    let error = database.check().await.unwrap_err();
    assert_eq!(error.kind, Kind::Unreachable);
    assert!(error.message.contains("200ms"), "{error}");
    assert!(!format!("{error:?} {database:?}").contains("s3cret"));
}

#[tokio::test]
async fn an_answer_that_is_no_protocol_is_an_error() {
    use std::io::{Read, Write};
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for stream in other.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 64]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
        }
    });
    let url = format!("postgresql://u:s3cret@127.0.0.1:{port}/d?sslmode=disable");
    let error = database(&url).check().await.unwrap_err();
    assert_eq!(error.kind, Kind::Unreachable, "{error}");
}

#[tokio::test]
async fn a_unix_socket_is_a_way_in() {
    let server = Postgres::start();
    let folder = server.socket_folder().display();
    let url = format!(
        "postgresql://postgres@localhost:{}/postgres?host={folder}",
        server.port()
    );
    let rows = query(&url, "SELECT inet_server_addr() IS NULL").await;
    assert_eq!(rows.unwrap().rows[0][0], quillet_sql::Cell::Bool(true));
}

//! Ways in, and what is said when there is none.

use quillet_real_servers::MariaDb;
use quillet_sql::{Cell, DatabaseErrorKind};

use super::{only, open, rows, try_open};

#[tokio::test]
async fn a_server_is_reached_over_tcp_and_by_its_socket() {
    let server = MariaDb::start();
    let socket = server.socket();
    let by_socket = format!("{}?socket={}", server.url(), socket.display());
    for url in [server.url(), by_socket] {
        let database = open(&url);
        let checked = database.check().await.unwrap();
        assert!(checked.version.contains("MariaDB"), "{checked:?}");
        assert_eq!(only(rows(&*database, "SELECT 1").await), Cell::Int(1));
    }
}

#[tokio::test]
async fn tls_is_used_where_the_server_has_it() {
    let plain = MariaDb::start();
    let secure = MariaDb::start_with_tls();
    let cipher = "SELECT VARIABLE_VALUE <> '' FROM information_schema.SESSION_STATUS \
                  WHERE VARIABLE_NAME = 'Ssl_cipher'";
    let named = secure.url().replace("127.0.0.1", "localhost");
    let authority = secure.certificate();
    let verified = format!(
        "{named}?ssl-mode=VERIFY_IDENTITY&ssl-ca={}",
        authority.display()
    );
    for (url, expected) in [
        (plain.url(), 0),
        (plain.url() + "?ssl-mode=disabled", 0),
        (secure.url(), 1),
        (secure.url() + "?ssl_mode=REQUIRED", 1),
        (secure.url() + "?ssl-mode=disabled", 0),
        (verified, 1),
    ] {
        let database = open(&url);
        for _ in 0..2 {
            assert_eq!(
                only(rows(&*database, cipher).await),
                Cell::Int(expected),
                "{url}"
            );
        }
    }
    for (url, part) in [
        (plain.url() + "?ssl-mode=required", "no TLS"),
        (named.clone() + "?ssl-mode=verify-identity", "certificate"),
        (
            format!(
                "{}?ssl-mode=verify-identity&ssl-ca={}",
                secure.url(),
                authority.display()
            ),
            "certificate",
        ),
    ] {
        let error = open(&url).check().await.unwrap_err();
        assert_eq!(error.kind, DatabaseErrorKind::Unreachable, "{url}");
        assert!(error.message.contains(part), "{error}");
    }
}

#[tokio::test]
async fn no_way_in_is_said_without_the_password() {
    let mut server = MariaDb::start();
    let url = server.url();
    let wrong = url.replace("s3cret", "s3crex");
    server.create_role("reader");
    for (url, kind, part) in [
        (wrong, DatabaseErrorKind::Denied, "Access denied"),
        (
            server.url_of("nobody", "test"),
            DatabaseErrorKind::Denied,
            "Access denied",
        ),
        (
            server.url_of("reader", "mysql"),
            DatabaseErrorKind::Denied,
            "Access denied",
        ),
        (
            server.url_of("root", "tesst"),
            DatabaseErrorKind::Unreachable,
            "did you mean \"test\"?",
        ),
        (
            "mysql://u:s3cret@127.0.0.1:1/d".to_owned(),
            DatabaseErrorKind::Unreachable,
            "nothing listens at 127.0.0.1:1",
        ),
        (
            "mysql://u:s3cret@no.invalid/d".to_owned(),
            DatabaseErrorKind::Unreachable,
            "no.invalid",
        ),
    ] {
        let error = open(&url).check().await.unwrap_err();
        assert_eq!(error.kind, kind, "{error}");
        let hint = error.hint.as_deref().unwrap_or_default();
        assert!(format!("{error} {hint}").contains(part), "{error:?}");
        // Who connects where, without secrets.
        assert!(error.message.starts_with("mysql://"), "{error:?}");
        assert!(!format!("{error:?}").contains("s3cre"), "{error:?}");
    }
    let database = open(&url);
    assert!(!format!("{database:?} {}", database.describe()).contains("s3cret"));
    database.check().await.unwrap();
    server.stop();
    let error = database.check().await.unwrap_err();
    assert_eq!(error.kind, DatabaseErrorKind::Unreachable);
    assert!(!format!("{error:?}").contains("s3cret"), "{error:?}");
}

#[test]
fn settings_that_are_not_known_are_named() {
    for (query, part) in [
        ("ssl-mod=required", "did you mean ssl-mode?"),
        ("ssl-mode=sometimes", "write disabled, preferred"),
        ("useSSL=true", "schemas, socket"),
    ] {
        let error = try_open(&format!("mysql://u@h/d?{query}")).unwrap_err();
        assert!(error.message.contains(part), "{error}");
    }
}

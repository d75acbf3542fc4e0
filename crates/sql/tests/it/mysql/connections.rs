//! Tests connecting, and the errors of failed connections.

use quillet_sql::{Cell, DatabaseErrorKind};
use quillet_test_support::MariaDb;

use super::{only, open, rows, try_open};
use crate::certificates::Certificates;

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
async fn authorities_are_checked_and_certificates_of_clients_shown() {
    let files = Certificates::make();
    let server = MariaDb::start_with_certificate(
        &files.text("server.crt"),
        &files.text("server.key"),
        &files.text("ca.crt"),
    );
    server.create_role("reader");
    server.execute("GRANT SELECT ON test.* TO reader; ALTER USER reader REQUIRE X509");
    let (root, reader) = (files.path("ca.crt"), server.url_of("reader", "test"));
    // The certificate is for localhost and does not contain 127.0.0.1.
    open(&format!(
        "{}?ssl-mode=verify-ca&ssl-ca={root}",
        server.url()
    ))
    .check()
    .await
    .unwrap();
    for (certificate, key) in [
        ("rsa.crt", "rsa.key"),
        ("rsa.crt", "rsa.pkcs1.key"),
        ("ec.crt", "ec.key"),
    ] {
        let (certificate, key) = (files.path(certificate), files.path(key));
        let identity = format!("ssl-cert={certificate}&ssl_key={key}");
        for mode in ["required", "verify_ca"] {
            let url = format!("{reader}?ssl-mode={mode}&ssl-ca={root}&{identity}");
            assert_eq!(
                only(rows(&*open(&url), "SELECT 1").await),
                Cell::Int(1),
                "{url}"
            );
        }
    }
    let stranger = files.path("stranger.crt");
    for (url, kind) in [
        (
            format!("{reader}?ssl-mode=required"),
            DatabaseErrorKind::Denied,
        ),
        (
            format!("{}?ssl-mode=verify-ca&ssl-ca={stranger}", server.url()),
            DatabaseErrorKind::Unreachable,
        ),
        (
            format!("{}?ssl-mode=verify-identity&ssl-ca={root}", server.url()),
            DatabaseErrorKind::Unreachable,
        ),
    ] {
        let error = open(&url).check().await.unwrap_err();
        assert_eq!(error.kind, kind, "{url}: {error}");
    }
}

/// The library rejects a CA certificate as a server certificate, and the error must contain a fix.
#[tokio::test]
async fn an_authority_that_is_a_server_is_refused_with_the_mend() {
    let files = Certificates::make();
    let own = files.text("own.crt");
    let server = MariaDb::start_with_certificate(&own, &files.text("own.key"), &own);
    let url = format!(
        "{}?ssl-mode=verify-ca&ssl-ca={}",
        server.url(),
        files.path("own.crt")
    );
    let error = open(&url).check().await.unwrap_err();
    assert!(error.message.contains("CA:FALSE"), "{error}");
}

#[test]
fn files_of_tls_that_cannot_be_used_are_named() {
    let files = Certificates::make();
    let (certificate, key) = (files.path("rsa.crt"), files.path("rsa.key"));
    for (parameters, parts) in [
        (
            format!("ssl-ca={}", files.path("no.crt")),
            &["ssl-ca", "no.crt"][..],
        ),
        (format!("ssl-cert={certificate}"), &["missing ssl-key"]),
        (format!("ssl-key={key}"), &["missing ssl-cert"]),
        (
            format!(
                "ssl-cert={certificate}&ssl-key={}",
                files.path("encrypted.pkcs8.key")
            ),
            &["ssl-key", "encrypted.pkcs8.key", "openssl pkey"],
        ),
        (
            format!(
                "ssl-cert={certificate}&ssl-key={}",
                files.path("nothing.pem")
            ),
            &["nothing.pem", "no private key"],
        ),
    ] {
        let error = try_open(&format!("mysql://u@h/d?{parameters}")).unwrap_err();
        for part in parts {
            assert!(error.message.contains(part), "{parameters}: {error}");
        }
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
            "no server listens at 127.0.0.1:1",
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
        // The message contains the user and the address, but no secrets.
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
        ("ssl-mode=sometimes", "must be disabled, preferred"),
        ("useSSL=true", "schemas, socket"),
    ] {
        let error = try_open(&format!("mysql://u@h/d?{query}")).unwrap_err();
        assert!(error.message.contains(part), "{error}");
    }
}

//! Tools over TLS, with certificates of a private certificate authority.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::routing::get;
use quillet_core::Value;
use quillet_core::tool::ToolErrorKind;
use quillet_tools::{Tools, ToolsConfig};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use crate::support::{build, call};

struct TlsListener(TcpListener, TlsAcceptor);

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, SocketAddr) {
        loop {
            let (stream, address) = self.0.accept().await.unwrap();
            // The handshake fails for clients that do not trust the certificate.
            if let Ok(stream) = self.1.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.0.local_addr()
    }
}

/// Serves REST and gRPC at one address. Returns the port and the path of the certificate.
async fn serve(name: &str) -> (u16, PathBuf) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let file = std::env::temp_dir().join(format!("quillet-{name}-{}.pem", std::process::id()));
    std::fs::write(&file, made.cert.pem()).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .unwrap();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let listener = TlsListener(listener, TlsAcceptor::from(Arc::new(config)));
    let app: Router = crate::grpc_server::router().route("/hello", get(async || "over tls"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (port, file)
}

fn definitions(port: u16) -> [serde_json::Value; 2] {
    [
        json!({"type": "restful", "method": "GET", "url": format!("https://localhost:{port}/hello")}),
        json!({"grpc": {"url": format!("localhost:{port}"), "tls": true, "service": "shop.v1.Translator",
            "method": "TranslateZhEn"}, "result": "translated_code", "default": "over tls"}),
    ]
}

#[tokio::test]
async fn certificates_of_the_operator_are_trusted_and_others_are_not() {
    let (port, file) = serve("trusted").await;
    let config = ToolsConfig {
        ca_file: Some(file.clone()),
        ..ToolsConfig::default()
    };
    let trusting = Tools::new(config).unwrap();
    let expected = [Value::from("over tls"), Value::from("")];
    for (definition, expected) in definitions(port).iter().zip(expected) {
        let result = call(&*build(&trusting, definition), "{}").await;
        let result = result.unwrap_or_else(|error| panic!("{definition}: {error}"));
        assert_eq!(result, expected, "{definition}");
    }
    let others = Tools::new(ToolsConfig::default()).unwrap();
    for definition in definitions(port) {
        let error = call(&*build(&others, &definition), "{}").await.unwrap_err();
        assert_eq!(
            error.kind,
            ToolErrorKind::Transport,
            "{definition}: {error}"
        );
        assert!(
            error.message.contains("certificate"),
            "{definition}: {error}"
        );
    }
    std::fs::remove_file(file).unwrap();
}

#[test]
fn the_file_is_read_at_once() {
    let empty = std::env::temp_dir().join(format!("quillet-empty-{}.pem", std::process::id()));
    std::fs::write(&empty, "no certificate").unwrap();
    for (path, said) in [
        (PathBuf::from("/no/such.pem"), "No such file"),
        (empty.clone(), "no PEM certificate"),
    ] {
        let config = ToolsConfig {
            ca_file: Some(path),
            ..ToolsConfig::default()
        };
        let error = Tools::new(config).unwrap_err();
        assert_eq!(error.setting, "tools.ca_file");
        assert!(error.message.contains(said), "{error}");
    }
    std::fs::remove_file(empty).unwrap();
}

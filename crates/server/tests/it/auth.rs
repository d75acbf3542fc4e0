//! Authentication, rate limits and origins of web pages.

use std::net::SocketAddr;

use quillet_server::{HttpServer, Rate, ServerConfig};

use crate::client::{Answer, request};
use crate::test_server::{Setup, TestServer, start_with};

async fn with_config(change: impl FnOnce(&mut ServerConfig)) -> TestServer {
    let mut setup = Setup::default();
    change(&mut setup.config);
    start_with(setup).await
}

async fn get(server: &TestServer, path: &str, headers: &[(&str, &str)]) -> Answer {
    request(server.address, "GET", path, headers, "").await
}

#[tokio::test]
async fn a_token_opens_what_is_not_open_anyway() {
    let server = with_config(|config| config.tokens = vec!["one".into(), "two".into()]).await;
    let bearer = |token: &'static str| [("authorization", token)];
    // Each case has the path and the status without a token, with an invalid token and with a valid
    // token.
    let cases = [
        ("/api/prompts", 401, 401, 200),
        ("/api/v1/tools", 401, 401, 200),
        ("/nowhere", 401, 401, 404),
        ("/metrics", 401, 401, 200),
        ("/healthz", 200, 200, 200),
        ("/readyz", 200, 200, 200),
        ("/docs", 200, 200, 200),
        ("/openapi.json", 200, 200, 200),
    ];
    for (path, without, wrong, right) in cases {
        assert_eq!(
            get(&server, path, &[]).await.status,
            without,
            "{path} without a token"
        );
        assert_eq!(
            get(&server, path, &bearer("Bearer tw")).await.status,
            wrong,
            "{path} with a wrong token"
        );
        for token in ["Bearer one", "bearer two"] {
            assert_eq!(
                get(&server, path, &bearer(token)).await.status,
                right,
                "{path} with {token}"
            );
        }
    }
    let refused = get(&server, "/api/prompts", &[]).await;
    assert_eq!(refused.header("www-authenticate"), Some("Bearer"));
    assert_eq!(refused.json()["error"], "auth.missing");
}

#[tokio::test]
async fn probes_can_be_closed_and_metrics_opened() {
    let server = with_config(|config| {
        config.tokens = vec!["one".into()];
        (config.open_health, config.open_metrics) = (false, true);
    })
    .await;
    for (path, status) in [("/healthz", 401), ("/readyz", 401), ("/metrics", 200)] {
        assert_eq!(get(&server, path, &[]).await.status, status, "{path}");
    }
}

#[tokio::test]
async fn an_address_that_others_reach_needs_a_token_or_a_word() {
    let everywhere = SocketAddr::from(([0, 0, 0, 0], 0));
    let bind = async |change: fn(&mut ServerConfig)| {
        let mut config = ServerConfig {
            listen: everywhere,
            ..ServerConfig::default()
        };
        change(&mut config);
        let service = crate::test_server::start().await.service.clone();
        HttpServer::bind(config, service)
            .await
            .map(|_| ())
            .map_err(|error| error.code().as_str())
    };
    assert_eq!(bind(|_| ()).await, Err("server.open"));
    assert_eq!(bind(|config| config.insecure = true).await, Ok(()));
    assert_eq!(
        bind(|config| config.tokens = vec!["x".into()]).await,
        Ok(())
    );
    assert_eq!(
        bind(|config| config.tokens = vec!["x".into(), "".into()]).await,
        Err("server.token")
    );
    for prefix in ["api", "/", "/api/", "/a b", "/{id}", "//"] {
        let mut config = ServerConfig {
            prefix: prefix.into(),
            ..ServerConfig::default()
        };
        config.listen.set_port(0);
        let service = crate::test_server::start().await.service.clone();
        let error = HttpServer::bind(config, service).await.unwrap_err();
        assert_eq!(error.code(), "server.prefix", "{prefix}");
    }
}

#[tokio::test]
async fn a_taken_port_is_named() {
    let server = crate::test_server::start().await;
    let config = ServerConfig {
        listen: server.address,
        ..ServerConfig::default()
    };
    let error = HttpServer::bind(config, server.service.clone())
        .await
        .unwrap_err();
    assert_eq!(error.code(), "server.bind");
    assert!(
        error.to_string().contains(&server.address.to_string()),
        "{error}"
    );
}

#[tokio::test]
async fn each_token_has_its_own_rate() {
    let server = with_config(|config| {
        config.tokens = vec!["one".into(), "two".into()];
        config.rate = Some(Rate {
            per_second: 0.001,
            burst: 2,
        });
    })
    .await;
    let status = async |token| {
        get(&server, "/api/tools", &[("authorization", token)])
            .await
            .status
    };
    assert_eq!(
        [status("Bearer one").await, status("Bearer one").await],
        [200, 200]
    );
    let limited = get(&server, "/api/tools", &[("authorization", "Bearer one")]).await;
    assert_eq!(
        (limited.status, limited.json()["error"].as_str()),
        (429, Some("rate.limited"))
    );
    let wait: u64 = limited.header("retry-after").unwrap().parse().unwrap();
    assert!((1..=1000).contains(&wait), "{wait}");
    assert_eq!(status("Bearer two").await, 200);
    assert_eq!(get(&server, "/healthz", &[]).await.status, 200);
}

#[tokio::test]
async fn pages_of_other_sites_may_call_only_when_they_are_listed() {
    let server = with_config(|config| {
        config.origins = vec!["https://console.example".into()];
        config.tokens = vec!["one".into()];
    })
    .await;
    let from = |origin| {
        [
            ("origin", origin),
            ("sec-fetch-site", "cross-site"),
            ("authorization", "Bearer one"),
        ]
    };
    let listed = get(&server, "/api/tools", &from("https://console.example")).await;
    assert_eq!(listed.status, 200);
    assert_eq!(
        listed.header("access-control-allow-origin"),
        Some("https://console.example")
    );
    let other = get(&server, "/api/tools", &from("https://evil.example")).await;
    assert_eq!(
        (other.status, other.json()["error"].as_str()),
        (403, Some("browser.origin"))
    );
    assert_eq!(other.header("access-control-allow-origin"), None);

    let asks = |origin| {
        [
            ("origin", origin),
            ("access-control-request-method", "POST"),
        ]
    };
    let path = "/api/render/prompts/hello";
    let listed = request(
        server.address,
        "OPTIONS",
        path,
        &asks("https://console.example"),
        "",
    )
    .await;
    assert_eq!(
        (listed.status, listed.header("access-control-allow-methods")),
        (204, Some("GET, POST"))
    );
    let other = request(
        server.address,
        "OPTIONS",
        path,
        &asks("https://evil.example"),
        "",
    )
    .await;
    assert_eq!(
        (other.status, other.header("access-control-allow-origin")),
        (403, None)
    );
}

#[tokio::test]
async fn without_a_list_no_page_is_told_anything() {
    let server = with_config(|_| ()).await;
    let answer = get(&server, "/api/tools", &[("origin", "https://evil.example")]).await;
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (403, None)
    );
    let marked = [
        ("origin", "https://evil.example"),
        ("sec-fetch-site", "cross-site"),
    ];
    assert_eq!(get(&server, "/api/tools", &marked).await.status, 403);
    let link = [
        ("sec-fetch-site", "cross-site"),
        ("sec-fetch-mode", "navigate"),
    ];
    assert_eq!(get(&server, "/docs", &link).await.status, 200);
}

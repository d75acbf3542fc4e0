//! The server over a real Redis that comes late, goes, and comes back.

use std::sync::Arc;

use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_server::{Server, ServerConfig};
use quillet_store::StoreOptions;
use quillet_template::TemplateFactory;

use crate::client::{get, post};
use crate::redis_server::{RedisServer, free_port};
use crate::test_server::eventually;
use crate::test_tools::EchoTools;

const BODY: &str = r#"{"variables":{"name":"Ada"}}"#;
const PATH: &str = "/api/render/prompts/greet.hello";

/// A server over the Redis at this address; it runs until the test's runtime ends.
pub(crate) async fn serve(url: &str) -> std::net::SocketAddr {
    let store = quillet_store::open(url, &StoreOptions::default())
        .await
        .unwrap();
    let catalogue = Catalogue::new(
        store.clone(),
        TemplateFactory::standard(),
        Arc::new(EchoTools),
        100,
    );
    let service = PromptService::new(
        catalogue,
        Variables::new(store),
        None,
        ServiceOptions::default(),
    );
    let service = Arc::new(service);
    let config = ServerConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        ..ServerConfig::default()
    };
    let server = Server::bind(config, service.clone()).await.unwrap();
    let address = server.local_addr();
    tokio::spawn(async move { service.watch().await });
    tokio::spawn(server.run(std::future::pending()));
    address
}

fn fill(redis: &RedisServer) {
    redis.cli(&["SET", "shenma:environs:vscode:lang", "\"go\""]);
    let prompt = r#"{"userPrompt":"Hello {{.variables.name}} in {{.vscode.lang}}"}"#;
    redis.cli(&["SET", "shenma:templates:greet:hello", prompt]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_write_to_redis_is_served() {
    let redis = RedisServer::start();
    fill(&redis);
    let address = serve(&redis.url()).await;
    eventually("ready", async || {
        get(address, "/readyz").await.status == 200
    })
    .await;
    assert_eq!(
        post(address, PATH, BODY).await.json()["rendered_prompt"],
        "Hello Ada in go"
    );
    redis.cli(&["SET", "shenma:environs:vscode:lang", "\"rust\""]);
    let text = async || post(address, PATH, BODY).await.json()["rendered_prompt"].clone();
    eventually("the new value", async || {
        text().await == "Hello Ada in rust"
    })
    .await;
    redis.cli(&[
        "SET",
        "shenma:templates:greet:hello",
        r#"{"userPrompt":"changed"}"#,
    ]);
    eventually("the new prompt", async || text().await == "changed").await;
    redis.cli(&["DEL", "shenma:templates:greet:hello"]);
    eventually("no prompt", async || {
        post(address, PATH, BODY).await.status == 404
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_dies_is_served_from_cache_and_found_again() {
    let mut redis = RedisServer::start();
    fill(&redis);
    let address = serve(&redis.url()).await;
    eventually("ready", async || {
        get(address, "/readyz").await.status == 200
    })
    .await;
    assert_eq!(post(address, PATH, BODY).await.status, 200);
    redis.kill();
    eventually("it is noticed", async || {
        get(address, "/readyz").await.json()["status"] == "stale"
    })
    .await;
    assert_eq!(get(address, "/readyz").await.status, 200);
    let answer = post(address, PATH, BODY).await;
    assert_eq!(
        answer.json()["rendered_prompt"],
        "Hello Ada in go",
        "{}",
        answer.body
    );
    redis.restart();
    fill(&redis);
    eventually("ready again", async || {
        get(address, "/readyz").await.json()["status"] == "ready"
    })
    .await;
    eventually("fresh again", async || {
        post(address, PATH, BODY)
            .await
            .json()
            .get("stale")
            .is_none()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_comes_late_is_waited_for() {
    let port = free_port();
    let address = serve(&format!("redis://127.0.0.1:{port}")).await;
    let answer = post(address, PATH, BODY).await;
    assert_eq!(
        (answer.status, answer.json()["error"].as_str()),
        (503, Some("store.unavailable"))
    );
    let ready = get(address, "/readyz").await;
    assert_eq!(
        (ready.status, ready.json()["status"].as_str()),
        (503, Some("unavailable"))
    );
    let redis = RedisServer::start_at(port, &[]);
    fill(&redis);
    eventually("ready", async || {
        get(address, "/readyz").await.status == 200
    })
    .await;
    eventually("rendered", async || {
        post(address, PATH, BODY).await.status == 200
    })
    .await;
}

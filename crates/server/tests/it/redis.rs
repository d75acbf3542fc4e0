//! The server with a real Redis that starts late, stops and restarts.

use std::net::SocketAddr;
use std::sync::Arc;

use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_server::{HttpServer, ServerConfig};
use quillet_store::StoreOptions;
use quillet_template::TemplateFactory;
use quillet_test_support::EchoTools;
use quillet_test_support::{RedisServer, free_port};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

use crate::client::{get, post};
use crate::test_server::eventually;

const BODY: &str = r#"{"variables":{"name":"Ada"}}"#;
const PATH: &str = "/api/render/prompts/greet.hello";

/// Starts a server for the Redis at this address. It runs until the test's runtime ends.
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
    let server = HttpServer::bind(config, service.clone()).await.unwrap();
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

/// Starts a proxy to a server. The proxy can hold back requests but always forwards responses.
async fn way_to(port: u16) -> (SocketAddr, watch::Sender<bool>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (held, hold) = watch::channel(false);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let mut hold = hold.clone();
            let server = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
            let (mut asks, mut answered) = client.into_split();
            let (mut answers, mut asked) = server.into_split();
            tokio::spawn(async move { tokio::io::copy(&mut answers, &mut answered).await });
            tokio::spawn(async move {
                let mut bytes = [0; 4096];
                while let Ok(count @ 1..) = asks.read(&mut bytes).await {
                    let _ = hold.wait_for(|held| !held).await;
                    if asked.write_all(&bytes[..count]).await.is_err() {
                        break;
                    }
                }
            });
        }
    });
    (address, held)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_hangs_is_served_from_cache_and_never_refused() {
    let redis = RedisServer::start();
    fill(&redis);
    let (way, held) = way_to(redis.port).await;
    let address = serve(&format!("redis://{way}")).await;
    eventually("ready", async || {
        get(address, "/readyz").await.status == 200
    })
    .await;
    let answer = post(address, PATH, BODY).await.json();
    assert_eq!(answer["rendered_prompt"], "Hello Ada in go");
    held.send_replace(true);
    // The notification arrives, but the server must still request the value.
    redis.cli(&["SET", "shenma:environs:vscode:lang", "\"rust\""]);
    eventually("stale answers", async || {
        post(address, PATH, BODY).await.json()["stale"] == true
    })
    .await;
    for _ in 0..200 {
        let answer = post(address, PATH, BODY).await;
        assert_eq!(answer.status, 200, "{answer:?}");
        let answer = answer.json();
        assert_eq!(answer["rendered_prompt"], "Hello Ada in go", "{answer}");
        assert_eq!(answer["stale"], true, "{answer}");
    }
    held.send_replace(false);
    eventually("the value of now", async || {
        let answer = post(address, PATH, BODY).await.json();
        answer["rendered_prompt"] == "Hello Ada in rust" && answer.get("stale").is_none()
    })
    .await;
}

//! Idle connections, and many connections at the same time.

use std::time::Duration;

use crate::client::{Connection, get};
use crate::test_server::{Setup, start_with};

#[tokio::test]
async fn half_requests_are_closed_and_others_are_served_meanwhile() {
    let mut setup = Setup::default();
    setup.config.header_time = Duration::from_millis(300);
    let server = start_with(setup).await;
    let mut half = Vec::new();
    for n in 0..40 {
        let mut connection = Connection::open(server.address).await;
        match n % 3 {
            0 => {}
            1 => connection.send("GET /heal").await,
            _ => {
                connection
                    .send("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
                    .await
            }
        }
        half.push(connection);
    }
    assert_eq!(server.get("/healthz").await.status, 200);
    for mut connection in half {
        assert_eq!(connection.read_to_end().await, "");
    }
    let metrics = server.get("/metrics").await.body;
    assert!(metrics.contains("quillet_connections 1\n"), "{metrics}");
}

#[tokio::test]
async fn a_drip_of_bytes_does_not_extend_the_time_for_headers() {
    let mut setup = Setup::default();
    setup.config.header_time = Duration::from_millis(200);
    let server = start_with(setup).await;
    let mut connection = Connection::open(server.address).await;
    connection
        .send("GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ")
        .await;
    let mut refused = false;
    for _ in 0..1000 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if connection.try_send("x").await.is_err() {
            refused = true;
            break;
        }
    }
    assert!(refused, "the connection was never closed");
}

#[tokio::test]
async fn a_connection_is_used_again_until_it_is_idle_for_too_long() {
    let mut setup = Setup::default();
    setup.config.header_time = Duration::from_millis(100);
    setup.config.idle_time = Duration::from_millis(600);
    let server = start_with(setup).await;
    let mut connection = Connection::open(server.address).await;
    for n in 1..=3 {
        connection
            .send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
            .await;
        connection.read_answers(n).await;
        // This pause is longer than the header timeout but shorter than the idle timeout.
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    connection.read_to_end().await;
}

#[tokio::test]
async fn more_connections_than_permitted_wait_for_a_place() {
    let mut setup = Setup::default();
    setup.config.connections = 1;
    let server = start_with(setup).await;
    let mut first = Connection::open(server.address).await;
    first
        .send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        .await;
    first.read_answers(1).await;
    let second = tokio::spawn(get(server.address, "/healthz"));
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(!second.is_finished());
    drop(first);
    assert_eq!(second.await.unwrap().status, 200);
}

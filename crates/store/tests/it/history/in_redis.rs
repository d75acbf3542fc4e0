//! Histories in Redis: beyond what every store promises of them.

use quillet_test_support::{Cluster, RedisServer, SentinelSet};

use super::holds;

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_histories() {
    let server = RedisServer::start();
    holds(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_by_sentinels_keeps_histories() {
    let set = SentinelSet::start();
    holds(&set.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_cluster_keeps_histories() {
    let cluster = Cluster::start();
    holds(&cluster.url()).await;
}

//! Contract tests of rate limit buckets in memory and Redis. Two connections stand for two
//! replicas. The tests check the returned waits instead of waiting.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::rates::{RateDecision, RateDraw, Rates};
use quillet_core::store::Health;
use quillet_store::open_rates;
use quillet_test_support::{Cluster, RedisServer, free_port};

use crate::support::patient;

const HOUR: Duration = Duration::from_secs(3600);

fn rates(address: &str) -> Arc<dyn Rates> {
    open_rates(address, &patient()).unwrap()
}

fn draw(bucket: &str, per_minute: u32, amount: i64) -> RateDraw {
    RateDraw {
        bucket: bucket.into(),
        per_minute,
        amount,
    }
}

async fn take(
    rates: &Arc<dyn Rates>,
    group: &str,
    draws: &[RateDraw],
    patience: Duration,
) -> RateDecision {
    rates.take(group, draws, patience, false).await.unwrap()
}

/// Checks that a wait is about this many seconds. The test itself takes less than half of that
/// time.
fn about(turn: RateDecision, seconds: f64) {
    let RateDecision::After(wait) = turn else {
        panic!("{turn:?} is not in {seconds} s");
    };
    let wait = wait.as_secs_f64();
    assert!(wait <= seconds + 0.01, "{wait} s, not {seconds} s");
    assert!(wait > seconds / 2.0, "{wait} s, not {seconds} s");
}

/// One request per minute, so no machine takes a whole interval between two calls.
async fn a_line_is_one_for_all(one: &Arc<dyn Rates>, two: &Arc<dyn Rates>) {
    let requests = [draw("line:requests", 1, 1)];
    assert_eq!(take(one, "line", &requests, HOUR).await, RateDecision::Now);
    about(take(two, "line", &requests, HOUR).await, 60.0);
    about(take(one, "line", &requests, HOUR).await, 120.0);
    // The wait is too long, so the call returns it without taking a queue position.
    for _ in 0..3 {
        match take(two, "line", &requests, Duration::from_secs(100)).await {
            RateDecision::Never { wait, draw } => {
                assert_eq!(draw, 0);
                assert!(wait > Duration::from_secs(100), "{wait:?}");
                assert!(wait <= Duration::from_secs(180), "{wait:?}");
            }
            turn => panic!("{turn:?}"),
        }
    }
    // A queued request that comes too early continues to wait at its position.
    let early = one.take("line", &requests, HOUR, true).await.unwrap();
    assert!(matches!(early, RateDecision::After(_)), "{early:?}");
    two.cancel_wait("line", &requests).await.unwrap();
    two.cancel_wait("line", &requests).await.unwrap();
    two.cancel_wait("line", &requests).await.unwrap();
    about(take(one, "line", &requests, HOUR).await, 60.0);
    // Another group has separate buckets.
    assert_eq!(take(one, "line2", &requests, HOUR).await, RateDecision::Now);
}

async fn no_more_come_at_once_than_a_second_brings(one: &Arc<dyn Rates>, two: &Arc<dyn Rates>) {
    // The limit of 120 per minute passes two requests immediately, then one every 60 / 119 s.
    let requests = [draw("burst:requests", 120, 1)];
    let mut now = 0;
    for index in 0..200 {
        let replica = if index % 2 == 0 { one } else { two };
        now += usize::from(take(replica, "burst", &requests, HOUR).await == RateDecision::Now);
    }
    // All requests after the first two are queued; their positions are reserved, but nothing is
    // drawn.
    assert_eq!(now, 2);
    match take(one, "burst", &requests, Duration::ZERO).await {
        RateDecision::Never { wait, .. } => assert!(wait > Duration::from_secs(50), "{wait:?}"),
        turn => panic!("{turn:?}"),
    }
}

async fn all_draws_are_taken_or_none(one: &Arc<dyn Rates>, two: &Arc<dyn Rates>) {
    let wide = draw("p:requests", 600, 1);
    let narrow = draw("m:requests", 1, 1);
    let both = [wide.clone(), narrow];
    assert_eq!(take(one, "both", &both, HOUR).await, RateDecision::Now);
    for _ in 0..50 {
        match take(two, "both", &both, Duration::from_secs(1)).await {
            RateDecision::Never { draw, .. } => assert_eq!(draw, 1),
            turn => panic!("{turn:?}"),
        }
    }
    // Nothing was drawn from the provider's bucket.
    let turn = take(one, "both", &[wide], Duration::ZERO).await;
    assert_eq!(turn, RateDecision::Now);
}

async fn what_an_answer_cost_is_taken_at_its_end(one: &Arc<dyn Rates>, two: &Arc<dyn Rates>) {
    // A bucket for 60 per minute holds one; a larger request waits for a full bucket and overdraws
    // it.
    let tokens = |amount| [draw("t:tokens", 60, amount)];
    assert_eq!(take(one, "t", &tokens(60), HOUR).await, RateDecision::Now);
    about(take(two, "t", &tokens(60), HOUR).await, 60.0);
    two.adjust_usage("t", &tokens(60)).await.unwrap();
    about(take(one, "t", &tokens(1), HOUR).await, 180.0);
    one.adjust_usage("t", &tokens(-120)).await.unwrap();
    about(take(two, "t", &tokens(1), HOUR).await, 61.0);
}

async fn a_hold_holds_all(one: &Arc<dyn Rates>, two: &Arc<dyn Rates>) {
    let requests = [draw("h:requests", 60, 1)];
    assert_eq!(take(one, "h", &requests, HOUR).await, RateDecision::Now);
    about(take(two, "h", &requests, HOUR).await, 1.0);
    two.pause_buckets("h", &requests, Duration::from_secs(600))
        .await
        .unwrap();
    // A queued request moves to the end of the new queue.
    let held = two.take("h", &requests, HOUR, true).await.unwrap();
    about(held, 600.0);
    about(take(one, "h", &requests, HOUR).await, 601.0);
    // A shorter pause does not end a longer one.
    one.pause_buckets("h", &requests, Duration::from_secs(10))
        .await
        .unwrap();
    about(take(one, "h", &requests, HOUR).await, 600.0);
}

async fn everything(one: Arc<dyn Rates>, two: Arc<dyn Rates>) {
    a_line_is_one_for_all(&one, &two).await;
    no_more_come_at_once_than_a_second_brings(&one, &two).await;
    all_draws_are_taken_or_none(&one, &two).await;
    what_an_answer_cost_is_taken_at_its_end(&one, &two).await;
    a_hold_holds_all(&one, &two).await;
    assert_eq!(one.health(), Health::Ready);
}

#[tokio::test]
async fn in_memory() {
    let rates = rates("memory:");
    everything(rates.clone(), rates).await;
}

#[tokio::test]
async fn in_redis() {
    let redis = RedisServer::start();
    let address = format!("redis://127.0.0.1:{}/", redis.port);
    everything(rates(&address), rates(&address)).await;
    // All keys expire.
    let keys = redis.cli(&["--raw", "KEYS", "*"]);
    assert_eq!(keys.lines().count(), 6, "{keys}");
    for key in keys.lines() {
        assert!(key.starts_with("shenma:rates:{"), "{key}");
        let ttl: i64 = redis.cli(&["PTTL", key]).trim().parse().unwrap();
        assert!(ttl > 0, "{key}: {ttl}");
    }
}

#[tokio::test]
async fn in_a_cluster() {
    let cluster = Cluster::start();
    let address = cluster.url();
    everything(rates(&address), rates(&address)).await;
}

/// Clients that wait as long as they were told never exceed the rate together.
#[tokio::test]
async fn no_replica_gets_more_than_all_may_have() {
    let redis = RedisServer::start();
    let address = format!("redis://127.0.0.1:{}/", redis.port);
    let ask = |rates: Arc<dyn Rates>| async move {
        let requests = [draw("busy:requests", 6000, 1)];
        let mut in_line = false;
        loop {
            match rates.take("busy", &requests, HOUR, in_line).await.unwrap() {
                RateDecision::Now => return tokio::time::Instant::now(),
                RateDecision::After(wait) => tokio::time::sleep(wait).await,
                turn => panic!("{turn:?}"),
            }
            in_line = true;
        }
    };
    let replicas = [rates(&address), rates(&address), rates(&address)];
    let began = tokio::time::Instant::now();
    let asking = (0..300).map(|index| ask(replicas[index % 3].clone()));
    let mut times: Vec<f64> = futures_util::future::join_all(asking)
        .await
        .into_iter()
        .map(|at| (at - began).as_secs_f64())
        .collect();
    times.sort_by(f64::total_cmp);
    // 100 requests pass immediately, and 5901 per minute after them. Replies take time, so no
    // request can pass earlier.
    for (index, at) in times.iter().enumerate() {
        let earliest = (index as f64 - 99.0) * 60.0 / 5901.0;
        assert!(*at >= earliest - 0.001, "{index}: {at} s, not {earliest} s");
    }
}

#[tokio::test]
async fn without_redis_each_replica_keeps_a_bucket_of_its_own() {
    let port = free_port();
    let address = format!("redis://127.0.0.1:{port}/");
    let (one, two) = (rates(&address), rates(&address));
    let requests = [draw("a:requests", 1, 1)];
    for replica in [&one, &two] {
        assert_eq!(take(replica, "a", &requests, HOUR).await, RateDecision::Now);
        about(take(replica, "a", &requests, HOUR).await, 60.0);
        assert!(matches!(replica.health(), Health::Away { .. }));
        replica.pause_buckets("a", &requests, HOUR).await.unwrap();
        replica.adjust_usage("a", &requests).await.unwrap();
        replica.cancel_wait("a", &requests).await.unwrap();
    }
    // Redis is available again, and both replicas share one bucket.
    let _redis = RedisServer::start_at(port, &[]);
    let shared = [draw("b:requests", 1, 1)];
    for _ in 0..2000 {
        take(&one, "c", &[draw("c:requests", 60_000, 1)], HOUR).await;
        take(&two, "c", &[draw("c:requests", 60_000, 1)], HOUR).await;
        if one.health() == Health::Ready && two.health() == Health::Ready {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(take(&one, "b", &shared, HOUR).await, RateDecision::Now);
    about(take(&two, "b", &shared, HOUR).await, 60.0);
}

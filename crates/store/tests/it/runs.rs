//! Contract tests of all registries of runs. Two connections stand for two replicas.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::runs::{AdmissionDenied, LoggedEvent, RunAllowance, Runs};
use quillet_core::store::StoreErrorKind;
use quillet_store::{RunOptions, open_runs};
use quillet_test_support::{Cluster, RedisServer};
use tokio::time::timeout;

use crate::support::patient;

const LONG: Duration = Duration::from_secs(20);
const NONE: Duration = Duration::ZERO;
const FREE: RunAllowance = RunAllowance {
    concurrent: None,
    per_minute: None,
};

async fn runs(address: &str, options: &RunOptions) -> Arc<dyn Runs> {
    open_runs(address, &patient(), options).await.unwrap()
}

fn event(sequence: u64) -> LoggedEvent {
    LoggedEvent {
        sequence,
        name: "text.delta".into(),
        data: format!("{{\"n\": {sequence}, \"☂\": \"\\n\"}}").into(),
    }
}

fn events(numbers: std::ops::RangeInclusive<u64>) -> Vec<LoggedEvent> {
    numbers.map(event).collect()
}

async fn places_are_counted_and_freed(one: &Arc<dyn Runs>, two: &Arc<dyn Runs>) {
    let limit = RunAllowance {
        concurrent: Some(2),
        per_minute: None,
    };
    let first = one.admit("gate", "gate-1", limit).await.unwrap();
    let second = two.admit("gate", "gate-2", limit).await.unwrap();
    for replica in [one, two] {
        match replica.admit("gate", "gate-3", limit).await {
            Err(AdmissionDenied::Concurrent { running, limit }) => {
                assert_eq!((running, limit), (2, 2))
            }
            other => panic!("{other:?}"),
        }
    }
    let other_key = one.admit("gate{}:", "gate-4", limit).await.unwrap();
    drop(first);
    let third = admitted_soon(two, "gate", "gate-3", limit).await;
    match one.admit("other", "gate-3", FREE).await {
        Err(AdmissionDenied::Store(error)) => {
            assert_eq!(error.kind, StoreErrorKind::Refused);
            assert!(error.message.contains("gate-3"), "{error}");
        }
        other => panic!("two runs of one id: {other:?}"),
    }
    drop((second, third, other_key));
    drop(admitted_soon(one, "other", "gate-3", FREE).await);
}

/// A dropped permit may be released with a short delay.
async fn admitted_soon(
    runs: &Arc<dyn Runs>,
    key: &str,
    run: &str,
    allowance: RunAllowance,
) -> Box<dyn quillet_core::runs::Permit> {
    let trying = async {
        loop {
            match runs.admit(key, run, allowance).await {
                Ok(permit) => return permit,
                Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    };
    timeout(LONG, trying).await.expect("the place becomes free")
}

async fn beginnings_are_counted(one: &Arc<dyn Runs>, two: &Arc<dyn Runs>) {
    let limit = RunAllowance {
        concurrent: None,
        per_minute: Some(3),
    };
    for (n, replica) in [one, two, one].into_iter().enumerate() {
        drop(
            replica
                .admit("rate", &format!("rate-{n}"), limit)
                .await
                .unwrap(),
        );
    }
    match two.admit("rate", "rate-9", limit).await {
        Err(AdmissionDenied::Rate { limit, retry_after }) => {
            assert_eq!(limit, 3);
            assert!(retry_after <= Duration::from_secs(60), "{retry_after:?}");
            assert!(retry_after > Duration::from_secs(20), "{retry_after:?}");
        }
        other => panic!("{other:?}"),
    }
    let nobody = RunAllowance {
        per_minute: Some(0),
        concurrent: None,
    };
    let refused = one.admit("rate0", "rate-x", nobody).await;
    assert!(matches!(
        refused,
        Err(AdmissionDenied::Rate { limit: 0, .. })
    ));
}

async fn logs_are_shared(one: &Arc<dyn Runs>, two: &Arc<dyn Runs>) {
    assert_eq!(two.read("log", 0, LONG).await.unwrap(), None);
    let permit = one.admit("log", "log", FREE).await.unwrap();
    let page = two.read("log", 0, NONE).await.unwrap().expect("known");
    assert!(page.events.is_empty() && !page.ended && !page.gap);

    let waiting = tokio::spawn({
        let two = two.clone();
        async move { two.read("log", 0, LONG).await }
    });
    one.append("log", &events(1..=2), false).await.unwrap();
    let page = waiting.await.unwrap().unwrap().expect("known");
    assert_eq!(page.events[0], event(1));

    one.append("log", &events(1..=3), false).await.unwrap();
    let page = two.read("log", 1, NONE).await.unwrap().expect("known");
    assert_eq!(
        page.events,
        events(2..=3),
        "an append that is made again adds nothing"
    );

    let waiting = tokio::spawn({
        let two = two.clone();
        async move { two.read("log", 3, LONG).await }
    });
    one.append("log", &[event(4)], true).await.unwrap();
    drop(permit);
    let page = waiting.await.unwrap().unwrap().expect("known");
    assert_eq!((page.events, page.ended), (vec![event(4)], true));
    let page = two.read("log", 4, LONG).await.unwrap().expect("known");
    assert!(
        page.events.is_empty() && page.ended,
        "nobody waits after the end"
    );
    let page = one.read("log", 0, LONG).await.unwrap().expect("known");
    assert_eq!(page.events, events(1..=4));
}

async fn a_run_that_is_left_has_ended(one: &Arc<dyn Runs>, two: &Arc<dyn Runs>) {
    let permit = one.admit("left", "left", FREE).await.unwrap();
    one.append("left", &[event(1)], false).await.unwrap();
    let waiting = tokio::spawn({
        let two = two.clone();
        async move { two.read("left", 1, LONG).await }
    });
    drop(permit);
    let page = waiting.await.unwrap().unwrap().expect("known");
    assert!(page.ended && page.lost, "nobody told its end: {page:?}");
    assert!(!two.cancel("left").await.unwrap(), "it is not on its way");
    assert!(two.give_up("left", "error", "{}").await.unwrap());
    assert!(!one.give_up("left", "error", "{}").await.unwrap());
    let page = one.read("left", 1, LONG).await.unwrap().expect("known");
    assert!(page.ended && !page.lost);
    assert_eq!((page.events.len(), page.events[0].sequence), (1, 2));
    // A run that never had a log has nothing to read.
    drop(one.admit("left", "plain", FREE).await.unwrap());
    let over = async {
        while two.read("plain", 0, NONE).await.unwrap().is_some() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, over).await.expect("it is over");
}

async fn a_run_is_cancelled_from_elsewhere(one: &Arc<dyn Runs>, two: &Arc<dyn Runs>) {
    assert!(!two.cancel("stop").await.unwrap());
    let permit = one.admit("stop", "stop", FREE).await.unwrap();
    assert!(one.cancelled("stop").now_or_never().is_none());
    let told = tokio::spawn({
        let one = one.clone();
        async move { one.cancelled("stop").await }
    });
    tokio::task::yield_now().await;
    assert!(two.cancel("stop").await.unwrap());
    timeout(LONG, told).await.expect("it is told").unwrap();
    // Later requests also see the cancellation.
    timeout(LONG, one.cancelled("stop"))
        .await
        .expect("it is told");
    one.append("stop", &[event(1)], true).await.unwrap();
    drop(permit);
    assert!(!two.cancel("stop").await.unwrap());
}

async fn odd_ids_are_kept_apart_or_refused(runs: &Arc<dyn Runs>) {
    let odd = ["{a}", "a}", "{", "}:log", "a:b", "*", "☂"];
    for id in odd {
        let data = LoggedEvent {
            data: id.into(),
            ..event(1)
        };
        runs.append(id, &[data], true).await.unwrap();
    }
    for id in odd {
        let page = runs.read(id, 0, NONE).await.unwrap().expect("known");
        assert_eq!(&*page.events[0].data, id);
    }
    for id in ["", "a\nb", &"x".repeat(10_000)] {
        let error = runs.append(id, &[event(1)], false).await.unwrap_err();
        assert_eq!(error.kind, StoreErrorKind::Refused);
        assert!(runs.read(id, 0, NONE).await.is_err());
        assert!(runs.cancel(id).await.is_err());
        assert!(runs.admit("k", id, FREE).await.is_err());
        assert!(runs.admit(id, "r", FREE).await.is_err());
    }
}

async fn logs_are_bounded(address: &str) {
    let options = RunOptions {
        max_log_events: 10,
        max_log_bytes: event(10).data.len() * 5,
        ..RunOptions::default()
    };
    let runs = runs(address, &options).await;
    for n in 1..=30 {
        runs.append("bounded", &[event(n)], false).await.unwrap();
    }
    let page = runs.read("bounded", 0, NONE).await.unwrap().expect("known");
    assert_eq!(
        page.events,
        events(28..=30).split_off(3 - page.events.len())
    );
    assert!(
        page.gap && page.events.len() < 5 && page.events.len() > 1,
        "{page:?}"
    );
    let first = page.events[0].sequence;
    let page = runs
        .read("bounded", first - 1, NONE)
        .await
        .unwrap()
        .expect("known");
    assert!(!page.gap);
}

async fn holds(one: &Arc<dyn Runs>, two: &Arc<dyn Runs>) {
    places_are_counted_and_freed(one, two).await;
    beginnings_are_counted(one, two).await;
    logs_are_shared(one, two).await;
    a_run_that_is_left_has_ended(one, two).await;
    a_run_is_cancelled_from_elsewhere(one, two).await;
    odd_ids_are_kept_apart_or_refused(one).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn memory_keeps_runs() {
    let runs = runs("memory:", &RunOptions::default()).await;
    holds(&runs, &runs).await;
    logs_are_bounded("memory:").await;
}

async fn redis_holds(url: &str) {
    let options = RunOptions::default();
    let (one, two) = (runs(url, &options).await, runs(url, &options).await);
    holds(&one, &two).await;
    logs_are_bounded(url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn redis_keeps_runs() {
    let server = RedisServer::start();
    redis_holds(&server.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn few_rights_are_enough_for_runs() {
    let server = RedisServer::start();
    redis_holds(&server.url_of_a_user_with_few_rights()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_cluster_keeps_runs() {
    let cluster = Cluster::start();
    redis_holds(&cluster.url()).await;
}

#[tokio::test(start_paused = true)]
async fn a_rate_says_exactly_when_the_next_may_begin() {
    let runs = runs("memory:", &RunOptions::default()).await;
    let limit = RunAllowance {
        concurrent: None,
        per_minute: Some(2),
    };
    drop(runs.admit("k", "1", limit).await.unwrap());
    tokio::time::advance(Duration::from_secs(25)).await;
    drop(runs.admit("k", "2", limit).await.unwrap());
    let Err(AdmissionDenied::Rate { retry_after, .. }) = runs.admit("k", "3", limit).await else {
        panic!("the third of two");
    };
    assert_eq!(retry_after, Duration::from_secs(35));
    tokio::time::advance(retry_after).await;
    drop(runs.admit("k", "3", limit).await.unwrap());
    let Err(AdmissionDenied::Rate { retry_after, .. }) = runs.admit("k", "4", limit).await else {
        panic!("the third of two");
    };
    assert_eq!(retry_after, Duration::from_secs(25));
}

#[tokio::test(start_paused = true)]
async fn logs_are_forgotten_some_time_after_the_end() {
    let runs = runs("memory:", &RunOptions::default()).await;
    let going = runs.admit("k", "going", FREE).await.unwrap();
    runs.append("over", &[event(1)], true).await.unwrap();
    runs.append("unheld", &[event(1)], false).await.unwrap();
    tokio::time::advance(Duration::from_secs(599)).await;
    assert!(runs.read("over", 0, NONE).await.unwrap().is_some());
    tokio::time::advance(Duration::from_secs(2)).await;
    assert_eq!(runs.read("over", 0, NONE).await.unwrap(), None);
    assert_eq!(runs.read("unheld", 0, NONE).await.unwrap(), None);
    assert!(runs.read("going", 0, NONE).await.unwrap().is_some());
    drop(going);
}

#[tokio::test]
async fn logs_in_memory_make_room_for_newer_ones() {
    let options = RunOptions {
        max_memory_bytes: 100,
        ..RunOptions::default()
    };
    let runs = runs("memory:", &options).await;
    for n in 0..10 {
        runs.append(&format!("r{n}"), &[event(1)], true)
            .await
            .unwrap();
    }
    assert_eq!(runs.read("r0", 0, NONE).await.unwrap(), None);
    assert!(runs.read("r9", 0, NONE).await.unwrap().is_some());
}

//! Replicas and Redis servers that die while runs are active.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use quillet_core::runs::{AdmissionDenied, LoggedEvent, RunAllowance, Runs};
use quillet_core::store::StoreErrorKind;
use quillet_store::{RunOptions, open_runs};
use quillet_test_support::RedisServer;
use tokio::time::{sleep, timeout};

use crate::support::patient;

const LONG: Duration = Duration::from_secs(20);
const ONE_AT_A_TIME: RunAllowance = RunAllowance {
    concurrent: Some(1),
    per_minute: None,
};

async fn replica(server: &RedisServer) -> Arc<dyn Runs> {
    let options = RunOptions {
        lease: Duration::from_millis(400),
        ..RunOptions::default()
    };
    open_runs(&server.url(), &patient(), &options)
        .await
        .unwrap()
}

fn event(sequence: u64) -> LoggedEvent {
    LoggedEvent {
        sequence,
        name: "e".into(),
        data: "{}".into(),
    }
}

/// Retries until it succeeds, because Redis or a replica needs some time.
async fn in_time<T, F: Future<Output = Option<T>>>(
    what: &str,
    mut attempt: impl FnMut() -> F,
) -> T {
    let trying = async {
        loop {
            if let Some(done) = attempt().await {
                return done;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(LONG, trying)
        .await
        .unwrap_or_else(|_| panic!("waited in vain: {what}"))
}

async fn is_full(runs: &Arc<dyn Runs>) -> bool {
    let refused = runs.admit("k", "other", ONE_AT_A_TIME).await;
    matches!(refused, Err(AdmissionDenied::Concurrent { .. }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_is_held_for_as_long_as_its_permit() {
    let server = RedisServer::start();
    let (one, two) = (replica(&server).await, replica(&server).await);
    let permit = one.admit("k", "r", ONE_AT_A_TIME).await.unwrap();
    sleep(Duration::from_millis(1200)).await;
    assert!(is_full(&two).await, "the lease was renewed");
    drop(permit);
    in_time("the place to be free", || {
        two.admit("k", "s", ONE_AT_A_TIME).map(Result::ok)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_dies_frees_its_places_and_ends_its_runs() {
    let server = RedisServer::start();
    let (one, two) = (replica(&server).await, replica(&server).await);
    let permit = one.admit("k", "r", ONE_AT_A_TIME).await.unwrap();
    one.append("r", &[event(1)], false).await.unwrap();
    assert!(is_full(&two).await);
    // The permit is neither renewed nor released, as after `kill -9`.
    std::mem::forget(permit);
    drop(one);
    let page = two.read("r", 1, LONG).await.unwrap().expect("known");
    assert!(page.ended);
    assert!(!two.cancel("r").await.unwrap());
    let again = || two.admit("k", "r", ONE_AT_A_TIME).map(Result::ok);
    let permit = in_time("the place to be free", again).await;
    let page = two
        .read("r", 0, Duration::ZERO)
        .await
        .unwrap()
        .expect("known");
    assert!(
        page.events.is_empty() && !page.ended,
        "the id was free again: {page:?}"
    );
    drop(permit);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_run_gets_one_last_event_and_takes_no_more() {
    let server = RedisServer::start();
    let (one, two, three) = (
        replica(&server).await,
        replica(&server).await,
        replica(&server).await,
    );
    let permit = one.admit("k", "r", ONE_AT_A_TIME).await.unwrap();
    one.append("r", &[event(1)], false).await.unwrap();
    assert!(
        !two.give_up("r", "error", "{}").await.unwrap(),
        "it goes on"
    );
    // The permit is neither renewed nor released, as after `kill -9`.
    std::mem::forget(permit);
    drop(one);
    let lost = two.read("r", 1, LONG).await.unwrap().expect("known");
    assert!(
        lost.ended && lost.lost && lost.events.is_empty(),
        "{lost:?}"
    );
    let told = futures_util::future::join_all(
        [&two, &three, &two, &three].map(|runs| runs.give_up("r", "error", "{}")),
    )
    .await;
    let told = told.into_iter().filter(|told| *told.as_ref().unwrap());
    assert_eq!(told.count(), 1, "one of them tells the end");
    for runs in [&two, &three] {
        let page = runs.read("r", 1, LONG).await.unwrap().expect("known");
        assert!(page.ended && !page.lost, "{page:?}");
        assert_eq!(page.events.len(), 1);
        assert_eq!(
            (page.events[0].sequence, &*page.events[0].name),
            (2, "error")
        );
    }
    // A disconnected replica returns too late.
    let late = two.append("r", &[event(2), event(3)], false).await;
    assert_eq!(late.unwrap_err().kind, StoreErrorKind::Refused);
    let late = two.append("r", &[event(2), event(3)], true).await;
    assert_eq!(late.unwrap_err().kind, StoreErrorKind::Refused);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_replica_gives_a_sign_again_is_not_lost() {
    let server = RedisServer::start();
    let (one, two) = (replica(&server).await, replica(&server).await);
    let permit = one.admit("k", "r", ONE_AT_A_TIME).await.unwrap();
    one.append("r", &[event(1)], false).await.unwrap();
    // The lease has expired, as after a pause of the whole process.
    let state = server.cli(&["KEYS", "*runs:{r}:state"]);
    server.cli(&["HSET", state.trim(), "lease", "1"]);
    let page = two.read("r", 1, Duration::ZERO).await.unwrap();
    assert!(!page.expect("known").ended, "it has time to renew");
    sleep(Duration::from_millis(600)).await;
    let page = two.read("r", 1, Duration::ZERO).await.unwrap();
    assert!(!page.expect("known").ended, "it was renewed");
    assert!(!two.give_up("r", "error", "{}").await.unwrap());
    drop(permit);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_outlives_redis() {
    let mut server = RedisServer::start();
    let (one, two) = (replica(&server).await, replica(&server).await);
    let _permit = one.admit("k", "r", ONE_AT_A_TIME).await.unwrap();
    one.append("r", &[event(1), event(2)], false).await.unwrap();
    let told = tokio::spawn({
        let one = one.clone();
        async move { one.cancelled("r").await }
    });

    server.kill();
    let error = one.append("r", &[event(3)], false).await.unwrap_err();
    assert_eq!(error.kind, StoreErrorKind::Unavailable, "{error}");
    assert!(matches!(
        one.admit("k", "s", ONE_AT_A_TIME).await,
        Err(AdmissionDenied::Store(_))
    ));
    assert!(two.read("r", 0, LONG).await.is_err());
    assert!(!told.is_finished(), "nobody has cancelled the run");

    server.restart();
    let fourth = [event(4)];
    in_time("the log", || {
        one.append("r", &fourth, false).map(Result::ok)
    })
    .await;
    let page = in_time("the log", || two.read("r", 2, LONG).map(Result::ok))
        .await
        .expect("known");
    assert_eq!(page.events, [event(4)]);
    assert!(page.gap && !page.ended, "{page:?}");
    in_time("the place to be held again", || {
        is_full(&two).map(|full| full.then_some(()))
    })
    .await;
    assert!(two.cancel("r").await.unwrap());
    timeout(LONG, told).await.expect("it is told").unwrap();
}

/// A cancellation is published while no listener is connected.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_is_not_lost_with_a_connection() {
    let server = RedisServer::start();
    let (one, two) = (replica(&server).await, replica(&server).await);
    let _permit = one.admit("k", "r", ONE_AT_A_TIME).await.unwrap();
    let told = tokio::spawn({
        let one = one.clone();
        async move { one.cancelled("r").await }
    });
    tokio::task::yield_now().await;
    server.cli(&["CLIENT", "KILL", "TYPE", "pubsub"]);
    assert!(two.cancel("r").await.unwrap());
    timeout(LONG, told).await.expect("it is told").unwrap();
}

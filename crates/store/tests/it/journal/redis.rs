//! Readers repair the sorted sets by which Redis finds runs.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::journal::{Journal, RunFilter, RunState};
use quillet_core::store::{Health, StoreErrorKind};
use quillet_store::JournalOptions;
use quillet_test_support::{RedisServer, wait_for};
use tokio::time::{sleep, timeout};

use super::{Both, LONG, OVER, asked, at, ended, listed, open, refused, run, written};

/// The sets that contain the active runs of one scope.
const SETS: [&str; 5] = [
    "lists:{all}",
    "lists:{all}:running",
    "scopes:{ada}",
    "scopes:{ada}:running",
    "lists:{all}:free",
];
const FREE: &str = "shenma:journal:lists:{all}:free";

async fn both(server: &RedisServer) -> Both {
    let options = JournalOptions::default;
    Both {
        address: server.url(),
        one: open(&server.url(), options()).await,
        two: open(&server.url(), options()).await,
    }
}

fn all() -> RunFilter {
    RunFilter {
        most: 100,
        ..RunFilter::default()
    }
}

async fn free(journal: &Arc<dyn Journal>) -> Vec<String> {
    let ids = journal.abandoned(100).await.unwrap();
    ids.iter().map(ToString::to_string).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_run_is_taken_out_of_the_sets() {
    let server = RedisServer::start();
    let Both { one, .. } = both(&server).await;
    one.begin(&run("a"), &[], LONG).await.unwrap();
    one.begin(&run("ended"), &[], LONG).await.unwrap();
    one.append("ended", 1, &[ended()], &at(RunState::Ended))
        .await
        .unwrap();
    for set in SETS {
        server.cli(&["ZADD", &format!("shenma:journal:{set}"), "5000", "ghost"]);
    }
    let running_set = "shenma:journal:lists:{all}:running";
    server.cli(&["ZADD", running_set, "1000", "ended"]);
    server.cli(&["ZADD", FREE, "7", "ghost", "8", "ended"]);
    let ada = RunFilter {
        scope: Some("ada".into()),
        ..all()
    };
    let running = RunFilter {
        state: Some(RunState::Running),
        ..all()
    };
    assert_eq!(listed(&one, &all()).await, ["ended", "a"]);
    assert_eq!(listed(&one, &ada).await, ["ended", "a"]);
    assert_eq!(listed(&one, &running).await, ["a"]);
    assert!(free(&one).await.is_empty());
    let running = RunFilter {
        scope: Some("ada".into()),
        ..running
    };
    assert_eq!(listed(&one, &running).await, ["a"]);
    for (set, expected) in SETS.iter().zip(["a\nended", "a", "a\nended", "a", "a"]) {
        let set = format!("shenma:journal:{set}");
        assert_eq!(server.cli(&["ZRANGE", &set, "0", "-1"]), expected, "{set}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_note_was_lost_is_found() {
    let server = RedisServer::start();
    let Both { one, two, .. } = both(&server).await;
    let lose = |sets: &[&str]| {
        for set in sets {
            server.cli(&["DEL", &format!("shenma:journal:{set}")]);
        }
    };
    let score = || {
        let score = server.cli(&["ZSCORE", FREE, "a"]);
        score.parse::<u64>().unwrap_or_default()
    };
    // The set is checked too early, before the run can be claimed.
    one.begin(&run("a"), &[], LONG).await.unwrap();
    let lease = score();
    server.cli(&["ZADD", FREE, "5", "a"]);
    assert!(free(&two).await.is_empty());
    assert_eq!(score(), lease);
    // A waiting run is checked periodically.
    one.append("a", 1, &[asked(1)], &at(RunState::Waiting))
        .await
        .unwrap();
    server.cli(&["ZADD", FREE, "5", "a"]);
    assert!(free(&two).await.is_empty());
    let next = score();
    assert!(next > 5 && next < lease, "{next}");
    // The notification that the run is ready was lost; the next check finds it.
    two.interject("a", 1, &asked(2), &at(RunState::Ready))
        .await
        .unwrap();
    server.cli(&["ZADD", FREE, &next.to_string(), "a"]);
    assert!(free(&two).await.is_empty());
    server.cli(&["ZADD", FREE, "5", "a"]);
    assert_eq!(free(&two).await, ["a"]);
    // A late update for a renewal does not hide newer updates.
    two.begin(&run("b"), &[], LONG).await.unwrap();
    server.cli(&["ZADD", FREE, "6", "b"]);
    two.renew("b", 1, OVER).await.unwrap();
    assert_eq!(server.cli(&["ZSCORE", FREE, "b"]), "6");
    assert_eq!(free(&one).await.len(), 2);
    two.append("b", 1, &[ended()], &at(RunState::Ended))
        .await
        .unwrap();
    two.remove("b").await.unwrap();
    // The sets are lost; a claim, a renewal and a state change restore them.
    lose(&SETS);
    two.claim("a", LONG).await.unwrap().expect("it is ready");
    assert_eq!(listed(&one, &all()).await, ["a"]);
    lose(&SETS[4..]);
    two.renew("a", 2, OVER).await.unwrap();
    assert_eq!(free(&one).await, ["a"]);
    lose(&SETS);
    two.append("a", 2, &[], &at(RunState::Ready)).await.unwrap();
    assert_eq!(
        (listed(&one, &all()).await, free(&one).await),
        (vec!["a".to_owned()], vec!["a".to_owned()])
    );
    lose(&SETS);
    two.interject("a", 2, &ended(), &at(RunState::Ended))
        .await
        .unwrap();
    assert_eq!(listed(&one, &all()).await, ["a"]);
    assert!(free(&one).await.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn ended_runs_leave_nothing_behind() {
    let server = RedisServer::start();
    let options = JournalOptions {
        keep: Duration::from_millis(50),
        ..JournalOptions::default()
    };
    let journal = open(&server.url(), options).await;
    for id in ["a", "b\"{}☂"] {
        journal.begin(&run(id), &[asked(1)], LONG).await.unwrap();
        journal
            .append(id, 1, &[ended()], &at(RunState::Ended))
            .await
            .unwrap();
    }
    sleep(Duration::from_millis(60)).await;
    // Starting the next run removes them from the sets.
    journal.begin(&run("c"), &[], LONG).await.unwrap();
    for set in SETS {
        let members = server.cli(&["ZRANGE", &format!("shenma:journal:{set}"), "0", "-1"]);
        assert_eq!(members, "c", "{set}");
    }
    journal
        .append("c", 1, &[ended()], &at(RunState::Ended))
        .await
        .unwrap();
    journal.remove("c").await.unwrap();
    // Redis deletes expired keys with some delay.
    wait_for("nothing to be left", || server.cli(&["DBSIZE"]) == "0");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_broken_hides_nothing_else() {
    let server = RedisServer::start();
    let Both { one, .. } = both(&server).await;
    for id in ["a", "b", "c"] {
        one.begin(&run(id), &[asked(1)], OVER).await.unwrap();
    }
    server.cli(&["DEL", "shenma:journal:{a}"]);
    server.cli(&["SET", "shenma:journal:{a}", "other"]);
    server.cli(&["HSET", "shenma:journal:{b}", "head", "{", "state", "odd"]);
    assert_eq!(listed(&one, &all()).await, ["c"]);
    assert_eq!(free(&one).await, ["c"]);
    for id in ["a", "b"] {
        let name = format!("shenma:journal:{{{id}}}");
        refused(one.head(id).await, StoreErrorKind::Corrupt, &[&name]);
    }
    server.cli(&[
        "XADD",
        "shenma:journal:{c}:steps",
        "2",
        "at",
        "0",
        "step",
        "{}",
    ]);
    let place = "run id \"c\": cannot read step 2";
    refused(one.read("c", 0, 9).await, StoreErrorKind::Corrupt, &[place]);
    // No event is added after an unknown event.
    let running = at(RunState::Running);
    let steps = [asked(2)];
    assert!(one.append("c", 1, &steps, &running).await.is_err());
    assert_eq!(one.head("c").await.unwrap().unwrap().last, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_answered_is_there_after_a_crash() {
    let settings = ["--appendonly", "yes", "--appendfsync", "always"];
    let mut server = RedisServer::start_with(&settings);
    let Both { one, two, .. } = both(&server).await;
    one.begin(&run("a"), &[asked(1)], LONG).await.unwrap();
    one.append("a", 1, &[asked(2)], &at(RunState::Waiting))
        .await
        .unwrap();
    server.kill();
    let away = async |journal: &Arc<dyn Journal>, away: bool| {
        while matches!(journal.health(), Health::Away { .. }) != away {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(LONG, away(&one, true)).await.unwrap();
    let failed = one.head("a").await;
    refused(failed, StoreErrorKind::Unavailable, &[]);
    server.restart();
    timeout(LONG, away(&one, false)).await.unwrap();
    timeout(LONG, away(&two, false)).await.unwrap();
    assert_eq!(written(&one, "a").await, [asked(1), asked(2)]);
    let decided = two.interject("a", 2, &asked(3), &at(RunState::Ready)).await;
    assert!(decided.unwrap());
    assert_eq!(free(&one).await, ["a"]);
}

//! Lists of runs, and the removal of runs.

use std::sync::Arc;
use std::time::Duration;

use quillet_core::journal::{Journal, RunFilter, RunHead, RunSnapshot, RunState};
use quillet_core::store::StoreErrorKind;
use quillet_store::JournalOptions;
use tokio::time::{Instant, sleep};

use super::{Both, LONG, OVER, asked, at, ended, listed, open, refused, run, written};

fn filter() -> RunFilter {
    RunFilter {
        most: 100,
        ..RunFilter::default()
    }
}

pub(super) async fn head_stands(Both { one, two, .. }: Both) {
    assert_eq!(two.head("a").await.unwrap(), None);
    let head = RunHead {
        title: "\"ti\0tle\" ☂".into(),
        scope: String::new().into(),
        forked: Some(("other".into(), 7)),
        created_ms: 1_700_000_000_123,
        // The journal must ignore these fields.
        updated_ms: 5,
        last: 5,
        standing: at(RunState::Ended),
        ..run("a")
    };
    one.begin(&head, &[asked(1)], LONG).await.unwrap();
    let begun = two.head("a").await.unwrap().expect("known");
    assert!(begun.updated_ms > 1_600_000_000_000, "{begun:?}");
    let expected = RunHead {
        updated_ms: begun.updated_ms,
        last: 1,
        standing: at(RunState::Running),
        ..head
    };
    assert_eq!(begun, expected);
    assert_eq!(two.list(&filter()).await.unwrap(), [expected]);
    sleep(Duration::from_millis(5)).await;
    let standing = RunSnapshot::at(RunState::Ready);
    one.append("a", 1, &[asked(2)], &standing).await.unwrap();
    let later = two.head("a").await.unwrap().expect("known");
    assert!(later.updated_ms > begun.updated_ms);
    assert_eq!((later.last, later.standing), (2, standing));
    assert_eq!(later.created_ms, 1_700_000_000_123);
}

pub(super) async fn are_filtered(Both { one, two, .. }: Both) {
    let states = [
        RunState::Running,
        RunState::Waiting,
        RunState::Ready,
        RunState::Ended,
    ];
    for (place, state) in states.into_iter().cycle().take(8).enumerate() {
        let head = RunHead {
            scope: if place < 4 { "ada" } else { "{bob}" }.into(),
            // Runs with equal times are sorted by id.
            created_ms: 100 * (1 + place as u64 / 2),
            ..run(&format!("r{place}"))
        };
        one.begin(&head, &[], LONG).await.unwrap();
        one.append(&head.id, 1, &[], &at(state)).await.unwrap();
    }
    let ids = |places: &[u32]| -> Vec<String> {
        places.iter().map(|place| format!("r{place}")).collect()
    };
    let ada = RunFilter {
        scope: Some("ada".into()),
        ..filter()
    };
    let state = |state| RunFilter {
        state: Some(state),
        ..filter()
    };
    let before = |before_ms| RunFilter {
        before_ms: Some(before_ms),
        ..filter()
    };
    let most = |most| RunFilter { most, ..filter() };
    let cases = [
        (filter(), ids(&[7, 6, 5, 4, 3, 2, 1, 0])),
        (ada.clone(), ids(&[3, 2, 1, 0])),
        (state(RunState::Running), ids(&[4, 0])),
        (state(RunState::Waiting), ids(&[5, 1])),
        (state(RunState::Ready), ids(&[6, 2])),
        (state(RunState::Ended), ids(&[7, 3])),
        (before(400), ids(&[5, 4, 3, 2, 1, 0])),
        (before(201), ids(&[3, 2, 1, 0])),
        (before(100), ids(&[])),
        (before(0), ids(&[])),
        (before(u64::MAX), ids(&[7, 6, 5, 4, 3, 2, 1, 0])),
        (most(3), ids(&[7, 6, 5])),
        (most(0), ids(&[])),
        (most(usize::MAX), ids(&[7, 6, 5, 4, 3, 2, 1, 0])),
        (
            RunFilter {
                scope: Some("ada".into()),
                state: Some(RunState::Waiting),
                before_ms: Some(101),
                most: 1,
            },
            ids(&[1]),
        ),
        (
            RunFilter {
                scope: Some("{bob}".into()),
                state: Some(RunState::Ended),
                ..filter()
            },
            ids(&[7]),
        ),
        (
            RunFilter {
                scope: Some("nobody".into()),
                ..filter()
            },
            ids(&[]),
        ),
    ];
    for (filter, expected) in &cases {
        for journal in [&one, &two] {
            assert_eq!(&listed(journal, filter).await, expected, "{filter:?}");
        }
    }
    // The run moves from list to list.
    assert!(
        two.interject("r1", 0, &asked(1), &at(RunState::Ready))
            .await
            .unwrap()
    );
    assert_eq!(listed(&one, &state(RunState::Ready)).await, ids(&[6, 2, 1]));
    one.claim("r1", LONG).await.unwrap().expect("it is ready");
    assert_eq!(
        listed(&two, &state(RunState::Running)).await,
        ids(&[4, 1, 0])
    );
    one.append("r1", 2, &[ended()], &at(RunState::Ended))
        .await
        .unwrap();
    assert_eq!(listed(&two, &state(RunState::Ended)).await, ids(&[7, 3, 1]));
}

/// More runs than one request of a list reads.
pub(super) async fn of_many(Both { one, two, .. }: Both) {
    let id = |n: u64| format!("r{n:04}");
    for n in 0..400 {
        let head = RunHead {
            // Most runs have the same time, so a page ends between them.
            created_ms: if n < 300 { 7 } else { n },
            scope: if n % 3 == 0 { "ada" } else { "bob" }.into(),
            ..run(&id(n))
        };
        one.begin(&head, &[], LONG).await.unwrap();
        if n % 50 == 0 {
            one.append(&id(n), 1, &[], &at(RunState::Ended))
                .await
                .unwrap();
        }
    }
    let all = RunFilter {
        most: 1000,
        ..RunFilter::default()
    };
    let expected: Vec<String> = (0..400).rev().map(id).collect();
    assert_eq!(listed(&two, &all).await, expected);
    let ended = RunFilter {
        state: Some(RunState::Ended),
        scope: Some("ada".into()),
        ..all.clone()
    };
    let expected: Vec<String> = [300, 150, 0].map(id).into();
    assert_eq!(listed(&two, &ended).await, expected);
    let running = RunFilter {
        state: Some(RunState::Running),
        scope: Some("ada".into()),
        ..all
    };
    let expected = (0..400).rev().filter(|n| n % 3 == 0 && n % 50 != 0);
    let expected: Vec<String> = expected.map(id).collect();
    assert_eq!(listed(&two, &running).await, expected);
}

async fn free(journal: &Arc<dyn Journal>, most: usize) -> Vec<String> {
    let ids = journal.abandoned(most).await.unwrap();
    ids.iter().map(ToString::to_string).collect()
}

pub(super) async fn abandoned(both: Both) {
    let Both { one, two, .. } = &both;
    assert!(free(two, 9).await.is_empty());
    // Ensures that the times differ.
    let pause = || sleep(Duration::from_millis(3));
    both.begun("held", RunState::Running).await;
    both.begun("waiting", RunState::Waiting).await;
    both.begun("ended", RunState::Ended).await;
    one.begin(&run("d"), &[], OVER).await.unwrap();
    pause().await;
    both.begun("c", RunState::Ready).await;
    pause().await;
    both.begun("b", RunState::Waiting).await;
    one.begin(&run("a"), &[], LONG).await.unwrap();
    one.renew("a", 1, OVER).await.unwrap();
    pause().await;
    assert!(
        two.interject("b", 1, &asked(2), &at(RunState::Ready))
            .await
            .unwrap()
    );
    assert_eq!(free(two, 9).await, ["d", "c", "a", "b"]);
    assert_eq!(free(one, 2).await, ["d", "c"]);
    assert!(free(two, 0).await.is_empty());
    assert_eq!(free(one, usize::MAX).await.len(), 4);
    // Further events do not change the position of the run.
    one.append("d", 1, &[asked(1)], &at(RunState::Running))
        .await
        .unwrap();
    assert_eq!(free(two, 9).await, ["d", "c", "a", "b"]);
    pause().await;
    one.renew("d", 1, OVER).await.unwrap();
    assert_eq!(free(two, 9).await, ["c", "a", "b", "d"]);
    two.claim("a", LONG).await.unwrap().expect("it is free");
    pause().await;
    one.claim("c", OVER).await.unwrap().expect("it is free");
    assert_eq!(free(two, 9).await, ["b", "d", "c"]);
    // The list contains all runs, across several pages.
    for n in 0..150 {
        one.begin(&run(&format!("n{n}")), &[], OVER).await.unwrap();
    }
    assert_eq!(free(two, 1000).await.len(), 153);
    assert_eq!(free(two, 140).await.len(), 140);
}

pub(super) async fn removes(both: Both) {
    let Both { one, two, .. } = &both;
    assert!(!two.remove("unknown").await.unwrap());
    for state in [RunState::Running, RunState::Waiting, RunState::Ready] {
        let id = state.as_str();
        both.begun(id, state).await;
        refused(
            two.remove(id).await,
            StoreErrorKind::Conflict,
            &[id, "not ended"],
        );
        assert_eq!(written(one, id).await, [asked(1)]);
    }
    both.begun("ended", RunState::Ended).await;
    assert!(two.remove("ended").await.unwrap());
    assert!(!one.remove("ended").await.unwrap());
    assert_eq!(one.head("ended").await.unwrap(), None);
    assert_eq!(written(one, "ended").await, []);
    let rest = ["waiting", "running", "ready"];
    assert_eq!(listed(one, &filter()).await, rest);
    // Another run may use the id.
    let claim = one.begin(&run("ended"), &[asked(2)], LONG).await.unwrap();
    assert_eq!((claim.epoch, claim.last), (1, 1));
    assert_eq!(written(two, "ended").await, [asked(2)]);
    assert_eq!(listed(two, &filter()).await.len(), 4);
}

pub(super) async fn ended_runs_go(both: Both) {
    let keep = Duration::from_millis(400);
    let options = JournalOptions {
        keep,
        ..JournalOptions::default()
    };
    let journal = open(&both.address, options).await;
    for id in ["a", "b", "waiting"] {
        journal.begin(&run(id), &[asked(1)], LONG).await.unwrap();
    }
    journal
        .append("waiting", 1, &[], &at(RunState::Waiting))
        .await
        .unwrap();
    let before = Instant::now();
    for id in ["a", "b"] {
        journal
            .append(id, 1, &[ended()], &at(RunState::Ended))
            .await
            .unwrap();
    }
    while journal.head("b").await.unwrap().is_some() {
        sleep(Duration::from_millis(10)).await;
    }
    let short = keep.saturating_sub(Duration::from_millis(2));
    assert!(before.elapsed() >= short, "{:?}", before.elapsed());
    assert_eq!(journal.head("a").await.unwrap(), None);
    assert_eq!(written(&journal, "a").await, []);
    assert!(!journal.remove("a").await.unwrap());
    assert_eq!(listed(&journal, &filter()).await, ["waiting"]);
    // The id can be reused.
    journal.begin(&run("a"), &[asked(2)], LONG).await.unwrap();
    assert_eq!(written(&journal, "a").await, [asked(2)]);
    assert_eq!(listed(&journal, &filter()).await, ["waiting", "a"]);
}

pub(super) async fn odd_ids(Both { one, two, .. }: Both) {
    let odd = [
        "{a}", "a}", "{", "}:steps", "a:b", "*", "☂", "%7B", "a", "A",
    ];
    for id in odd {
        let head = RunHead {
            scope: id.into(),
            ..run(id)
        };
        one.begin(&head, &[], LONG).await.unwrap();
    }
    for id in odd {
        let of = RunFilter {
            scope: Some(id.into()),
            ..filter()
        };
        assert_eq!(listed(&two, &of).await, [id]);
        assert_eq!(&*two.head(id).await.unwrap().expect("known").id, id);
    }
    for id in ["", "a\nb", &"x".repeat(10_000)] {
        let wrong = StoreErrorKind::Refused;
        let (ready, running) = (at(RunState::Ready), at(RunState::Running));
        refused(one.begin(&run(id), &[], LONG).await, wrong, &["run id"]);
        refused(one.claim(id, LONG).await, wrong, &["run id"]);
        refused(one.renew(id, 1, LONG).await, wrong, &["run id"]);
        refused(one.append(id, 1, &[], &running).await, wrong, &["run id"]);
        refused(
            one.interject(id, 1, &ended(), &ready).await,
            wrong,
            &["run id"],
        );
        refused(one.head(id).await, wrong, &["run id"]);
        refused(one.read(id, 0, 1).await, wrong, &["run id"]);
        refused(one.remove(id).await, wrong, &["run id"]);
    }
}

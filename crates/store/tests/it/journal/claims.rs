//! Ownership of runs, and its transfer.

use std::time::Duration;

use futures_util::future::join;
use quillet_core::journal::{Claim, Decision, JournalEvent, RunState};
use quillet_core::store::StoreErrorKind;
use tokio::time::{Instant, sleep};

use super::{Both, LONG, OVER, asked, at, ended, refused, run, written};

pub(super) async fn begins_once(Both { one, two, .. }: Both) {
    let steps = [asked(1), asked(2)];
    let claim = one.begin(&run("a"), &steps, LONG).await.unwrap();
    assert_eq!(claim, Claim { epoch: 1, last: 2 });
    for journal in [&one, &two] {
        let again = journal.begin(&run("a"), &[asked(9)], LONG).await;
        refused(again, StoreErrorKind::Conflict, &["\"a\"", "another id"]);
        assert_eq!(written(journal, "a").await, steps);
    }
    let claim = two.begin(&run("b"), &[], LONG).await.unwrap();
    assert_eq!(claim, Claim { epoch: 1, last: 0 });
    assert_eq!(written(&one, "b").await, []);
    // A run that has ended still exists.
    two.append("b", 1, &[ended()], &at(RunState::Ended))
        .await
        .unwrap();
    let again = one.begin(&run("b"), &[], LONG).await;
    refused(again, StoreErrorKind::Conflict, &["\"b\""]);
}

pub(super) async fn fences(Both { one, two, .. }: Both) {
    let first = one.begin(&run("a"), &[asked(1)], OVER).await.unwrap();
    let running = at(RunState::Running);
    let steps = [asked(2), asked(3)];
    let last = one.append("a", first.epoch, &steps, &running).await;
    assert_eq!(last.unwrap(), 3, "nobody else has claimed it yet");
    let second = two.claim("a", LONG).await.unwrap().expect("it is free");
    assert_eq!(second, Claim { epoch: 2, last: 3 });
    for standing in [&running, &at(RunState::Waiting), &at(RunState::Ended)] {
        let late = one.append("a", first.epoch, &[asked(4)], standing).await;
        refused(
            late,
            StoreErrorKind::Conflict,
            &["\"a\"", "another process"],
        );
    }
    assert_eq!(written(&one, "a").await, [asked(1), asked(2), asked(3)]);
    let head = two.head("a").await.unwrap().expect("known");
    assert_eq!((head.standing, head.last), (running.clone(), 3));
    let last = two.append("a", second.epoch, &[asked(4)], &running).await;
    assert_eq!(last.unwrap(), 4);
    let early = two.append("a", 3, &[asked(5)], &running).await;
    refused(early, StoreErrorKind::Conflict, &["\"a\""]);
    let unknown = two.append("b", 1, &[asked(1)], &running).await;
    refused(unknown, StoreErrorKind::Conflict, &["\"b\""]);
    assert!(two.head("b").await.unwrap().is_none());
    // A process that has released the run no longer owns it, and an ended run cannot be changed.
    two.append("a", 2, &[], &at(RunState::Waiting))
        .await
        .unwrap();
    assert!(two.append("a", 2, &[], &running).await.is_err());
    assert!(
        one.interject("a", 4, &ended(), &at(RunState::Ended))
            .await
            .unwrap()
    );
    assert!(two.append("a", 2, &[], &running).await.is_err());
    assert!(two.append("a", 2, &[], &at(RunState::Ended)).await.is_err());
}

pub(super) async fn claims(both: Both) {
    let Both { one, two, .. } = &both;
    for (id, state) in [
        ("running", RunState::Running),
        ("waiting", RunState::Waiting),
        ("ended", RunState::Ended),
    ] {
        both.begun(id, state).await;
        for journal in [one, two] {
            assert_eq!(journal.claim(id, LONG).await.unwrap(), None, "{id}");
        }
    }
    assert_eq!(two.claim("unknown", LONG).await.unwrap(), None);
    both.begun("ready", RunState::Ready).await;
    let claim = two.claim("ready", LONG).await.unwrap();
    assert_eq!(claim, Some(Claim { epoch: 2, last: 1 }));
    assert_eq!(one.claim("ready", LONG).await.unwrap(), None);
    let head = one.head("ready").await.unwrap().expect("known");
    assert_eq!(head.standing, at(RunState::Running));
}

pub(super) async fn leases_run_out(Both { one, two, .. }: Both) {
    let lease = Duration::from_millis(300);
    let start = Instant::now();
    one.begin(&run("a"), &[], lease).await.unwrap();
    let claim = loop {
        if let Some(claim) = two.claim("a", LONG).await.unwrap() {
            break claim;
        }
        sleep(Duration::from_millis(10)).await;
    };
    assert_eq!(claim.epoch, 2);
    // Redis and SQLite use whole milliseconds.
    let short = lease.saturating_sub(Duration::from_millis(2));
    assert!(start.elapsed() >= short, "{:?}", start.elapsed());
    // An unlimited lease can also be stored.
    one.begin(&run("b"), &[], Duration::MAX).await.unwrap();
    assert!(one.renew("b", 1, Duration::MAX).await.unwrap());
    assert_eq!(two.claim("b", LONG).await.unwrap(), None);
}

pub(super) async fn one_gets_it(Both { one, two, .. }: Both) {
    for round in 0..20 {
        let id = format!("a{round}");
        one.begin(&run(&id), &[], OVER).await.unwrap();
        let claims = join(one.claim(&id, LONG), two.claim(&id, LONG)).await;
        let claims = [claims.0.unwrap(), claims.1.unwrap()];
        assert_eq!(claims.iter().flatten().count(), 1, "{claims:?}");
    }
}

pub(super) async fn renews(Both { one, two, .. }: Both) {
    one.begin(&run("a"), &[], OVER).await.unwrap();
    assert!(one.renew("a", 1, LONG).await.unwrap());
    assert_eq!(two.claim("a", LONG).await.unwrap(), None);
    assert!(one.renew("a", 1, OVER).await.unwrap());
    assert_eq!(two.claim("a", OVER).await.unwrap().unwrap().epoch, 2);
    assert!(!one.renew("a", 1, LONG).await.unwrap(), "it is fenced");
    assert!(!one.renew("a", 3, LONG).await.unwrap());
    assert!(!one.renew("unknown", 1, LONG).await.unwrap());
    let claim = two.claim("a", LONG).await.unwrap();
    assert_eq!(claim.unwrap().epoch, 3, "a fenced owner renews nothing");
    for state in [RunState::Waiting, RunState::Ready, RunState::Ended] {
        let id = state.as_str();
        one.begin(&run(id), &[], LONG).await.unwrap();
        one.append(id, 1, &[], &at(state)).await.unwrap();
        assert!(!one.renew(id, 1, LONG).await.unwrap(), "{id}");
    }
}

fn decided(call: &str) -> JournalEvent {
    JournalEvent::Decided {
        call: call.into(),
        decision: Decision::Deny { note: None },
        by: "ada".into(),
    }
}

pub(super) async fn interjects(both: Both) {
    let Both { one, two, .. } = &both;
    let (waiting, ready) = (at(RunState::Waiting), at(RunState::Ready));
    for (id, state, lease) in [
        ("running", RunState::Running, LONG),
        ("left", RunState::Running, OVER),
        ("ended", RunState::Ended, LONG),
    ] {
        one.begin(&run(id), &[asked(1)], lease).await.unwrap();
        one.append(id, 1, &[], &at(state)).await.unwrap();
        let done = two.interject(id, 1, &decided("c"), &ready).await;
        assert!(!done.unwrap(), "{id}");
        assert_eq!(written(one, id).await, [asked(1)]);
    }
    let unknown = two.interject("unknown", 0, &decided("c"), &ready).await;
    assert!(!unknown.unwrap());

    both.begun("a", RunState::Waiting).await;
    for stale in [0, 2, u64::MAX] {
        let done = two.interject("a", stale, &decided("c"), &ready).await;
        assert!(!done.unwrap(), "{stale}");
    }
    assert!(
        two.interject("a", 1, &decided("c"), &waiting)
            .await
            .unwrap()
    );
    assert!(!one.interject("a", 1, &decided("d"), &ready).await.unwrap());
    assert_eq!(one.claim("a", LONG).await.unwrap(), None, "it waits on");
    assert!(one.interject("a", 2, &decided("d"), &ready).await.unwrap());
    assert!(two.interject("a", 3, &decided("e"), &ready).await.unwrap());
    let steps = [asked(1), decided("c"), decided("d"), decided("e")];
    assert_eq!(written(two, "a").await, steps);
    let claim = two.claim("a", LONG).await.unwrap();
    assert_eq!(claim, Some(Claim { epoch: 2, last: 4 }));
    let late = one.interject("a", 4, &decided("f"), &waiting).await;
    assert!(!late.unwrap());

    // Only a claim can set a run to running.
    both.begun("b", RunState::Waiting).await;
    let (step, running) = (decided("c"), at(RunState::Running));
    let wrong = two.interject("b", 1, &step, &running).await;
    refused(wrong, StoreErrorKind::Refused, &["\"b\""]);
    assert!(
        two.interject("b", 1, &ended(), &at(RunState::Ended))
            .await
            .unwrap()
    );
    let head = one.head("b").await.unwrap().expect("known");
    assert_eq!(head.standing, at(RunState::Ended));
}

pub(super) async fn one_decides(both: Both) {
    let Both { one, two, .. } = &both;
    for round in 0..20 {
        let id = format!("a{round}");
        both.begun(&id, RunState::Waiting).await;
        let (c, d, ready) = (decided("c"), decided("d"), at(RunState::Ready));
        let done = join(
            one.interject(&id, 1, &c, &ready),
            two.interject(&id, 1, &d, &ready),
        );
        let done = done.await;
        let done = [done.0.unwrap(), done.1.unwrap()];
        let steps = match done {
            [true, false] => [asked(1), c],
            [false, true] => [asked(1), d],
            _ => panic!("exactly one: {done:?}"),
        };
        assert_eq!(written(one, &id).await, steps);
    }
}

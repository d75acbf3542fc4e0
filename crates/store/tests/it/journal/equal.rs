//! All journals return the same results as the model for any sequence of operations.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quillet_core::journal::{
    ApprovalReason, Decision, Journal, JournalEvent, PendingApproval, RunFilter, RunHead,
    RunSnapshot, RunState,
};
use quillet_core::store::StoreErrorKind;
use quillet_store::JournalOptions;
use quillet_test_support::{RedisServer, TempDir};
use tokio::runtime::Runtime;

use super::model::{MOST, Model};
use super::{LONG, OVER, open, run};

/// An operation. Epochs and event numbers are relative to the latest ones.
#[derive(Clone, Debug)]
enum Deed {
    Begin(String, u64, String, Vec<JournalEvent>, bool),
    Claim(String, bool),
    Renew(String, u64, bool),
    Append(String, u64, Vec<JournalEvent>, RunSnapshot),
    Interject(String, u64, JournalEvent, RunSnapshot),
    Head(String),
    Read(String, u64, usize),
    List(RunFilter),
    Abandoned,
    Remove(String),
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof![
        20 => "[abc]",
        4 => "[{}:%]{1,2}",
        2 => Just("☂".to_owned()),
        1 => Just(String::new()),
    ]
}

fn scope() -> impl Strategy<Value = String> {
    prop_oneof!["[xy]", "[{}]", Just(String::new())]
}

/// Usually selects the latest one.
fn beside() -> impl Strategy<Value = u64> {
    prop_oneof![8 => Just(1), 1 => Just(0), 1 => Just(2)]
}

fn is_over() -> impl Strategy<Value = bool> {
    any::<bool>()
}

fn state() -> impl Strategy<Value = RunState> {
    prop_oneof![
        4 => Just(RunState::Running),
        3 => Just(RunState::Waiting),
        2 => Just(RunState::Ready),
        1 => Just(RunState::Ended),
    ]
}

fn standing() -> impl Strategy<Value = RunSnapshot> {
    let waiting = (any::<String>(), option::of(any::<u64>()));
    let waiting = waiting.prop_map(|(call, expires_ms)| PendingApproval {
        call: call.into(),
        tool: "t".into(),
        arguments: serde_json::Map::new(),
        why: ApprovalReason::Permission,
        expires_ms,
    });
    (state(), vec(waiting, 0..2)).prop_map(|(state, waiting)| RunSnapshot { state, waiting })
}

fn step() -> impl Strategy<Value = JournalEvent> {
    let number = prop_oneof![
        any::<i64>().prop_map(serde_json::Value::from),
        any::<u64>().prop_map(serde_json::Value::from),
        any::<f64>().prop_map(serde_json::Value::from),
    ];
    prop_oneof![
        (any::<String>(), any::<String>()).prop_map(|(call, text)| JournalEvent::Decided {
            call: call.into(),
            decision: Decision::Result { text },
            by: "b".into(),
        }),
        vec(number, 0..4).prop_map(|setup| JournalEvent::Prepared {
            setup: setup.into(),
        }),
        any::<u32>().prop_map(super::asked),
    ]
}

fn filter() -> impl Strategy<Value = RunFilter> {
    let times = option::of(0_u64..6);
    (option::of(scope()), option::of(state()), times, 0_usize..5).prop_map(
        |(scope, state, before_ms, most)| RunFilter {
            scope: scope.map(Arc::from),
            state,
            before_ms,
            most,
        },
    )
}

fn deed() -> impl Strategy<Value = Deed> {
    let begin = (id(), 0_u64..5, scope(), vec(step(), 0..4), is_over());
    prop_oneof![
        5 => begin.prop_map(|(id, at, scope, steps, over)| Deed::Begin(id, at, scope, steps, over)),
        4 => (id(), is_over()).prop_map(|(id, over)| Deed::Claim(id, over)),
        2 => (id(), beside(), is_over()).prop_map(|(id, epoch, over)| Deed::Renew(id, epoch, over)),
        8 => (id(), beside(), vec(step(), 0..4), standing())
            .prop_map(|(id, epoch, steps, standing)| Deed::Append(id, epoch, steps, standing)),
        5 => (id(), beside(), step(), standing())
            .prop_map(|(id, last, step, standing)| Deed::Interject(id, last, step, standing)),
        2 => id().prop_map(Deed::Head),
        3 => (id(), 0_u64..9, 0_usize..9).prop_map(|(id, after, most)| Deed::Read(id, after, most)),
        4 => filter().prop_map(Deed::List),
        3 => Just(Deed::Abandoned),
        2 => id().prop_map(Deed::Remove),
    ]
}

impl Deed {
    /// Replaces relative numbers with absolute ones.
    fn told(self, model: &Model) -> Self {
        let number = |latest: u64, beside: u64| (latest + beside).saturating_sub(1);
        match self {
            Deed::Renew(id, epoch, over) => {
                let epoch = number(model.latest(&id).0, epoch);
                Deed::Renew(id, epoch, over)
            }
            Deed::Append(id, epoch, steps, standing) => {
                let epoch = number(model.latest(&id).0, epoch);
                Deed::Append(id, epoch, steps, standing)
            }
            Deed::Interject(id, last, step, standing) => {
                let last = number(model.latest(&id).1, last);
                Deed::Interject(id, last, step, standing)
            }
            other => other,
        }
    }
}

/// Removes the times from a head.
fn timeless(head: RunHead) -> RunHead {
    RunHead {
        updated_ms: 0,
        ..head
    }
}

fn said<T: std::fmt::Debug>(
    result: Result<T, quillet_core::store::StoreError>,
) -> Result<String, StoreErrorKind> {
    match result {
        Ok(value) => Ok(format!("{value:?}")),
        Err(error) => Err(error.kind),
    }
}

async fn answer(journal: &dyn Journal, deed: &Deed) -> Result<String, StoreErrorKind> {
    let lease = |over: &bool| if *over { OVER } else { LONG };
    match deed {
        Deed::Begin(id, created_ms, scope, steps, over) => {
            let head = RunHead {
                created_ms: *created_ms,
                scope: scope.as_str().into(),
                ..run(id)
            };
            said(journal.begin(&head, steps, lease(over)).await)
        }
        Deed::Claim(id, over) => said(journal.claim(id, lease(over)).await),
        Deed::Renew(id, epoch, over) => said(journal.renew(id, *epoch, lease(over)).await),
        Deed::Append(id, epoch, steps, standing) => {
            said(journal.append(id, *epoch, steps, standing).await)
        }
        Deed::Interject(id, last, step, standing) => {
            said(journal.interject(id, *last, step, standing).await)
        }
        Deed::Head(id) => said(journal.head(id).await.map(|head| head.map(timeless))),
        Deed::Read(id, after, most) => {
            let entries = journal.read(id, *after, *most).await;
            said(entries.map(|entries| {
                let entries = entries.into_iter();
                let entry = entries.map(|entry| (entry.number, entry.step));
                entry.collect::<Vec<_>>()
            }))
        }
        Deed::List(filter) => {
            let heads = journal.list(filter).await;
            said(heads.map(|heads| heads.into_iter().map(timeless).collect::<Vec<_>>()))
        }
        Deed::Abandoned => {
            // Runs with equal times have no defined order.
            said(journal.abandoned(99).await.map(|mut ids| {
                ids.sort_unstable();
                ids
            }))
        }
        Deed::Remove(id) => said(journal.remove(id).await),
    }
}

#[test]
fn all_journals_say_what_the_model_says() {
    let (server, dir) = (RedisServer::start(), TempDir::new());
    let runtime = Runtime::new().unwrap();
    let config = Config {
        cases: 96,
        failure_persistence: None,
        ..Config::default()
    };
    let options = JournalOptions {
        max_steps: MOST as u64,
        ..JournalOptions::default()
    };
    let round = AtomicU32::new(0);
    TestRunner::new(config)
        .run(&vec(deed(), 1..60), |deeds| {
            let round = round.fetch_add(1, Ordering::Relaxed);
            let file = format!("sqlite:{}/{round}.db", dir.path().display());
            let redis = format!("{}?prefix=r{round}:", server.url());
            runtime.block_on(async {
                let mut all: BTreeMap<String, Vec<Arc<dyn Journal>>> = BTreeMap::new();
                for (address, clients) in [("sqlite::memory:", 1), (&file, 2), (&redis, 2)] {
                    let journals = all.entry(address.to_owned()).or_default();
                    for _ in 0..clients {
                        journals.push(open(address, options.clone()).await);
                    }
                }
                let model = Model::default();
                for (turn, deed) in deeds.into_iter().enumerate() {
                    let deed = deed.told(&model);
                    let expected = answer(&model, &deed).await;
                    for (address, journals) in &all {
                        // The processes alternate.
                        let journal = &journals[turn % journals.len()];
                        let got = answer(&**journal, &deed).await;
                        prop_assert_eq!(&got, &expected, "{:?} on {}", &deed, address);
                    }
                }
                Ok(())
            })
        })
        .unwrap();
}

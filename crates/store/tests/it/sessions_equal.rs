//! All session stores return the same results for any sequence of operations.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quillet_core::session::{Sessions, StoredMessage};
use quillet_core::{Message, Role, ToolCall};
use quillet_store::{SessionOptions, open_sessions};
use quillet_test_support::RedisServer;
use tokio::runtime::Runtime;

use crate::support::patient;

#[derive(Clone, Debug)]
enum Step {
    Append(String, Vec<StoredMessage>),
    Load(String, usize),
    Remove(String),
    Count,
}

fn id() -> impl Strategy<Value = String> {
    prop_oneof!["[abc]", "[{}:%a]{1,3}", Just("☂".to_owned())]
}

fn turn() -> impl Strategy<Value = StoredMessage> {
    let call = ("[a-z]{0,3}", any::<String>()).prop_map(|(name, arguments)| ToolCall {
        id: "c".into(),
        name,
        arguments,
    });
    let message = (
        any::<String>(),
        vec(call, 0..2),
        proptest::option::of(any::<String>()),
    );
    let message = message.prop_map(|(text, tool_calls, reasoning)| Message {
        tool_calls,
        reasoning,
        ..Message::new(Role::Assistant, text)
    });
    (message, any::<bool>(), "[a-z]{1,4}", any::<u64>()).prop_map(
        |(message, partial, id, created_ms)| StoredMessage {
            id,
            created_ms,
            message,
            loaded_skills: Vec::new(),
            partial,
        },
    )
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (id(), vec(turn(), 0..6)).prop_map(|(id, turns)| Step::Append(id, turns)),
        4 => (id(), 0_usize..9).prop_map(|(id, most)| Step::Load(id, most)),
        1 => id().prop_map(Step::Remove),
        1 => Just(Step::Count),
    ]
}

async fn answer(sessions: &Arc<dyn Sessions>, step: &Step) -> String {
    match step {
        Step::Append(id, turns) => {
            let done = sessions.append(id, turns).await;
            format!("{:?}", done.map_err(|error| error.kind))
        }
        Step::Load(id, most) => format!("{:?}", sessions.load(id, *most).await.unwrap()),
        Step::Remove(id) => sessions.remove(id).await.unwrap().to_string(),
        Step::Count => {
            let list = sessions.list(99).await.unwrap();
            let mut list: Vec<_> = list.iter().map(|info| (&*info.id, info.messages)).collect();
            // Sessions with equal times have no defined order.
            list.sort_unstable();
            format!("{list:?}")
        }
    }
}

#[test]
fn memory_sqlite_and_redis_say_the_same() {
    let server = RedisServer::start();
    let runtime = Runtime::new().unwrap();
    let config = Config {
        cases: 48,
        failure_persistence: None,
        ..Config::default()
    };
    let options = SessionOptions {
        max_messages: 8,
        max_session_bytes: 1500,
        ..SessionOptions::default()
    };
    // Each case uses separate keys.
    let round = AtomicU32::new(0);
    TestRunner::new(config)
        .run(&vec(step(), 1..25), |steps| {
            let round = round.fetch_add(1, Ordering::Relaxed);
            let redis = format!("{}?prefix=r{round}:", server.url());
            runtime.block_on(async {
                let mut all = Vec::new();
                for address in ["memory:", "sqlite::memory:", &redis] {
                    all.push(open_sessions(address, &patient(), &options).await.unwrap());
                }
                for step in &steps {
                    let expected = answer(&all[0], step).await;
                    for other in &all[1..] {
                        let got = answer(other, step).await;
                        prop_assert_eq!(&got, &expected, "{:?} on {}", step, other.describe());
                    }
                }
                Ok(())
            })
        })
        .unwrap();
}

//! Events are read back unchanged, within limits.

use std::sync::Arc;

use quillet_core::chat::{ChatEvent, FinishReason, ModelErrorKind, Usage};
use quillet_core::journal::{
    ApprovalReason, Decision, Journal, JournalEvent, PendingApproval, RecordedFailure,
    RecordedOutput, RunSnapshot, RunState,
};
use quillet_core::store::StoreErrorKind;
use quillet_core::tool::{Idempotency, ToolErrorKind};
use quillet_core::{MediaUrl, NativeTurn};
use quillet_store::JournalOptions;
use serde_json::{Map, Value as Json, json};

use super::{Both, LONG, asked, at, ended, open, refused, run, written};

/// Texts that are often corrupted by conversions.
const ODD: &[&str] = &[
    "",
    "\0\u{1}\u{7f}\u{80}\u{9f}",
    "\r\n\t\u{2028}\u{2029}\u{feff}",
    "\"\\\\u0041{{.a}} %s $1 {id} KEYS[1] '; DROP TABLE steps; --",
    "e\u{301} é ☂️ 👩‍👩‍👧‍👦 𝕏 \u{10ffff} \u{202e}abc",
    "订单 ประโยค مرحبا",
];

fn numbers() -> Json {
    json!([
        0,
        -1,
        1.5,
        -0.0,
        0.1,
        1e300,
        5e-324,
        2.2250738585072014e-308,
        1e21,
        9007199254740993_u64,
        u64::MAX,
        i64::MIN,
        12345678901234567_i64,
        0.30000000000000004
    ])
}

fn object() -> Map<String, Json> {
    let mut object = Map::new();
    for (place, text) in ODD.iter().enumerate() {
        object.insert((*text).to_owned(), json!([text, place]));
    }
    // Members keep their order.
    object.insert("z".to_owned(), numbers());
    object.insert(
        "a".to_owned(),
        json!({"step": "ended", "number": 7, "at_ms": null}),
    );
    object
}

fn waiting() -> Vec<PendingApproval> {
    let waiting = |call: &str, why, expires_ms| PendingApproval {
        call: call.into(),
        tool: ODD[4].into(),
        arguments: object(),
        why,
        expires_ms,
    };
    vec![
        waiting("c1", ApprovalReason::Permission, Some(u64::MAX)),
        waiting("c2", ApprovalReason::Unknown, None),
    ]
}

fn events() -> Vec<ChatEvent> {
    let text = ODD.concat();
    vec![
        ChatEvent::Start {
            id: text.clone(),
            model: "m".to_owned(),
            created: u64::MAX,
        },
        ChatEvent::Text {
            choice: 0,
            text: text.clone(),
        },
        ChatEvent::Reasoning {
            choice: u32::MAX,
            text: text.clone(),
        },
        ChatEvent::Refusal {
            choice: 1,
            text: String::new(),
        },
        ChatEvent::ToolCall {
            choice: 0,
            index: 1,
            id: Some("c1".to_owned()),
            name: Some(text.clone()),
            arguments: "{\"a\": 1.50".to_owned(),
        },
        ChatEvent::ToolCall {
            choice: 0,
            index: 1,
            id: None,
            name: None,
            arguments: "0000000000000000000001}".to_owned(),
        },
        ChatEvent::Native {
            choice: 0,
            turn: NativeTurn {
                wire: "anthropic".to_owned(),
                model: Some("m".to_owned()),
                content: json!([object(), {"type": "thinking", "signature": text}]),
            },
        },
        ChatEvent::Finish {
            choice: 0,
            reason: FinishReason::ToolCalls,
            raw: "tool_use".to_owned(),
        },
        ChatEvent::Usage(Usage {
            input_tokens: u64::MAX,
            output_tokens: 1,
            ..Usage::default()
        }),
    ]
}

/// One event of each kind, with variants of some kinds.
fn all() -> Vec<JournalEvent> {
    let (text, picture) = (ODD.concat(), "data:image/png;base64,AAAA");
    let decided = |decision| JournalEvent::Decided {
        call: "c1".into(),
        decision,
        by: ODD[5].into(),
    };
    vec![
        JournalEvent::Admitted {
            request: json!({"type": "agent", "numbers": numbers(), "object": object()}),
        },
        JournalEvent::Prepared { setup: numbers() },
        asked(u32::MAX),
        JournalEvent::Answered {
            turn: 1,
            events: events(),
        },
        JournalEvent::Unanswered {
            turn: 2,
            kind: ModelErrorKind::Overloaded,
            message: text.clone(),
        },
        JournalEvent::Called {
            call: "c1".into(),
            tool: text.as_str().into(),
            arguments: object(),
            repeat: Idempotency::WithKey,
        },
        JournalEvent::Returned {
            call: "c1".into(),
            result: Ok(RecordedOutput {
                value: "{\"n\": 1.2300e+05, \"big\": 123456789012345678901234567890}".to_owned(),
                images: vec![MediaUrl {
                    url: picture.to_owned(),
                    detail: Some("low".to_owned()),
                }],
            }),
        },
        JournalEvent::Returned {
            call: "c2".into(),
            result: Err(RecordedFailure {
                kind: ToolErrorKind::Remote,
                message: text.clone(),
                for_model: String::new(),
            }),
        },
        JournalEvent::Parked { waiting: waiting() },
        decided(Decision::Approve {
            arguments: Some(object()),
            note: Some(text.clone()),
        }),
        decided(Decision::Approve {
            arguments: None,
            note: None,
        }),
        decided(Decision::Deny {
            note: Some(String::new()),
        }),
        decided(Decision::Result { text: text.clone() }),
        JournalEvent::TakenOver { by: ODD[4].into() },
        JournalEvent::Ended {
            how: "error".into(),
            error: Some(text.clone()),
            text,
        },
    ]
}

/// Compares events as values and as JSON, which also shows differences in numbers and the order of
/// members.
fn equal(read: &[JournalEvent], written: &[JournalEvent]) {
    let texts = |steps: &[JournalEvent]| -> Vec<String> {
        let text = |step| serde_json::to_string(step).unwrap();
        steps.iter().map(text).collect()
    };
    assert_eq!(texts(read), texts(written));
    assert_eq!(read, written);
}

pub(super) async fn come_back(Both { one, two, .. }: Both) {
    let all = all();
    one.begin(&run("a"), &all, LONG).await.unwrap();
    equal(&written(&two, "a").await, &all);
    for step in &all {
        let one_step = std::slice::from_ref(step);
        one.append("a", 1, one_step, &at(RunState::Running))
            .await
            .unwrap();
    }
    let twice = [&all[..], &all[..]].concat();
    equal(&written(&two, "a").await, &twice);
    let standing = RunSnapshot {
        state: RunState::Waiting,
        waiting: waiting(),
    };
    one.append("a", 1, &[], &standing).await.unwrap();
    let head = two.head("a").await.unwrap().expect("known");
    assert_eq!(head.standing, standing);
    assert_eq!(
        serde_json::to_string(&head.standing).unwrap(),
        serde_json::to_string(&standing).unwrap()
    );
}

pub(super) async fn come_in_pages(Both { one, two, .. }: Both) {
    let steps: Vec<JournalEvent> = (1..=23).map(asked).collect();
    one.begin(&run("a"), &steps[..20], LONG).await.unwrap();
    one.append("a", 1, &steps[20..], &at(RunState::Running))
        .await
        .unwrap();
    for most in [1, 2, 7, 22, 23, 24, 1000] {
        let (mut found, mut after) = (Vec::new(), 0);
        loop {
            let page = two.read("a", after, most).await.unwrap();
            assert!(page.len() <= most);
            let Some(last) = page.last() else { break };
            assert_eq!(last.number, after + page.len() as u64);
            after = last.number;
            found.extend(page.into_iter().map(|entry| entry.step));
        }
        assert_eq!(found, steps, "{most} at a time");
    }
    assert_eq!(two.read("a", 0, 0).await.unwrap(), []);
    for after in [23, 24, u64::MAX] {
        assert_eq!(two.read("a", after, 9).await.unwrap(), [], "after {after}");
    }
    assert_eq!(two.read("unknown", 0, 9).await.unwrap(), []);
    let times: Vec<u64> = two
        .read("a", 0, 99)
        .await
        .unwrap()
        .iter()
        .map(|it| it.at_ms)
        .collect();
    assert!(
        times.is_sorted() && times[0] > 1_600_000_000_000,
        "{times:?}"
    );
}

pub(super) async fn may_be_large(Both { one, two, .. }: Both) {
    let large = |n: usize| JournalEvent::Returned {
        call: "c".into(),
        result: Ok(RecordedOutput {
            value: format!("{n}{}", "☂\"x".repeat(1 << 18)),
            images: Vec::new(),
        }),
    };
    // These events are more data than one reply of Redis contains, and many of them are small.
    let mut steps: Vec<JournalEvent> = (0..12).map(large).collect();
    steps.extend((0..1100).map(asked));
    one.begin(&run("a"), &steps[..1], LONG).await.unwrap();
    for step in steps[1..12].chunks(3) {
        one.append("a", 1, step, &at(RunState::Running))
            .await
            .unwrap();
    }
    one.append("a", 1, &steps[12..], &at(RunState::Running))
        .await
        .unwrap();
    equal(&written(&two, "a").await, &steps);
    let page = two.read("a", 5, 700).await.unwrap();
    assert_eq!((page.len(), page[0].number), (700, 6));
}

pub(super) async fn are_limited(both: Both) {
    let options = JournalOptions {
        max_step_bytes: 200,
        max_steps: 5,
        ..JournalOptions::default()
    };
    let journal: Arc<dyn Journal> = open(&both.address, options).await;
    let running = at(RunState::Running);
    let large = [
        asked(1),
        JournalEvent::TakenOver {
            by: "x".repeat(200).into(),
        },
    ];
    let parts = [
        "\"a\"",
        "taken_over",
        "bytes",
        "200",
        "agent.journal_step_bytes",
    ];
    let too_large = journal.begin(&run("a"), &large, LONG).await;
    refused(too_large, StoreErrorKind::Refused, &parts);
    assert!(journal.head("a").await.unwrap().is_none());

    let many: Vec<JournalEvent> = (1..=6).map(asked).collect();
    let parts = ["\"a\"", "6 more", "5", "agent.journal_steps"];
    let too_many = journal.begin(&run("a"), &many, LONG).await;
    refused(too_many, StoreErrorKind::Refused, &parts);
    assert!(journal.head("a").await.unwrap().is_none());

    journal.begin(&run("a"), &many[..3], LONG).await.unwrap();
    let too_large = journal.append("a", 1, &large, &running).await;
    refused(too_large, StoreErrorKind::Refused, &["taken_over", "200"]);
    let parts = ["3 written", "3 more", "5", "agent.journal_steps"];
    let too_many = journal.append("a", 1, &many[..3], &running).await;
    refused(too_many, StoreErrorKind::Refused, &parts);
    assert_eq!(written(&journal, "a").await, many[..3]);

    assert_eq!(
        journal.append("a", 1, &many[3..5], &running).await.unwrap(),
        5
    );
    let one_more = journal
        .append("a", 1, &many[..1], &at(RunState::Waiting))
        .await;
    refused(
        one_more,
        StoreErrorKind::Refused,
        &["5 written", "agent.journal_steps"],
    );
    // The list of pending calls has the same size limit as an event.
    let standing = RunSnapshot {
        state: RunState::Waiting,
        waiting: waiting(),
    };
    let too_large = journal.append("a", 1, &[], &standing).await;
    refused(too_large, StoreErrorKind::Refused, &["parked", "200"]);
    journal
        .append("a", 1, &[], &at(RunState::Waiting))
        .await
        .unwrap();
    let one_more = journal
        .interject("a", 5, &asked(6), &at(RunState::Ready))
        .await;
    refused(
        one_more,
        StoreErrorKind::Refused,
        &["5 written", "agent.journal_steps"],
    );
    // A run at its limit can still end.
    assert!(
        journal
            .interject("a", 5, &ended(), &at(RunState::Ended))
            .await
            .unwrap()
    );
    assert_eq!(written(&journal, "a").await.len(), 6);
}

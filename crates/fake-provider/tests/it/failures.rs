//! Each injected fault has exactly its intended effect.

use std::io::{ErrorKind, Read};
use std::time::Duration;

use quillet_fake_provider::{
    ConnectionEnd, ErrorResponse, FakeProvider, InjectedFault, ProviderApi, ReplyScript,
    ScriptedReply,
};

use crate::client::{ask, request, send};

fn failing(fault: InjectedFault) -> FakeProvider {
    FakeProvider::start(ReplyScript::turns([ScriptedReply::failing(fault)]))
}

#[test]
fn every_refusal_has_its_status_on_every_wire() {
    let wait = Some(Duration::from_secs(17));
    for (refusal, statuses) in [
        (ErrorResponse::RateLimited(wait), [429, 429, 429, 429]),
        (ErrorResponse::Quota, [429, 429, 402, 429]),
        (ErrorResponse::Server, [500; 4]),
        (ErrorResponse::Overloaded, [503, 503, 529, 503]),
        (ErrorResponse::Auth, [401, 401, 401, 400]),
        (ErrorResponse::Forbidden, [403; 4]),
        (ErrorResponse::NotFound, [404; 4]),
        (ErrorResponse::ContextLength, [400; 4]),
        (ErrorResponse::Invalid, [400; 4]),
        (ErrorResponse::Html, [502; 4]),
        (ErrorResponse::of_status(418), [418; 4]),
    ] {
        let provider = failing(InjectedFault::Refuse(refusal.clone()));
        for (wire, status) in ProviderApi::ALL.into_iter().zip(statuses) {
            let answer = ask(&provider, wire, "m", true);
            assert_eq!(answer.status, status, "{refusal:?} on {wire:?}");
            assert!(answer.whole && answer.error.is_none(), "{answer:?}");
            if let ErrorResponse::RateLimited(_) = refusal {
                let told = answer.head.contains("retry-after: 17");
                let in_body = answer.body.contains(r#""retryDelay":"17s""#);
                assert_eq!(
                    (told, in_body),
                    (wire != ProviderApi::Gemini, wire == ProviderApi::Gemini)
                );
            }
        }
    }
}

#[test]
fn connections_end_as_the_script_says() {
    for wire in ProviderApi::ALL {
        let answer = ask(&failing(InjectedFault::ResetBeforeHead), wire, "m", true);
        assert_eq!(
            (answer.status, answer.error),
            (0, Some(ErrorKind::ConnectionReset))
        );
        let answer = ask(&failing(InjectedFault::reset(0)), wire, "m", true);
        let shown = (answer.status, answer.body.as_str(), answer.error);
        assert_eq!(shown, (200, "", Some(ErrorKind::ConnectionReset)));
        let answer = ask(&failing(InjectedFault::reset(2)), wire, "m", true);
        assert!(
            answer.body.contains("two ") && !answer.body.contains("three"),
            "{answer:?}"
        );
        assert_eq!(answer.error, Some(ErrorKind::ConnectionReset));
        let how = ConnectionEnd::Closed;
        let answer = ask(
            &failing(InjectedFault::Cut { after: 1, how }),
            wire,
            "m",
            true,
        );
        assert!(
            answer.body.contains("one ") && !answer.body.contains("two"),
            "{answer:?}"
        );
        assert_eq!((answer.whole, answer.error), (false, None));
        let answer = ask(&failing(InjectedFault::cut(1)), wire, "m", true);
        assert!(
            answer.body.contains("one ") && !answer.body.contains("two"),
            "{answer:?}"
        );
        assert_eq!((answer.whole, answer.error), (true, None));
    }
}

#[test]
fn arguments_are_cut_in_their_last_piece() {
    let turn = ScriptedReply::call("look", ["{\"city\":", "\"Paris\"}"])
        .fault(InjectedFault::CutInArguments);
    let provider = FakeProvider::start(ReplyScript::turns([turn]));
    for wire in ProviderApi::ALL {
        let body = ask(&provider, wire, "m", true).body;
        assert!(!body.contains("Paris"), "{wire:?}: {body}");
        assert!(
            wire == ProviderApi::Gemini || body.contains("{\\\"city\\\":"),
            "{wire:?}: {body}"
        );
        assert!(!body.ends_with("\n\n"), "{wire:?}: {body}");
    }
}

#[test]
fn events_are_spoiled_as_the_script_says() {
    for wire in ProviderApi::ALL {
        let body = ask(
            &failing(InjectedFault::Malformed { after: 1 }),
            wire,
            "m",
            true,
        )
        .body;
        let spoiled = body.find("data: {\"oops\": \n\n").unwrap();
        assert!(body.find("one ").unwrap() < spoiled, "{body}");
        assert!(body.find("two ").unwrap() > spoiled, "{body}");
        let body = ask(
            &failing(InjectedFault::ErrorEvent { after: 2 }),
            wire,
            "m",
            true,
        )
        .body;
        assert!(body.contains("error") && !body.contains("three"), "{body}");
    }
}

#[test]
fn a_drip_comes_whole() {
    let pause = Duration::from_millis(1);
    let dripped = ask(
        &failing(InjectedFault::Drip { bytes: 40, pause }),
        ProviderApi::Anthropic,
        "m",
        true,
    );
    let whole = FakeProvider::start(ReplyScript::turns([ScriptedReply::text([
        "one ", "two ", "three",
    ])]));
    let whole = ask(&whole, ProviderApi::Anthropic, "m", true);
    assert_eq!((dripped.body, dripped.whole), (whole.body, true));
}

#[test]
fn an_endless_answer_is_as_long_as_it_says() {
    for wire in ProviderApi::ALL {
        let answer = ask(
            &failing(InjectedFault::Endless { bytes: 1 << 20 }),
            wire,
            "m",
            true,
        );
        assert!(answer.body.len() > 1 << 20, "{}", answer.body.len());
        let answer = ask(
            &failing(InjectedFault::LongLine { bytes: 1 << 20 }),
            wire,
            "m",
            true,
        );
        assert!(answer.body.len() > 1 << 20 && !answer.body.contains('\n'));
    }
}

#[tokio::test]
async fn it_is_noticed_when_a_client_leaves() {
    let slow = ScriptedReply::text(["one ", "two"]).pause(Duration::from_secs(60));
    for turn in [
        ScriptedReply::failing(InjectedFault::SilentBeforeHead),
        ScriptedReply::failing(InjectedFault::Silent { after: 1 }),
        ScriptedReply::failing(InjectedFault::endless()),
        slow,
    ] {
        let provider = FakeProvider::start(ReplyScript::turns([turn]));
        for (index, wire) in ProviderApi::ALL.into_iter().enumerate() {
            let (path, body) = request(wire, "m", true);
            let mut stream = send(&provider, &path, "k", &body);
            provider.until_asked(index + 1).await;
            stream
                .set_read_timeout(Some(Duration::from_millis(20)))
                .unwrap();
            let _ = stream.read(&mut [0; 64]);
            assert_eq!(provider.left(), index);
            drop(stream);
            provider.disconnected(index + 1).await;
        }
    }
}

#[test]
fn nobody_left_who_read_to_the_end() {
    let provider = FakeProvider::start(ReplyScript::default());
    for streaming in [true, false] {
        for wire in ProviderApi::ALL {
            assert!(ask(&provider, wire, "m", streaming).whole);
        }
    }
    assert_eq!((provider.asked(), provider.left()), (8, 0));
}

//! Requests with rate limits: their draws, waits, errors and corrections. The buckets return
//! scripted decisions; the stores test the real buckets.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::StreamExt;
use quillet_core::BoxFuture;
use quillet_core::chat::{ChatModel, ChatRequest, ModelErrorKind as Kind, WireRequest};
use quillet_core::rates::{RateDecision, RateDraw, Rates};
use quillet_core::store::{StoreError, StoreErrorKind};
use quillet_core::{Message, Role};
use quillet_llm::models::{ModelConfig, ModelRouter, ModelSettings, VendorSettings};
use quillet_llm::{Rate, RateLimits};
use quillet_test_support::scripted::{ResponseScript, ScriptedServer, answer, good};

/// Buckets that return scripted decisions and log all calls.
#[derive(Debug, Default)]
struct Told {
    turns: Mutex<VecDeque<RateDecision>>,
    log: Mutex<Vec<String>>,
    away: bool,
}

impl Told {
    fn say(
        &self,
        what: &str,
        group: &str,
        draws: &[RateDraw],
        more: &str,
    ) -> Result<(), StoreError> {
        let draws: Vec<String> = draws
            .iter()
            .map(|draw| format!("{}/{} {}", draw.bucket, draw.per_minute, draw.amount))
            .collect();
        let line = format!("{what} {group} [{}]{more}", draws.join(", "));
        self.log.lock().unwrap().push(line);
        if self.away {
            return Err(StoreError::new(StoreErrorKind::Unavailable, "away"));
        }
        Ok(())
    }

    fn log(&self) -> Vec<String> {
        std::mem::take(&mut self.log.lock().unwrap())
    }

    /// Waits for a line with this prefix, and returns the log.
    async fn wait_for(&self, beginning: &str) -> Vec<String> {
        for _ in 0..2000 {
            let found = |line: &String| line.starts_with(beginning);
            if self.log.lock().unwrap().iter().any(found) {
                return self.log();
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("no {beginning}: {:?}", self.log());
    }
}

impl Rates for Told {
    fn describe(&self) -> String {
        "told".to_owned()
    }

    fn take<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
        _: Duration,
        in_line: bool,
    ) -> BoxFuture<'a, Result<RateDecision, StoreError>> {
        let said = self.say("take", group, draws, if in_line { " again" } else { "" });
        let turn = self.turns.lock().unwrap().pop_front();
        Box::pin(async move { said.map(|()| turn.unwrap_or(RateDecision::Now)) })
    }

    fn cancel_wait<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.say("leave", group, draws, "") })
    }

    fn adjust_usage<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.say("settle", group, draws, "") })
    }

    fn pause_buckets<'a>(
        &'a self,
        group: &'a str,
        draws: &'a [RateDraw],
        time: Duration,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move { self.say("hold", group, draws, &format!(" {time:?}")) })
    }
}

/// Models of a server, with these rate limits.
fn models(
    server: &ScriptedServer,
    told: &Arc<Told>,
    rates: &[(&str, Option<u32>, Option<u32>)],
    patience: Duration,
) -> ModelRouter {
    let rates = rates.iter().map(|(name, requests, tokens)| {
        let rate = Rate {
            requests: *requests,
            tokens: *tokens,
        };
        ((*name).to_owned(), rate)
    });
    ModelRouter::new(ModelSettings {
        openai: VendorSettings {
            api_key: Some("key".into()),
            base_url: Some(server.url()),
            headers: Vec::new(),
        },
        rates: Some(Arc::new(RateLimits::new(rates, told.clone(), patience))),
        ..ModelSettings::default()
    })
    .unwrap()
}

fn request(model: &str) -> ChatRequest {
    ChatRequest {
        model: Some(model.to_owned()),
        messages: vec![Message::new(Role::User, "hi")],
        ..ChatRequest::default()
    }
}

async fn ask(model: &dyn ChatModel, name: &str) -> Result<(), quillet_core::chat::ModelError> {
    let mut stream = model.stream(request(name)).await?;
    while let Some(event) = stream.next().await {
        event?;
    }
    Ok(())
}

const LONG: Duration = Duration::from_secs(60);

#[tokio::test]
async fn a_request_draws_for_its_provider_and_its_model() {
    let server = ScriptedServer::start(vec![good("a")]);
    let told = Arc::new(Told::default());
    // An alias has the limit of its provider.
    let rates = [
        ("gpt", Some(500), None),
        ("gpt-5.4", Some(60), None),
        ("claude", Some(7), None),
    ];
    let models = models(&server, &told, &rates, LONG);
    let provider = "openai:requests/500 1";
    for (name, draws) in [
        ("gpt-4o", provider.to_owned()),
        ("gpt-5.4", format!("{provider}, gpt-5.4:requests/60 1")),
        (
            "openai/gpt-5.4",
            format!("{provider}, gpt-5.4:requests/60 1"),
        ),
        // The gateway uses another name for the model.
        ("x/gpt-5.4", provider.to_owned()),
    ] {
        ask(&models, name).await.unwrap();
        assert_eq!(told.log(), [format!("take openai [{draws}]")], "{name}");
    }
    // The mock has no rate limit.
    ask(&models, "mock").await.unwrap();
    assert_eq!(told.log(), Vec::<String>::new());
}

#[tokio::test]
async fn a_model_that_a_request_describes_draws_if_it_brings_no_key() {
    let server = ScriptedServer::start(vec![good("a")]);
    let told = Arc::new(Told::default());
    let models = models(&server, &told, &[("openai", Some(500), None)], LONG);
    let described = ModelConfig {
        model_id: "gpt-4o".to_owned(),
        ..ModelConfig::default()
    };
    let ours = models.connect(&described).unwrap();
    ask(&*ours, "gpt-4o").await.unwrap();
    assert_eq!(told.log(), ["take openai [openai:requests/500 1]"]);
    let theirs = models.connect(&ModelConfig {
        api_key: Some("theirs".into()),
        base_url: Some(server.url()),
        ..described
    });
    ask(&*theirs.unwrap(), "gpt-4o").await.unwrap();
    assert_eq!(told.log(), Vec::<String>::new());
}

#[tokio::test]
async fn a_request_waits_for_its_turn_or_is_told_when_to_come_back() {
    let server = ScriptedServer::start(vec![good("a")]);
    let told = Arc::new(Told::default());
    let models = models(&server, &told, &[("openai", Some(500), None)], LONG);
    let soon = RateDecision::After(Duration::from_millis(2));
    told.turns
        .lock()
        .unwrap()
        .extend([soon, soon, RateDecision::Now]);
    ask(&models, "gpt-4o").await.unwrap();
    let take = "take openai [openai:requests/500 1]";
    let again = format!("{take} again");
    assert_eq!(told.log(), [take, &again, &again]);

    let never = RateDecision::Never {
        wait: Duration::from_millis(61_500),
        draw: 0,
    };
    told.turns.lock().unwrap().push_back(never);
    let error = ask(&models, "gpt-4o").await.unwrap_err();
    assert_eq!(error.kind, Kind::OverRate);
    assert_eq!(error.retry_after, Some(Duration::from_millis(61_500)));
    assert_eq!(
        error.message,
        "rate limit of openai: this request would wait 61.5s, and the limit is 60s (model.rate_wait_ms): model.requests_per_minute permits 500 requests a minute, or the provider asked to wait"
    );
    // The store is not asked again, and there is no queue position to give up.
    assert_eq!(told.log(), [take]);
    assert_eq!(server.seen().len(), 1);
    let counts = models.rates().unwrap().counts();
    assert_eq!(counts.waited.load(std::sync::atomic::Ordering::Relaxed), 1);
    assert_eq!(counts.refused.load(std::sync::atomic::Ordering::Relaxed), 1);
}

#[tokio::test]
async fn who_no_longer_waits_gives_up_its_place() {
    let server = ScriptedServer::start(vec![good("a")]);
    let told = Arc::new(Told::default());
    let models = models(&server, &told, &[("openai", Some(500), None)], LONG);
    told.turns
        .lock()
        .unwrap()
        .push_back(RateDecision::After(LONG));
    let waiting = tokio::time::timeout(Duration::from_millis(20), ask(&models, "gpt-4o"));
    assert!(waiting.await.is_err());
    told.wait_for("leave openai [openai:requests/500 1]").await;
    assert!(server.seen().is_empty());
}

fn later(after: &str) -> ResponseScript {
    answer(429, "application/json", &[("retry-after", after)], "{}")
}

#[tokio::test]
async fn a_429_holds_all_back_and_is_outlasted_if_there_is_time() {
    let server = ScriptedServer::start(vec![later("0.01"), good("a")]);
    let told = Arc::new(Told::default());
    let rates = [("openai", Some(500), None), ("gpt-5.4", Some(60), None)];
    let models = models(&server, &told, &rates, LONG);
    ask(&models, "gpt-5.4").await.unwrap();
    let both = "[openai:requests/500 1, gpt-5.4:requests/60 1]";
    // Only the limit of the model is paused, not the limit of its provider.
    assert_eq!(
        told.log(),
        [
            format!("take openai {both}"),
            "hold openai [gpt-5.4:requests/60 1] 10ms".to_owned(),
            format!("take openai {both}"),
        ]
    );
}

#[tokio::test]
async fn a_429_that_asks_for_too_long_is_told_to_the_client() {
    let server = ScriptedServer::start(vec![later("90"), good("a")]);
    let told = Arc::new(Told::default());
    let models = models(&server, &told, &[("openai", Some(500), None)], LONG);
    let error = ask(&models, "gpt-4o").await.unwrap_err();
    assert_eq!(error.kind, Kind::OverRate);
    assert_eq!(error.status, Some(429));
    assert_eq!(error.retry_after, Some(Duration::from_secs(90)));
    let hold = "hold openai [openai:requests/500 1] 90s";
    assert_eq!(told.log(), ["take openai [openai:requests/500 1]", hold]);
    assert_eq!(server.seen().len(), 1);
}

#[tokio::test]
async fn retries_are_requests_too() {
    let refused = answer(500, "application/json", &[], "{}");
    let server = ScriptedServer::start(vec![refused, good("a")]);
    let told = Arc::new(Told::default());
    let models = models(&server, &told, &[("openai", Some(500), None)], LONG);
    ask(&models, "gpt-4o").await.unwrap();
    assert_eq!(told.log().len(), 2);
}

#[tokio::test]
async fn tokens_are_estimated_first_and_settled_at_the_end() {
    let usage = r#"{"id":"1","model":"m","created":1,"choices":[{"index":0,"message":{"role":"assistant","content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":20,"completion_tokens":80}}"#;
    let server = ScriptedServer::start(vec![answer(200, "application/json", &[], usage)]);
    let told = Arc::new(Told::default());
    let models = models(&server, &told, &[("openai", Some(500), Some(9000))], LONG);
    ask(&models, "gpt-4o").await.unwrap();
    let log = told.wait_for("settle").await;
    // Four tokens are drawn for the message and one for its text; the end of the answer draws the
    // rest of one hundred.
    assert_eq!(
        log,
        [
            "take openai [openai:requests/500 1, openai:tokens/9000 5]",
            "settle openai [openai:tokens/9000 95]",
        ]
    );
}

#[tokio::test]
async fn words_that_are_passed_through_draw_too() {
    let server = ScriptedServer::start(vec![later("0.01"), good("a")]);
    let told = Arc::new(Told::default());
    let requests = models(&server, &told, &[("openai", Some(500), None)], LONG);
    let body = r#"{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"stream":true}"#;
    let words = WireRequest {
        wire: "openai-chat",
        body: body.as_bytes().to_vec(),
        model: Some("gpt-4o".to_owned()),
        stream: Some(true),
        ..WireRequest::default()
    };
    let mut stream = requests.pass(&words).unwrap().await.unwrap();
    while let Some(item) = stream.next().await {
        item.unwrap();
    }
    let log = told.log();
    let take = "take openai [openai:requests/500 1]";
    assert_eq!(
        log,
        [take, "hold openai [openai:requests/500 1] 10ms", take]
    );
    // With a token limit, the answer is decoded.
    let tokens = models(&server, &told, &[("openai", None, Some(9000))], LONG);
    assert!(tokens.pass(&words).is_none());
    assert_eq!(told.log(), Vec::<String>::new());
}

#[tokio::test]
async fn buckets_that_do_not_answer_hold_nobody_up() {
    let server = ScriptedServer::start(vec![good("a")]);
    let told = Arc::new(Told {
        away: true,
        ..Told::default()
    });
    let models = models(&server, &told, &[("openai", Some(1), None)], LONG);
    ask(&models, "gpt-4o").await.unwrap();
    assert_eq!(told.log().len(), 1);
}

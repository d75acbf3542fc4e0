//! Measures the cost of version selection by label or selector, compared with a prompt without
//! versions. Prints nanoseconds per render, the best of several rounds.
//!
//! `cargo run --release -p quillet-prompt --example label_figures`

use std::sync::Arc;
use std::time::Instant;

use quillet_core::Map;
use quillet_core::history::{
    Commit, DefinitionContent, HistoryStore, LabelMove, LabelTarget, TrafficSplit,
};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreError};
use quillet_prompt::{Catalogue, PromptService, RenderInput, ServiceOptions, Variables};
use quillet_store::MemoryStore;
use quillet_template::TemplateFactory;
use quillet_test_support::EchoTools;

/// Renders per round, and number of rounds.
const RENDERS: u32 = 20_000;
const ROUNDS: usize = 7;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), StoreError> {
    let store = Arc::new(MemoryStore::new());
    for (key, texts) in [("plain", 1), ("labelled", 2), ("shared", 2)] {
        for number in 1..=texts {
            let text = format!(r#"{{"prompt": "Hello {{{{.variables.name}}}}, {number}"}}"#);
            let content = Some(DefinitionContent::new(text));
            let commit = Commit::new(EntryKind::Prompt, EntryKey::new(key), content, "ada");
            store.commit(&commit).await?;
        }
    }
    let split = TrafficSplit {
        versions: [(1, 90), (2, 10)].into(),
        by: Some("user".to_owned()),
        salt: None,
    };
    for (key, to) in [
        ("labelled", LabelTarget::Version(1)),
        ("shared", LabelTarget::Split(split)),
    ] {
        let moves = [LabelMove {
            name: "production".to_owned(),
            to: Some(to),
            expect: None,
        }];
        let key = EntryKey::new(key);
        store.relabel(EntryKind::Prompt, &key, &moves).await?;
    }
    let shown: Arc<dyn Store> = store;
    let factory = TemplateFactory::standard();
    let catalogue = Catalogue::new(shown.clone(), factory, Arc::new(EchoTools), 100);
    let variables = Variables::new(shown);
    let service = PromptService::new(catalogue, variables, None, ServiceOptions::default());
    service.load().await?;
    let ids = [
        "plain",
        "labelled",
        "labelled@production",
        "labelled@2",
        "shared",
    ];
    let mut best = [f64::INFINITY; 5];
    for _ in 0..ROUNDS {
        for (id, best) in ids.iter().zip(&mut best) {
            *best = best.min(round(&service, id).await);
        }
    }
    for (id, best) in ids.iter().zip(best) {
        println!("{id}\t{best:.0} ns");
    }
    Ok(())
}

async fn round(service: &PromptService, id: &str) -> f64 {
    let variables = Map::from([("name", "Ada")]);
    let input = RenderInput {
        user: Some("user-1"),
        ..RenderInput::new(&variables, "request")
    };
    let started = Instant::now();
    for _ in 0..RENDERS {
        let rendered = service.render(id, &input).await;
        assert!(rendered.is_ok(), "{id}: {rendered:?}");
    }
    started.elapsed().as_nanos() as f64 / f64::from(RENDERS)
}

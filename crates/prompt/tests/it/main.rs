//! Tests of the prompt service with an in-memory store and test tools.

#![allow(
    clippy::unwrap_used,
    reason = "a test that cannot go on should say where"
)]

mod allocations;
mod convert;
mod files;
mod incremental;
mod render;
mod residual;
mod store_changes;

use std::sync::Arc;

use quillet_core::Map;
use quillet_core::store::Store;
use quillet_prompt::{
    Catalogue, PromptService, RenderInput, RenderedPrompt, ServiceError, ServiceOptions, Variables,
};
use quillet_template::TemplateFactory;
use quillet_test_support::EchoTools;
use quillet_test_support::TestStore;

pub(crate) fn service_over(store: &Arc<TestStore>) -> PromptService {
    let store: Arc<dyn Store> = store.clone();
    let catalogue = Catalogue::new(
        store.clone(),
        TemplateFactory::standard(),
        Arc::new(EchoTools),
        100,
    );
    PromptService::new(
        catalogue,
        Variables::new(store),
        None,
        ServiceOptions::default(),
    )
}

pub(crate) async fn loaded(store: &Arc<TestStore>) -> PromptService {
    let service = service_over(store);
    service.load().await.unwrap();
    service
}

pub(crate) async fn render(
    service: &PromptService,
    id: &str,
    variables: &str,
) -> Result<String, ServiceError> {
    let variables: Map = serde_json::from_str(variables).unwrap();
    let outcome = service
        .render(id, &RenderInput::new(&variables, "test"))
        .await?;
    Ok(match outcome.prompt {
        RenderedPrompt::Text(text) => text,
        RenderedPrompt::Messages(messages) => messages
            .iter()
            .map(|message| format!("{}: {}", message.role.as_str(), message.content))
            .collect::<Vec<_>>()
            .join("\n"),
    })
}
mod versions;

//! Stored prompts for text-to-SQL: a prompt with the id `sql.tables`, `sql.query` or `sql.repair`
//! replaces the built-in one.

use std::sync::{Arc, Weak};

use quillet_core::store::EntryKind;
use quillet_core::{BoxFuture, Map, Message};
use quillet_prompt::{CatalogueSnapshot, PromptEntry, PromptService, RenderInput, ServiceError};
use quillet_sql::chain::{BuiltIn, PromptError, PromptKind, Prompts};
use quillet_template::CompileError;

/// Name of text-to-SQL renders in logs.
const REQUEST: &str = "sql";

/// Prompts of the pipeline: stored prompts, or else the built-in prompts.
#[derive(Debug)]
pub struct StoredPrompts {
    /// Weak, because the service may own database tools, which own these prompts: a strong
    /// reference would create a cycle.
    service: Weak<PromptService>,
    built_in: BuiltIn,
}

impl StoredPrompts {
    /// Creates the prompts of this service, which fall back to the built-in prompts.
    ///
    /// # Errors
    /// A built-in prompt does not compile, which would be a bug.
    pub fn new(service: &Arc<PromptService>) -> Result<Self, CompileError> {
        Ok(StoredPrompts {
            service: Arc::downgrade(service),
            built_in: BuiltIn::new()?,
        })
    }
}

impl Prompts for StoredPrompts {
    fn render<'a>(
        &'a self,
        which: PromptKind,
        variables: Map,
    ) -> BoxFuture<'a, Result<Vec<Message>, PromptError>> {
        Box::pin(async move {
            let service = self.service.upgrade();
            let snapshot = service
                .as_ref()
                .map(|service| service.catalogue().snapshot());
            match service.zip(snapshot) {
                Some((service, snapshot)) if snapshot.prompts.contains_key(which.id()) => {
                    stored(&service, &snapshot, which, &variables).await
                }
                _ => self.built_in.render(which, variables).await,
            }
        })
    }
}

async fn stored(
    service: &PromptService,
    snapshot: &Arc<CatalogueSnapshot>,
    which: PromptKind,
    variables: &Map,
) -> Result<Vec<Message>, PromptError> {
    let definition = snapshot
        .prompt(which.id())
        .map_err(|error| broken(which, &error))?;
    let entry: &PromptEntry = definition
        .usable(EntryKind::Prompt)
        .map_err(|error| broken(which, &error))?;
    if entry.script().is_some() {
        let message = format!(
            "the stored prompt {} is a script; text-to-SQL needs a template",
            which.id()
        );
        return Err(PromptError { message });
    }
    let input = RenderInput::new(variables, REQUEST);
    let rendered = service.render_in(snapshot, which.id(), &input).await;
    let rendered = rendered.map_err(|error| broken(which, &error))?;
    Ok(service.messages(rendered.prompt))
}

/// Names the stored prompt and lists its errors, because the user of a database may not know it.
fn broken(which: PromptKind, error: &ServiceError) -> PromptError {
    let mut message = format!("the stored prompt {}: {error}", which.id());
    let found: Vec<String> = match error {
        ServiceError::Invalid { diagnostics, .. } => {
            diagnostics.iter().map(ToString::to_string).collect()
        }
        ServiceError::Missing { hints, .. } | ServiceError::UnknownFunctions { hints, .. } => {
            hints.clone()
        }
        _ => Vec::new(),
    };
    for part in found {
        message.push_str("; ");
        message.push_str(&part);
    }
    PromptError { message }
}

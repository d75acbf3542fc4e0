//! The prompt service: finds a prompt, binds its variables, renders it and sends it to a model.
//!
//! A [`Catalogue`] holds one immutable [`CatalogueSnapshot`] of all definitions in a store, and
//! replaces it when the store changes. [`Variables`] fetches the shared variables that a template
//! references. [`PromptService`] combines both with tools and a model. A request uses one snapshot
//! from start to end.
//!
//! ```
//! use std::sync::Arc;
//! use quillet_core::Map;
//! use quillet_core::store::{EntryKey, EntryKind, Store};
//! use quillet_prompt::{Catalogue, PromptService, RenderInput, ServiceOptions, Variables};
//! use quillet_store::MemoryStore;
//! use quillet_template::TemplateFactory;
//! # use quillet_test_support::EchoTools as NoTools;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
//! let text = r#"{"prompt": "Hello {{.variables.name}}!"}"#;
//! store.put(EntryKind::Prompt, &EntryKey::new("greet"), text).await.unwrap();
//!
//! let formats = TemplateFactory::standard();
//! let catalogue = Catalogue::new(store.clone(), formats, Arc::new(NoTools), 100);
//! let variables = Arc::new(Variables::new(store));
//! let service = PromptService::new(catalogue, variables, None, ServiceOptions::default());
//! service.load().await.unwrap();
//!
//! let given = Map::from([("name", "Ada")]);
//! let rendered = service.render("greet", &RenderInput::new(&given, "request-1")).await.unwrap();
//! assert_eq!(rendered.prompt.to_string(), "Hello Ada!");
//! # });
//! ```
//!
//! "ai-prompt-shell" in comments is the Go service whose Redis data and API Quillet supports.

mod build;
mod catalogue;
mod checked;
mod compile;
mod context;
pub mod convert;
mod definition;
mod error;
mod explain;
mod extension;
pub mod file;
mod follow;
mod functions;
mod graph;
mod inline_prompt;
mod input;
mod loader;
mod messages;
mod names;
mod options;
mod parameters;
mod placeholder;
mod recent;
mod referenced_files;
mod residual;
mod revision;
mod rich;
mod script;
mod service;
mod snapshot;
mod sources;
mod table;
mod template_location;
mod tool;
mod tool_registry;
mod usage;
mod variables;
mod versions;

pub use catalogue::Catalogue;
pub use checked::CheckResult;
pub use compile::CompiledPrompt;
pub use definition::{Prompt, PromptBody, RawDefinition, TemplateMessage};
pub use error::{BrokenDefinition, RenderFailure, ServiceError, ToolFailure, VariableError};
pub use explain::{
    CallFacts, Explanation, SharedFacts, TemplateFacts, VariableFacts, VariableSource,
};
pub use extension::Extension;
pub use inline_prompt::InlinePrompt;
pub use input::{HistoryPlacement, RenderInput};
pub use messages::RenderedPrompt;
pub use names::{AvailableNames, UnresolvedVariable, UnusedVariable};
pub use parameters::Parameters;
pub use residual::{Notation, Residual, ResidualError, ResidualMessage, residual};
pub use revision::Revision;
pub use script::{
    DryRun, SCRIPT_FORMAT, ScriptEvent, ScriptFailure, ScriptJob, ScriptReader, ScriptRunner,
    ScriptStream, StoredScript, StoredScriptOutcome, script_definition, script_source,
};
pub use service::{
    ChatOutcome, ChatReady, PromptService, RenderOutcome, ServiceCounters, ServiceOptions,
};
pub use snapshot::{
    CatalogueSnapshot, Definition, DefinitionState, PromptEntry, PromptOrigin, ToolEntry,
};
pub use table::ChunkedTable;
pub use template_location::{TemplateLocation, TemplatePlacement};
pub use tool::{PromptResult, prompt_function};
pub use usage::{Renders, ToolCallCounters, Usage};
pub use variables::Variables;

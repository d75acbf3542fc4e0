//! Dependencies of the service.

use std::sync::Arc;

use quillet_core::archive::Archive;
use quillet_core::chat::{ChatModel, TokenCounter};
use quillet_core::knowledge::Embedder;
use quillet_core::store::Store;

use crate::SqlConfig;
use crate::chain::Prompts;

/// Dependencies of the service.
#[derive(Clone, Debug)]
pub struct ServiceParts {
    /// Store of connections.
    pub store: Arc<dyn Store>,
    /// Archive of catalogues and history.
    pub archive: Arc<dyn Archive>,
    /// Model that selects tables and writes queries.
    pub model: Option<Arc<dyn ChatModel>>,
    /// Embedder, which can find relevant tables even if they share no word with the question.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Counts tokens.
    pub tokens: Arc<dyn TokenCounter>,
    /// Renders the pipeline's prompts.
    pub prompts: Arc<dyn Prompts>,
    /// Settings.
    pub config: SqlConfig,
}

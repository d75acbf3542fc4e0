//! The parts that the service is built from.

use std::sync::Arc;

use quillet_core::archive::Archive;
use quillet_core::chat::{ChatModel, TokenCounter};
use quillet_core::knowledge::Embedder;
use quillet_core::store::Store;

use crate::SqlConfig;
use crate::chain::Prompts;

/// The parts that the service is made of.
#[derive(Clone, Debug)]
pub struct ServiceParts {
    /// Where connections are stored.
    pub store: Arc<dyn Store>,
    /// Where catalogues and history are stored.
    pub archive: Arc<dyn Archive>,
    /// The model that chooses tables and writes queries.
    pub model: Option<Arc<dyn ChatModel>>,
    /// Makes vectors of texts, for tables that no word of a question names.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Counts tokens.
    pub tokens: Arc<dyn TokenCounter>,
    /// Renders the chain's prompts.
    pub prompts: Arc<dyn Prompts>,
    /// Settings.
    pub config: SqlConfig,
}

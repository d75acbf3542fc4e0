//! Knowledge base of one conversation.

use std::sync::{Mutex, MutexGuard};

use quillet_core::lock::lock;
use quillet_core::tool::ToolError;
use tokio::sync::OnceCell;

use super::budget::KnowledgeBudget;
use super::document::Sizes;
use super::source::KnowledgeSource;

/// Documents that a conversation may read, and limits.
#[derive(Clone, Debug, Default)]
pub struct KnowledgeScope {
    /// Names or ids of the collections (knowledge bases).
    pub collections: Vec<String>,
    /// Ids of the documents to search. If empty, all documents are searched.
    pub documents: Vec<i64>,
    /// Context window of the model in tokens.
    pub window: u64,
    /// Id of the message for which the remote API saves search results
    /// (`metadata.user_subtask_id`). If `None`, nothing is saved.
    pub saved_for: Option<i64>,
}

/// Documents of one conversation. The tools of a knowledge base share call counters, so each
/// conversation needs its own value.
#[derive(Debug)]
pub struct KnowledgeBase {
    pub(super) source: KnowledgeSource,
    pub(super) scope: KnowledgeScope,
    sizes: OnceCell<Sizes>,
    budget: Mutex<KnowledgeBudget>,
}

impl KnowledgeBase {
    /// Creates a knowledge base with an unused read budget.
    pub(super) fn new(source: KnowledgeSource, scope: KnowledgeScope) -> Self {
        KnowledgeBase {
            source,
            budget: Mutex::new(KnowledgeBudget::new(scope.window)),
            scope,
            sizes: OnceCell::new(),
        }
    }

    /// Locks and returns the read budget.
    pub(super) fn budget(&self) -> MutexGuard<'_, KnowledgeBudget> {
        lock(&self.budget)
    }

    /// Returns the sizes of the collections, fetched once.
    pub(super) async fn sizes(&self) -> Result<&Sizes, ToolError> {
        let asked = || self.source.sizes(&self.scope.collections);
        self.sizes.get_or_try_init(asked).await
    }
}

//! The documents of one conversation.

use std::sync::{Mutex, MutexGuard, PoisonError};

use quillet_core::tool::ToolError;
use tokio::sync::OnceCell;

use super::budget::KnowledgeBudget;
use super::document::Sizes;
use super::source::KnowledgeSource;

/// Which documents a conversation may read, and how much.
#[derive(Clone, Debug, Default)]
pub struct KnowledgeScope {
    /// Names or numbers of the collections (knowledge bases).
    pub collections: Vec<String>,
    /// Numbers of the only documents that are searched; all where there are none.
    pub documents: Vec<i64>,
    /// Tokens that fit into the model.
    pub window: u64,
    /// The message that results are saved for by the remote side
    /// (`metadata.user_subtask_id`); they are not where there is none.
    pub saved_for: Option<i64>,
}

/// The documents of one conversation. Its tools count their calls together, so
/// every conversation needs its own.
#[derive(Debug)]
pub struct KnowledgeBase {
    pub(super) source: KnowledgeSource,
    pub(super) scope: KnowledgeScope,
    sizes: OnceCell<Sizes>,
    budget: Mutex<KnowledgeBudget>,
}

impl KnowledgeBase {
    /// Documents of that scope, of which nothing was read yet.
    pub(super) fn new(source: KnowledgeSource, scope: KnowledgeScope) -> Self {
        KnowledgeBase {
            source,
            budget: Mutex::new(KnowledgeBudget::new(scope.window)),
            scope,
            sizes: OnceCell::new(),
        }
    }

    /// What the conversation has read.
    pub(super) fn budget(&self) -> MutexGuard<'_, KnowledgeBudget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How large the collections are, asked once.
    pub(super) async fn sizes(&self) -> Result<&Sizes, ToolError> {
        let asked = || self.source.sizes(&self.scope.collections);
        self.sizes.get_or_try_init(asked).await
    }
}

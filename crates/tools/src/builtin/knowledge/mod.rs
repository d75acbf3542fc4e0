//! Tools `knowledge_base_search`, `kb_ls` and `kb_head`. They read the documents that a request
//! allows, from the local store or Chat Shell's HTTP API, within the read budget of a conversation.

mod base;
mod budget;
mod document;
mod explore;
mod injection;
mod remote;
mod search;
mod source;

use std::sync::Arc;
use std::time::Duration;

use quillet_core::knowledge::Knowledge;
use quillet_core::tool::Tool;

use super::work::tool;
use crate::Tools;
use crate::deadline::CallTimeout;
pub use base::{KnowledgeBase, KnowledgeScope};
pub use injection::Injection;
pub(crate) use remote::Remote;
pub use remote::RemoteKnowledgeConfig;
use source::KnowledgeSource;

const LIMIT: CallTimeout = CallTimeout {
    time: Duration::from_secs(60),
    setting: "the limit on knowledge tools",
};

impl Tools {
    /// Returns the knowledge base of a conversation. Documents come from the remote API if the API
    /// is configured, and from `here` otherwise. Returns `None` if both are missing, or if
    /// the scope has no collections.
    #[must_use]
    pub fn knowledge(
        &self,
        here: Option<Arc<dyn Knowledge>>,
        scope: KnowledgeScope,
    ) -> Option<Arc<KnowledgeBase>> {
        let source = match (&self.rag, here) {
            (Some(remote), _) => KnowledgeSource::Remote(remote.clone()),
            (None, Some(here)) => KnowledgeSource::Here(here),
            (None, None) => return None,
        };
        if scope.collections.is_empty() {
            return None;
        }
        Some(Arc::new(KnowledgeBase::new(source, scope)))
    }
}

impl KnowledgeBase {
    /// Returns the tools that agents use to search and read the documents.
    pub fn tools(self: &Arc<Self>, max_results: Option<u32>) -> Vec<Arc<dyn Tool>> {
        let base = self.clone();
        let search = search::SearchDocuments { base, max_results };
        vec![
            tool(&search::SHAPE, LIMIT, search),
            tool(
                &explore::LIST,
                LIMIT,
                explore::ListCollections(self.clone()),
            ),
            tool(&explore::HEAD, LIMIT, explore::ReadDocument(self.clone())),
        ]
    }
}

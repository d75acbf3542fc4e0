//! `knowledge_base_search`, `kb_ls` and `kb_head`: the documents that a request allows, here or
//! behind Chat Shell's HTTP interface, and the bounds on how much of them one conversation may
//! read.

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
    /// The documents of a conversation: those of the remote interface, if one is
    /// configured, else those of `here`. `None` if there are neither, or the scope
    /// names no collection.
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
    /// Its tools, for an agent that is to search by itself.
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

//! `knowledge_base_search`, `kb_ls` and `kb_head`: the documents that a request allows, here or
//! behind Chat Shell's HTTP interface, and the bounds on how much of them one conversation may
//! read.

mod budget;
mod explore;
mod injection;
mod remote;
mod search;
mod source;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use quillet_core::knowledge::Knowledge;
use quillet_core::tool::Tool;
use serde_json::Value as Json;
use tokio::sync::OnceCell;

use super::tool;
use crate::Tools;
use crate::deadline::Limit;
use budget::Budget;
pub use injection::Injection;
pub(crate) use remote::Remote;
pub use remote::RemoteKnowledgeConfig;
use source::{Sizes, Source};

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
    source: Source,
    scope: KnowledgeScope,
    sizes: OnceCell<Sizes>,
    budget: Mutex<Budget>,
}

const LIMIT: Limit = Limit {
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
            (Some(remote), _) => Source::Remote(remote.clone()),
            (None, Some(here)) => Source::Here(here),
            (None, None) => return None,
        };
        if scope.collections.is_empty() {
            return None;
        }
        Some(Arc::new(KnowledgeBase {
            source,
            budget: Mutex::new(Budget::new(scope.window)),
            scope,
            sizes: OnceCell::new(),
        }))
    }
}

impl KnowledgeBase {
    /// Its tools, for an agent that is to search by itself.
    pub fn tools(self: &Arc<Self>, max_results: Option<u32>) -> Vec<Arc<dyn Tool>> {
        let base = self.clone();
        let search = search::Search { base, max_results };
        vec![
            tool(&search::SHAPE, LIMIT, search),
            tool(&explore::LIST, LIMIT, explore::List(self.clone())),
            tool(&explore::HEAD, LIMIT, explore::Head(self.clone())),
        ]
    }

    fn budget(&self) -> MutexGuard<'_, Budget> {
        self.budget.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How large the collections are, asked once.
    async fn sizes(&self) -> Result<&Sizes, quillet_core::tool::ToolError> {
        let asked = || self.source.sizes(&self.scope.collections);
        self.sizes.get_or_try_init(asked).await
    }
}

/// A collection as results name it: a number where it is one, as Chat Shell's are.
fn id(collection: &str) -> Json {
    match collection.parse::<i64>() {
        Ok(number) => number.into(),
        Err(_) => collection.into(),
    }
}

/// Tokens of a text, about: four letters each, and one for each character of scripts that have no
/// such letters: four characters to a token would count Chinese as a quarter of what it is.
fn tokens(text: &str) -> u64 {
    let plain = text.bytes().filter(u8::is_ascii).count();
    let others = text.chars().count() - plain;
    (plain / 4 + others) as u64
}

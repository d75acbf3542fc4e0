//! Injects all documents of small collections into the prompt, so that no search is needed.

use quillet_core::tool::ToolError;
use serde_json::Value as Json;

use super::base::KnowledgeBase;
use super::document::tokens;
use super::search::sources;

/// Percentage of the window that injected documents may fill; as in Chat Shell.
const FITS: u64 = 30;
/// Minimum score of injected passages, if they have scores; as in Chat Shell.
const LEAST_SCORE: f64 = 0.5;

/// Documents that are inserted into a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Injection {
    /// The titles and texts of the documents. The text is untrusted and must be marked as
    /// untrusted.
    pub text: String,
    /// Sources, in the format that the tools of [`KnowledgeBase::tools`] use in results.
    pub sources: Vec<Json>,
}

impl KnowledgeBase {
    /// Returns all documents if they fill at most 30 % of the context window. Otherwise, returns
    /// `None`, and the model must use the search tool.
    ///
    /// # Errors
    /// The documents cannot be read.
    pub async fn injection(&self, question: &str) -> Result<Option<Injection>, ToolError> {
        let most = self.scope.window.saturating_mul(FITS) / 100;
        if self.sizes().await?.tokens > most {
            return Ok(None);
        }
        let collections = &self.scope.collections;
        let mut found = self.source.everything(question, collections).await?;
        let documents = &self.scope.documents;
        found.retain(|found| {
            let allowed = documents.is_empty()
                || found
                    .document
                    .is_none_or(|document| documents.contains(&document));
            allowed && found.score.is_none_or(|score| score >= LEAST_SCORE)
        });
        let sources = sources(&found);
        let mut text = String::new();
        let mut title = "";
        for found in &found {
            if found.title != title || text.is_empty() {
                text.push_str(&format!("## {}\n\n", found.title));
                title = &found.title;
            }
            text.push_str(found.content.trim_end());
            text.push_str("\n\n");
        }
        // The sizes are estimates for Latin script, so the loaded text is measured again.
        if found.is_empty() || tokens(&text) > most {
            return Ok(None);
        }
        Ok(Some(Injection { text, sources }))
    }
}

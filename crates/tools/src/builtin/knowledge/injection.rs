//! Small collections whole in the prompt, so that no search has to find them.

use quillet_core::tool::ToolError;
use serde_json::Value as Json;

use super::base::KnowledgeBase;
use super::document::tokens;
use super::search::sources;

/// The part of the window, in percent, that documents may fill to be put into the prompt; Chat
/// Shell's.
const FITS: u64 = 30;
/// Passages that say how well they fit have to fit so well; Chat Shell's.
const LEAST_SCORE: f64 = 0.5;

/// Documents for a prompt.
#[derive(Clone, Debug, PartialEq)]
pub struct Injection {
    /// Their texts, each under its title. Data of others, to be marked as such.
    pub text: String,
    /// Where they are from, as [`KnowledgeBase::tools`] say it.
    pub sources: Vec<Json>,
}

impl KnowledgeBase {
    /// All documents, if they fill at most 30 % of the window; else `None`, and the
    /// model is to search.
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
        // Sizes are estimates that suit letters; what is there is looked at.
        if found.is_empty() || tokens(&text) > most {
            return Ok(None);
        }
        Ok(Some(Injection { text, sources }))
    }
}

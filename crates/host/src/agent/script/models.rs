//! Models of a script whose answers are recorded.

use std::sync::Arc;

use quillet_core::chat::Usage;
use quillet_script::host::{ModelHandle, ModelSource};

use crate::agent::durable::{RunJournal, ScriptModel};

/// Models of scripts behind the journal.
#[derive(Debug)]
pub(super) struct JournaledModels {
    pub(super) inner: Arc<dyn ModelSource>,
    pub(super) book: Arc<RunJournal>,
    /// Model that replaces the script's own model, as in a fork. The capabilities of the script's
    /// model still apply, because its requests are written for them.
    pub(super) other: Option<String>,
}

impl ModelSource for JournaledModels {
    fn model(&self, name: Option<&str>) -> Result<ModelHandle, String> {
        let mut answering = self.inner.model(name)?;
        let other = match &self.other {
            Some(other) => {
                let other = self.inner.model(Some(other))?;
                Some((other.model, other.name))
            }
            None => None,
        };
        let model = ScriptModel::new(answering.model, self.book.clone(), other);
        answering.model = Arc::new(model);
        Ok(answering)
    }

    fn cost(&self, model: &str, usage: &Usage) -> Option<f64> {
        self.inner.cost(model, usage)
    }
}

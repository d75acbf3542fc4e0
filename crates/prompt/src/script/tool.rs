//! Scripts as functions in templates: `{{script "ID" …}}`.

use std::fmt;
use std::sync::Arc;

use quillet_core::store::EntryKind;
use quillet_core::tool::{Tool, ToolContext, ToolError, ToolSpec};
use quillet_core::{BoxFuture, Map, Value};

use super::answer::value;
use super::request::job;
use super::run::Scripts;
use super::stored::StoredScript;
use crate::input::RenderInput;
use crate::snapshot::CatalogueSnapshot;

/// A script as a function in a template: `{{script "ID" …}}`.
pub(crate) struct ScriptTool<'a> {
    scripts: &'a Scripts,
    snapshot: &'a Arc<CatalogueSnapshot>,
    id: String,
    script: &'a StoredScript,
    depth: usize,
    dry: bool,
}

impl<'a> ScriptTool<'a> {
    /// Creates the function for the script with this id.
    ///
    /// # Errors
    /// There is no such prompt, it is invalid, or it is not a script.
    pub(crate) fn new(
        scripts: &'a Scripts,
        snapshot: &'a Arc<CatalogueSnapshot>,
        id: &str,
        depth: usize,
        dry: bool,
    ) -> Result<Self, String> {
        let entry = snapshot
            .prompt(id)
            .and_then(|known| known.usable(EntryKind::Prompt));
        let entry = entry.map_err(|error| error.to_string())?;
        let script = entry.script();
        let script = script.ok_or_else(|| format!("the prompt {id:?} is not a script"))?;
        Ok(ScriptTool {
            scripts,
            snapshot,
            id: id.to_owned(),
            script,
            depth: depth + 1,
            dry,
        })
    }
}

impl fmt::Debug for ScriptTool<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScriptTool")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl Tool for ScriptTool<'_> {
    fn spec(&self) -> &ToolSpec {
        &self.script.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let input = RenderInput {
                depth: self.depth,
                dry: self.dry,
                ..RenderInput::new(&arguments, &context.request_id)
            };
            let job = job(&self.id, self.script, self.snapshot, &input);
            let result = match self.scripts.run(job) {
                Ok(run) => value(run).await,
                Err(error) => Err(error),
            };
            result.map_err(|error| error.for_caller())
        })
    }
}

//! Tools that a stored script may call: tools and prompts of its snapshot, then the tools of the
//! service.

use std::sync::Arc;

use quillet_core::store::EntryKind;
use quillet_core::tool::Tool;
use quillet_prompt::{CatalogueSnapshot, PromptResult, PromptService};
use quillet_script::host::{Network, Tools};

/// Prefix of prompts in tool names, as for agents.
const PROMPT: &str = "prompt/";

/// Tools of one run.
#[derive(Debug)]
pub(super) struct OfSnapshot {
    pub(super) prompts: Arc<PromptService>,
    pub(super) snapshot: Arc<CatalogueSnapshot>,
    /// Nesting depth of prompts and scripts at this call.
    pub(super) depth: usize,
    pub(super) more: Arc<dyn Tools>,
}

impl OfSnapshot {
    fn stored(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let by_id = self.snapshot.tools.get(name);
        let by_id = by_id.and_then(|definition| definition.usable(EntryKind::Tool).ok());
        match by_id {
            Some(entry) => Some(entry.tool.clone()),
            None => self.snapshot.functions.get(name).cloned(),
        }
    }

    /// Finds a prompt by `prompt/ID` or by its id; its call returns the rendered text.
    fn prompt(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let id = name.strip_prefix(PROMPT).unwrap_or(name);
        let made = self
            .prompts
            .tool_in(&self.snapshot, id, PromptResult::Text, self.depth);
        made.ok()
    }
}

impl Tools for OfSnapshot {
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let stored = self.stored(name).or_else(|| self.prompt(name));
        stored.or_else(|| self.more.tool(name))
    }

    fn dry(&self, name: &str) -> Option<Arc<dyn Tool>> {
        if self.stored(name).is_some() {
            return None;
        }
        let id = name.strip_prefix(PROMPT).unwrap_or(name);
        self.prompts
            .dry_tool_in(&self.snapshot, id, self.depth)
            .ok()
    }

    fn network(&self) -> Option<Arc<dyn Network>> {
        self.more.network()
    }

    fn names(&self) -> Vec<String> {
        let functions = self.snapshot.functions.keys().map(ToString::to_string);
        let prompts = self.snapshot.prompts.keys();
        let prompts = prompts.map(|id| format!("{PROMPT}{id}"));
        let mut names: Vec<String> = functions.chain(prompts).collect();
        names.extend(self.more.names());
        names.sort_unstable();
        names.dedup();
        names
    }
}

//! Built-in tools: web search, documents and files. Each is a plain [`Tool`] whose access is fixed
//! when it is created; it does not know its caller.

mod files;
mod knowledge;
mod options;
mod web_search;
mod work;

use std::sync::Arc;

use quillet_core::nearest;
use quillet_core::tool::Tool;

use self::work::tool;
use crate::Tools;

pub(crate) use files::Workspace;
use files::{ListFiles, ReadFile};
pub(crate) use knowledge::Remote;
pub use knowledge::{Injection, KnowledgeBase, KnowledgeScope, RemoteKnowledgeConfig};
pub use options::{BuiltinError, BuiltinOptions};
pub(crate) use web_search::WebSearch;
pub use web_search::{SearchApi, SearchEngineConfig, WebSearchConfig};

/// Names of the built-in tools that need no other setting. The knowledge tools also need
/// collections.
pub const BY_NAME: [&str; 3] = ["web_search", "read_file", "list_files"];

/// Names of built-in tools in requests, with their family.
const NAMES: [(&str, Family); 7] = [
    ("web_search", Family::WebSearch),
    ("knowledge_base", Family::Knowledge),
    ("knowledge_base_search", Family::Knowledge),
    ("read_file", Family::ReadFile),
    ("file_reader", Family::ReadFile),
    ("list_files", Family::ListFiles),
    ("file_list", Family::ListFiles),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    WebSearch,
    Knowledge,
    ReadFile,
    ListFiles,
}

const NO_KNOWLEDGE: BuiltinError = BuiltinError::NotConfigured {
    name: "knowledge_base_search",
    mend: "name knowledge bases in the request, and set up a store for them or tools.rag.base_url",
};

impl Tools {
    /// Returns the built-in tools that have this name.
    ///
    /// # Errors
    /// The name is unknown, the tool is not configured, or an option is invalid.
    pub fn builtin(
        &self,
        name: &str,
        options: &BuiltinOptions,
    ) -> Result<Vec<Arc<dyn Tool>>, BuiltinError> {
        let family = NAMES.iter().find(|(known, _)| *known == name);
        match family.ok_or_else(|| unknown(name))?.1 {
            Family::WebSearch => Ok(vec![self.web_search.tool(options)?]),
            Family::Knowledge => {
                let base = options.knowledge.as_ref().ok_or(NO_KNOWLEDGE)?;
                Ok(base.tools(options.max_results))
            }
            Family::ReadFile => {
                let work = ReadFile(self.workspace("read_file")?);
                Ok(vec![tool(&files::READ, files::LIMIT, work)])
            }
            Family::ListFiles => {
                let work = ListFiles(self.workspace("list_files")?);
                Ok(vec![tool(&files::LIST, files::LIMIT, work)])
            }
        }
    }

    fn workspace(&self, name: &'static str) -> Result<Arc<Workspace>, BuiltinError> {
        let mend = "set tools.workspace to a folder";
        let missing = BuiltinError::NotConfigured { name, mend };
        self.workspace.clone().ok_or(missing)
    }
}

fn unknown(name: &str) -> BuiltinError {
    let known = NAMES.map(|(name, _)| name);
    let hint = match nearest(name, known) {
        Some(known) => format!("did you mean {known:?}?"),
        None => format!("expected one of {}", known.join(", ")),
    };
    let name = name.to_owned();
    BuiltinError::Unknown { name, hint }
}

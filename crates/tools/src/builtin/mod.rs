//! Tools that come with the engine: web search, documents, files. Each is a plain
//! [`Tool`]: what it may reach is fixed when it is made, and it does not know who
//! calls it.

mod files;
mod knowledge;
mod web_search;

use std::sync::Arc;

use quillet_core::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::{BoxFuture, ErrorCode, Map, Value, nearest};
use serde_json::{Value as Json, json};

use crate::Tools;
use crate::deadline::Limit;
use crate::parameters::Parameters;

pub(crate) use files::Workspace;
use files::{ListFiles, ReadFile};
pub(crate) use knowledge::Remote;
pub use knowledge::{Injection, KnowledgeBase, KnowledgeScope, RemoteKnowledgeConfig};
pub(crate) use web_search::WebSearch;
pub use web_search::{SearchApi, SearchEngineConfig, WebSearchConfig};

/// Built-in tools that a name alone asks for; those for documents need a request that names some.
pub const BY_NAME: [&str; 3] = ["web_search", "read_file", "list_files"];

/// Names under which requests ask for built-in tools, and what each is.
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

/// Options of a built-in tool in a request.
#[derive(Clone, Debug, Default)]
pub struct BuiltinOptions {
    /// The search engine to ask; the first of the configuration where `None`.
    pub engine: Option<String>,
    /// The most results of a search, where the model does not say how many.
    pub max_results: Option<u32>,
    /// The documents that the conversation may read, for the knowledge tools.
    pub knowledge: Option<Arc<KnowledgeBase>>,
}

const NO_KNOWLEDGE: BuiltinError = BuiltinError::NotConfigured {
    name: "knowledge_base_search",
    mend: "name knowledge bases in the request, and set up a store for them or tools.rag.base_url",
};

/// The error of a built-in tool that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BuiltinError {
    /// The name is none of them.
    #[error("there is no built-in tool {name:?} ({hint})")]
    Unknown {
        /// The name that was asked for.
        name: String,
        /// The nearest known name, or all of them.
        hint: String,
    },
    /// It is not set up here.
    #[error("the built-in tool {name} is not set up ({mend})")]
    NotConfigured {
        /// The tool.
        name: &'static str,
        /// What to set.
        mend: &'static str,
    },
    /// An option names something that is not there.
    #[error("{0}")]
    Option(String),
}

impl BuiltinError {
    /// Stable code, as in warnings.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            BuiltinError::Unknown { .. } => ErrorCode::ToolUnknown,
            BuiltinError::NotConfigured { .. } => ErrorCode::ToolNotConfigured,
            BuiltinError::Option(_) => ErrorCode::ToolOption,
        }
    }
}

impl Tools {
    /// The tools behind a name by which requests ask for built-in ones.
    ///
    /// # Errors
    /// There is none of that name, it is not set up, or an option is wrong.
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
}

impl Tools {
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
        None => format!("known are {}", known.join(", ")),
    };
    let name = name.to_owned();
    BuiltinError::Unknown { name, hint }
}

/// What a built-in tool does with arguments that fit its schema.
pub(crate) trait Work: Send + Sync + std::fmt::Debug {
    fn run<'a>(&'a self, arguments: &'a Map) -> BoxFuture<'a, Result<Value, ToolError>>;
}

/// What a built-in tool is called and takes. Made once, since compiling a schema
/// costs more than a request for the tool should.
#[derive(Debug)]
struct Shape {
    spec: ToolSpec,
    parameters: Parameters,
}

impl Shape {
    /// The shape of a tool with these properties as its arguments, those in
    /// `required` without a default.
    fn new(name: &str, description: &str, properties: &Json, required: &[&str]) -> Self {
        let schema = json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
        let parameters = Parameters::compile(&schema);
        Shape {
            spec: ToolSpec {
                name: name.to_owned(),
                description: description.to_owned(),
                parameters: schema,
                ..ToolSpec::default()
            },
            parameters: parameters.expect("schemas of built-in tools are constants"),
        }
    }
}

/// A built-in tool: checks arguments and keeps time around its work.
#[derive(Debug)]
struct Builtin<W> {
    shape: &'static Shape,
    limit: Limit,
    work: W,
}

fn tool(shape: &'static Shape, limit: Limit, work: impl Work + 'static) -> Arc<dyn Tool> {
    Arc::new(Builtin { shape, limit, work })
}

impl<W: Work> Tool for Builtin<W> {
    fn spec(&self) -> &ToolSpec {
        &self.shape.spec
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let tool = self.shape.spec.name.as_str();
            let arguments = self.shape.parameters.prepare(tool, arguments)?;
            let left = self.limit.left(context);
            self.limit.hold(tool, left, self.work.run(&arguments)).await
        })
    }
}

/// A failure that the model reads as a JSON object, as it reads results: `{"error": …}` and what
/// belongs to it.
fn failure(kind: ToolErrorKind, message: String, for_model: &Json) -> ToolError {
    ToolError {
        kind,
        message,
        for_model: for_model.to_string(),
    }
}

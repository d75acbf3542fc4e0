//! Approval of tool calls of scripts on the terminal, as in `quillet chat`.

use std::fmt;
use std::future::pending;
use std::sync::Arc;

use quillet_core::journal::{ApprovalReason, Decision};
use quillet_core::tool::{Tool, ToolContext, ToolError, ToolErrorKind, ToolSpec};
use quillet_core::web::{WebAnswer, WebRequest};
use quillet_core::{BoxFuture, Map, Value};
use quillet_script::host::{FETCH, Network, Tools};
use tokio::sync::Mutex;

use super::screen::ScriptPrinter;
use crate::command::chat::approval::{decision, question};
use crate::command::chat::input::InputSource;

/// Name of the history file of answers, shared with `quillet chat`.
const HISTORY: &str = "chat_history";

/// Terminal for approvals. Asks one question at a time, because calls can be concurrent.
struct Terminal {
    screen: Arc<ScriptPrinter>,
    turn: Mutex<()>,
}

impl fmt::Debug for Terminal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Terminal")
    }
}

impl Terminal {
    /// Asks for approval and returns the arguments of the call. Leaving the prompt ends the run.
    async fn ask(&self, tool: &str, arguments: Map) -> Result<Map, String> {
        // The lock is held until the user answers, because two questions at once would share one
        // input line.
        let _turn = self.turn.lock().await;
        let shown = serde_json::Value::from(&Value::Map(arguments.clone()));
        let shown = shown.as_object().cloned().unwrap_or_default();
        let question = question(tool, &shown, ApprovalReason::Permission);
        let failed = |error: crate::failure::CliError| error.to_string();
        let mut input = InputSource::open(Vec::new(), HISTORY).map_err(failed)?;
        match decision(&question, &mut input).await.map_err(failed)? {
            Some(Decision::Deny { note }) => Err(note.unwrap_or_else(|| {
                "The call was not made: the person who was asked did not agree.".to_owned()
            })),
            Some(_) => Ok(arguments),
            None => {
                // The caller ends the run and drops this future, so the call is never made.
                self.screen.request_exit();
                pending().await
            }
        }
    }
}

/// Tools of a script, with approvals on the terminal.
#[derive(Debug)]
pub(super) struct AtTerminal {
    inner: Arc<dyn Tools>,
    terminal: Arc<Terminal>,
}

impl AtTerminal {
    pub(super) fn new(inner: Arc<dyn Tools>, screen: Arc<ScriptPrinter>) -> Self {
        let turn = Mutex::default();
        let terminal = Arc::new(Terminal { screen, turn });
        AtTerminal { inner, terminal }
    }
}

impl Tools for AtTerminal {
    fn tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.inner.tool(name)
    }

    fn names(&self) -> Vec<String> {
        self.inner.names()
    }

    fn dry(&self, name: &str) -> Option<Arc<dyn Tool>> {
        self.inner.dry(name)
    }

    fn approved_tool(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let (inner, terminal) = (self.inner.tool(name)?, self.terminal.clone());
        Some(Arc::new(ApprovalTool { inner, terminal }))
    }

    fn approved_network(&self) -> Option<Arc<dyn Network>> {
        let (inner, terminal) = (self.inner.network()?, self.terminal.clone());
        Some(Arc::new(ApprovalNetwork { inner, terminal }))
    }

    fn network(&self) -> Option<Arc<dyn Network>> {
        self.inner.network()
    }

    fn has_unasked(&self) -> bool {
        self.inner.has_unasked()
    }
}

/// A tool that needs approval.
#[derive(Debug)]
struct ApprovalTool {
    inner: Arc<dyn Tool>,
    terminal: Arc<Terminal>,
}

impl Tool for ApprovalTool {
    fn spec(&self) -> &ToolSpec {
        self.inner.spec()
    }

    fn call<'a>(
        &'a self,
        arguments: Map,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move {
            let agreed = self.terminal.ask(&self.spec().name, arguments).await;
            let arguments = agreed.map_err(|why| ToolError::new(ToolErrorKind::Refused, why))?;
            self.inner.call(arguments, context).await
        })
    }
}

/// Network access that needs approval.
#[derive(Debug)]
struct ApprovalNetwork {
    inner: Arc<dyn Network>,
    terminal: Arc<Terminal>,
}

impl Network for ApprovalNetwork {
    fn fetch(&self, request: WebRequest) -> BoxFuture<'_, Result<WebAnswer, String>> {
        Box::pin(async move {
            let shown = [
                ("method", Value::from(request.method.as_str())),
                ("url", Value::from(request.url.as_str())),
            ];
            self.terminal.ask(FETCH, Map::from_iter(shown)).await?;
            self.inner.fetch(request).await
        })
    }
}

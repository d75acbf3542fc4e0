//! Methods of the MCP server.

use std::sync::Arc;

use quillet_core::tool::{Tool, ToolContext};
use quillet_core::{Map, Value, nearest};
use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, Implementation, ListPromptsResult, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value as Tree;

use super::approval::{self, ApprovalChannel};
use super::convert;
use crate::serve::{AgentReply, McpBackend, NotRendered, PromptOffer};

/// Name prefix of agents in the tool list.
const AGENT: &str = "agent_";

/// Number of entries per page of a list.
const PAGE: usize = 1000;

/// Handles the requests of one or several clients.
#[derive(Clone, Debug)]
pub(super) struct Handler {
    offer: Arc<dyn McpBackend>,
}

impl Handler {
    pub(super) fn new(offer: Arc<dyn McpBackend>) -> Self {
        Handler { offer }
    }

    async fn is_agent(&self, name: &str) -> bool {
        // The prefix is tested first, because listing the agents may read the store.
        name.starts_with(AGENT)
            && self
                .offer
                .agents()
                .await
                .iter()
                .any(|spec| spec.name == name)
    }

    /// Calls an agent, and asks the client's user about pending approvals.
    async fn agent(
        &self,
        request: CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let asked = async {
            let mut way = approval::way(context);
            let mut asked = match request.request_state {
                None => {
                    self.offer
                        .ask(&request.name, map(request.arguments))
                        .await?
                }
                Some(run) => {
                    let decisions = request.input_responses.map(approval::answers);
                    let decisions = decisions.unwrap_or_default();
                    // If the user has decided nothing, the question is not repeated.
                    if decisions.is_empty() {
                        way = ApprovalChannel::Never;
                    }
                    self.offer.go_on(&run, decisions).await?
                }
            };
            loop {
                let AgentReply::Waits { run, calls } = asked else {
                    return Ok((asked, way));
                };
                let mut decisions = Vec::new();
                if way == ApprovalChannel::Meanwhile {
                    for call in &calls {
                        decisions.extend(approval::ask(context, call).await);
                    }
                }
                if decisions.is_empty() {
                    return Ok((AgentReply::Waits { run, calls }, way));
                }
                asked = self.offer.go_on(&run, decisions).await?;
            }
        };
        let asked = tokio::select! {
            asked = asked => asked,
            () = context.ct.cancelled() => {
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
        };
        let text = match asked {
            Ok((AgentReply::Done(text), _)) => Ok(Value::from(text)),
            Ok((AgentReply::Waits { run, calls }, ApprovalChannel::InResult)) => {
                return Ok(CallToolResponse::InputRequired(approval::input_required(
                    run, &calls,
                )));
            }
            Ok((AgentReply::Waits { run, calls }, _)) => {
                Ok(Value::from(approval::left_waiting(&run, &calls)))
            }
            Err(error) => Err(error),
        };
        Ok(CallToolResponse::Complete(convert::result(text)))
    }

    fn tool(&self, name: &str) -> Result<Arc<dyn Tool>, ErrorData> {
        let tools = self.offer.tools();
        if let Some(found) = tools.iter().find(|tool| tool.spec().name == name) {
            return Ok(found.clone());
        }
        let names = tools.iter().map(|tool| tool.spec().name.as_str());
        Err(unknown("tool", name, nearest(name, names)))
    }
}

fn unknown(what: &str, name: &str, near: Option<&str>) -> ErrorData {
    let hint = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
    ErrorData::invalid_params(format!("unknown {what} {name}{hint}"), None)
}

/// Returns a page of a list and the cursor of the next page. A cursor is the index of its first
/// entry.
fn page<T>(
    mut all: Vec<T>,
    request: Option<PaginatedRequestParams>,
) -> Result<(Vec<T>, Option<String>), ErrorData> {
    let cursor = request.and_then(|request| request.cursor);
    let begin: usize = match cursor {
        None => 0,
        Some(text) => text
            .parse()
            .map_err(|_| ErrorData::invalid_params(format!("invalid cursor {text:?}"), None))?,
    };
    let end = begin.saturating_add(PAGE);
    let next = (end < all.len()).then(|| end.to_string());
    all.truncate(end);
    Ok((all.split_off(begin.min(all.len())), next))
}

fn map(arguments: Option<rmcp::model::JsonObject>) -> Map {
    match Value::from(Tree::Object(arguments.unwrap_or_default())) {
        Value::Map(map) => map,
        _ => Map::default(),
    }
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_prompts()
            .enable_tools()
            .build();
        let mut info = ServerConfig::new(capabilities);
        info.server_info = Implementation::new("quillet", env!("CARGO_PKG_VERSION"));
        info.instructions = self.offer.instructions();
        info
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = self.offer.tools();
        let mut tools: Vec<_> = tools
            .iter()
            .map(|tool| convert::tool(tool.spec()))
            .collect();
        tools.extend(self.offer.agents().await.iter().map(convert::tool));
        let (tools, next) = page(tools, request)?;
        let mut result = ListToolsResult::with_all_items(tools);
        result.next_cursor = next;
        Ok(result)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        if self.is_agent(&request.name).await {
            return self.agent(request, &context).await;
        }
        let tool = self.tool(&request.name)?;
        let call = ToolContext {
            deadline: None,
            request_id: context.id.to_string().into(),
            call: Arc::default(),
        };
        tokio::select! {
            result = tool.call(map(request.arguments), &call) => {
                Ok(CallToolResponse::Complete(convert::result(result)))
            }
            () = context.ct.cancelled() => {
                Err(ErrorData::internal_error("the call was cancelled", None))
            }
        }
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let (prompts, next) = page(self.offer.prompts(), request)?;
        let prompts = prompts.into_iter().map(convert::prompt);
        let mut result = ListPromptsResult::with_all_items(prompts.collect());
        result.next_cursor = next;
        Ok(result)
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let offered = self.offer.prompts();
        // Versions are selected by a name suffix and are not listed.
        let named = |prompt: &&PromptOffer| {
            let rest = request.name.strip_prefix(prompt.name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('@'))
        };
        let Some(prompt) = offered.iter().find(named) else {
            let names = offered.iter().map(|prompt| prompt.name.as_str());
            return Err(unknown(
                "prompt",
                &request.name,
                nearest(&request.name, names),
            ));
        };
        let rendered = self
            .offer
            .render(&request.name, map(request.arguments))
            .await;
        let messages = rendered.map_err(|error| match error {
            NotRendered::Asked(text) => ErrorData::invalid_params(text, None),
            NotRendered::Failed(text) => ErrorData::internal_error(text, None),
        })?;
        let messages = messages.iter().flat_map(convert::message).collect();
        let mut result = GetPromptResult::new(messages);
        result.description.clone_from(&prompt.description);
        Ok(GetPromptResponse::Complete(result))
    }
}

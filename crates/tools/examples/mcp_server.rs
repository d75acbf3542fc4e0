//! A small MCP server over stdio, for trying out MCP tools. Example of a definition:
//! `{"type": "mcp", "mcp": {"command": "…/mcp_server", "tool": "echo"}}`.

use rmcp::ErrorData;
use rmcp::ServiceExt;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ServerCapabilities,
    ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};

#[derive(Clone)]
struct Demo;

impl ServerHandler for Demo {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        answer(&request.name, &arguments)
            .await
            .map(CallToolResponse::Complete)
    }
}

async fn answer(tool: &str, arguments: &Value) -> Result<CallToolResult, ErrorData> {
    let text = |text: String| CallToolResult::success(vec![ContentBlock::text(text)]);
    Ok(match tool {
        "echo" => text(arguments["text"].as_str().unwrap_or_default().to_owned()),
        "json" => text(json!({"n": 1_000_000, "given": arguments}).to_string()),
        "structured" => {
            CallToolResult::structured(json!({"translated": "hello", "given": arguments}))
        }
        "process" => text(std::process::id().to_string()),
        "environment" => text(std::env::var("DEMO_SECRET").unwrap_or_default()),
        "fail" => CallToolResult::error(vec![ContentBlock::text("the disk is full")]),
        "large" => text("x".repeat(2 << 20)),
        "exit" => std::process::exit(3),
        "slow" => {
            tokio::time::sleep(std::time::Duration::from_secs(60)).await;
            text("late".to_owned())
        }
        _ => {
            return Err(ErrorData::invalid_params(
                format!("there is no tool {tool}"),
                None,
            ));
        }
    })
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    eprintln!("demo server is up");
    let service = Demo.serve(rmcp::transport::stdio()).await?;
    service.waiting().await?;
    Ok(())
}

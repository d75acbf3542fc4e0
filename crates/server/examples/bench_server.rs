//! The servers that the benchmarks compare.
//!
//! `bench_server quillet redis://…` serves the prompts of that store. `bench_server bare TEXT` is a
//! plain axum handler that reads the body and responds with TEXT. Both print their address.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::post;
use quillet_core::Diagnostic;
use quillet_core::tool::{BuiltTool, ToolBuilder};
use quillet_prompt::{Catalogue, PromptService, ServiceOptions, Variables};
use quillet_server::{HttpServer, ServerConfig};
use quillet_store::StoreOptions;
use quillet_template::TemplateFactory;
use tokio::net::TcpListener;

type Failure = Box<dyn std::error::Error>;

/// The benchmark has no tools.
#[derive(Debug)]
struct NoTools;

impl ToolBuilder for NoTools {
    fn build(&self, _: &str, _: &str, source: &str, _: &str) -> Result<BuiltTool, Vec<Diagnostic>> {
        Err(vec![Diagnostic::error(
            "tool.definition",
            source,
            "there are no tools here",
        )])
    }
}

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments.as_slice() {
        ["quillet", address] => quillet(address).await,
        ["bare", text] => bare(text).await,
        _ => Err("usage: bench_server quillet redis://HOST:PORT | bare TEXT".into()),
    }
}

async fn quillet(address: &str) -> Result<(), Failure> {
    let store = quillet_store::open(address, &StoreOptions::default()).await?;
    let catalogue = Catalogue::new(
        store.clone(),
        TemplateFactory::standard(),
        Arc::new(NoTools),
        100,
    );
    let service = PromptService::new(
        catalogue,
        Variables::new(store),
        None,
        ServiceOptions::default(),
    );
    let service = Arc::new(service);
    let config = ServerConfig {
        listen: ([127, 0, 0, 1], 0).into(),
        ..ServerConfig::default()
    };
    let server = HttpServer::bind(config, service.clone()).await?;
    println!("{}", server.local_addr());
    tokio::spawn(async move { service.watch().await });
    server.run(std::future::pending()).await;
    Ok(())
}

async fn bare(text: &str) -> Result<(), Failure> {
    let text = Bytes::from(text.to_owned());
    let answer = async move |_body: Bytes| ([(CONTENT_TYPE, "application/json")], text);
    let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
    println!("{}", listener.local_addr()?);
    let router = Router::new().route("/api/render/prompts/{id}", post(answer));
    axum::serve(listener, router).await?;
    Ok(())
}

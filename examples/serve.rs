//! The service over HTTP, inside of a program of one's own: what `quillet serve` does.
//! Run it: `cargo run -p quillet --features server --example serve`.

use quillet::components::serving::server_config;
use quillet::server::HttpServer;
use quillet::{Host, Settings};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut settings = Settings::from_env()?;
    let demo = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/demo");
    settings.set("store.url", &format!("dir:{demo}"))?;
    settings.set("server.listen", "127.0.0.1:0")?;

    let host = Host::open(&settings).await?;
    let server = HttpServer::bind(server_config(&settings)?, host.services()).await?;
    let address = server.local_addr();
    println!("GET http://{address}/api/prompts");
    let client = async {
        let answer = reqwest::get(format!("http://{address}/api/prompts")).await;
        println!(
            "{}",
            answer.map_or_else(|error| error.to_string(), |it| it.status().to_string())
        );
    };
    // A program that goes on serving waits for control-C here.
    tokio::select! {
        _ = server.run(client) => {}
        () = host.watch() => {}
    }
    Ok(())
}

//! A prompt of Redis, rendered and sent to a model, and a script: with a Redis at 127.0.0.1 and a key
//! in OPENAI_API_KEY. Run it: `cargo run -p quillet --features redis --example redis`.

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = std::env::args()
        .nth(1)
        .unwrap_or("redis://127.0.0.1/".into());
    let quillet = quillet::Quillet::open(&store).await?;
    println!(
        "{:?}",
        quillet
            .render("greet.hello", [("name", "Ada")])
            .await?
            .prompt
    );
    println!(
        "{}",
        quillet
            .chat("greet.hello", [("name", "Ada")])
            .await?
            .whole()?
            .text
    );
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/scripts/translate/translate.ai.yaml"
    );
    println!(
        "{:?}",
        quillet
            .run_script(script, [("content", "Good day")])
            .await?
            .value
    );
    Ok(())
}

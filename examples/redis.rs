//! A prompt of Redis, rendered and sent to a model, and a script. With a Redis that has the prompt
//! `greet.hello`, and QUILLET_MODEL with the key of its provider, or `mock`:
//! `QUILLET_MODEL=mock cargo run -p quillet --features redis --example redis redis://127.0.0.1/`.

use quillet::Quillet;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = std::env::args().nth(1).expect("the address of a store");
    let quillet = Quillet::open(&store).await?;
    let rendered = quillet.render("greet.hello", [("name", "Ada")]).await?;
    let reply = quillet.chat("greet.hello", [("name", "Ada")]).await?;
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/scripts/translate"
    );
    let outcome = quillet
        .run_script(script, [("content", "Guten Tag")])
        .await?;
    println!(
        "{}\n{}\n{:?}",
        rendered.prompt,
        reply.ensure_complete()?.text,
        outcome.value
    );
    Ok(())
}

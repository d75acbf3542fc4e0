//! Prompts of a folder, with a shared variable and one of the request.
//! Run it: `cargo run -p quillet --example prompts`.

use quillet::{Quillet, Settings};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("quillet-prompts-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("prompts"))?;
    std::fs::create_dir_all(folder.join("environs/shop"))?;
    std::fs::write(
        folder.join("prompts/greet.json"),
        r#"{"messages": [{"role": "system", "content": "You work for {{.shop.name}}."},
                         {"role": "user", "content": "Greet {{.variables.name}}."}]}"#,
    )?;
    std::fs::write(folder.join("environs/shop/name.json"), r#""Quill & Co""#)?;

    let mut settings = Settings::default();
    settings.set("store.url", &format!("dir:{}", folder.display()))?;
    let quillet = Quillet::with_settings(settings).await?;
    for message in quillet.messages("greet", [("name", "Ada")]).await? {
        println!("{}: {}", message.role, message.content);
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}

//! A chat template of Hugging Face (Jinja), with the conversation as data: nothing that a user writes
//! becomes a boundary of messages. Run it: `cargo run -p quillet --example messages`.

use quillet::core::json;
use quillet::{Template, TemplateError, Value};

const TEMPLATE: &str = "{% for message in messages %}<|{{ message.role }}|>
{{ message.content }}</s>
{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% endif %}";

fn main() -> Result<(), TemplateError> {
    let template = Template::new("jinja", TEMPLATE)?;
    let talk = r#"[{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]"#;
    let talk: Value = json::parse(talk).unwrap_or_default();
    print!(
        "{}",
        template.render([("messages", talk), ("add_generation_prompt", true.into())])?
    );
    Ok(())
}

//! A text out of a template. Run it: `cargo run -p quillet --example render`.

use quillet::{Template, TemplateError, Value};

fn main() -> Result<(), TemplateError> {
    println!(
        "{}",
        quillet::render("Hello {{.name}}!", [("name", "Ada")])?
    );

    // Compiled once, rendered often; every format has the same two lines.
    let offer = Template::new("jinja", "{{ name }}{% if vip %}, welcome back{% endif %}.")?;
    for (name, vip) in [("Ada", true), ("Bob", false)] {
        println!(
            "{}",
            offer.render([("name", Value::from(name)), ("vip", vip.into())])?
        );
    }
    Ok(())
}

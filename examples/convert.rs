//! A template of one format in another, or why there is no exact counterpart.
//! Run it: `cargo run -p quillet --example convert`.

use quillet::template::convert::{Language, convert};

fn main() {
    let source = "{{#if name}}Hello {{name}}!{{else}}Hello!{{/if}}";
    for to in [Language::Go, Language::Jinja, Language::Mustache] {
        match convert(source, Language::Handlebars, to) {
            Ok(text) => println!("{}: {text}", to.name()),
            Err(refused) => println!("{}: {refused}", to.name()),
        }
    }
}

//! A template of one format in another, or why there is no exact counterpart.
//! Run it: `cargo run -p quillet --example convert`.

use quillet::template::TemplateSource;
use quillet::template::convert::{ConvertOptions, Language, convert};

fn main() {
    let text = "{{#each names}}{{@index}}. {{this}}\n{{/each}}";
    let source = TemplateSource::new("list", text);
    for to in [Language::Go, Language::Jinja, Language::Mustache] {
        match convert(
            &source,
            Language::Handlebars,
            to,
            &ConvertOptions::default(),
        ) {
            Ok(converted) => println!("{}: {}", to.name(), converted.text),
            Err(refused) => refused
                .iter()
                .for_each(|why| println!("{}: {why}", to.name())),
        }
    }
}

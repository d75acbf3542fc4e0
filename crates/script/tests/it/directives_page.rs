//! `docs/scripts/directives.md`, written out of the code's own tables.

use std::fmt::Write as _;

use quillet_script::answer::Inputs;
use quillet_script::directive::{Directive, DirectiveForm, DirectiveSpec};
use quillet_script::library::{BuiltinLibrary, Library};

const HEAD: &str = "# Directives and built-in scripts

Written by `cargo run -p quillet-script --example directives`, out of the table that the interpreter,
`quillet check` and the editor use; a test holds it to that. Numbers in brackets are those of the
[language](language.md).

Arguments stand in brackets (`$format(template=\"{{x}}\", data=o)`), after the colon as an object
(`$format: {template: …}`), or after the colon as one value, which is the first parameter. In brackets
the order below is that of arguments without names. **Bold** parameters cannot be left out. `…` takes
any other names: variables, settings of models, arguments. Everywhere else a name that is not listed
is an error with the names that are.

| directive | parameters | what it does |
|---|---|---|
";

const SCRIPTS: &str = "
## Built-in scripts

They are called as any other: `-> translator(lang=\"German\")`, `[[@file(notes.txt)]]`,
`$exec: {id: json, args: {…}}`. A script of the same name in the own folder goes before.

| script | inputs | what it does |
|---|---|---|
";

/// The whole page.
pub(crate) fn page() -> String {
    let mut page = HEAD.to_owned();
    for directive in Directive::ALL.iter().map(|known| known.spec()) {
        let names = std::iter::once(&directive.name).chain(directive.aliases);
        let names: Vec<String> = names.map(|name| format!("`${name}`")).collect();
        let notes: Vec<String> = directive.notes.iter().map(u16::to_string).collect();
        let _ = writeln!(
            page,
            "| {} | {} | {} ({}) |",
            names.join(", "),
            parameters(directive),
            cell(directive.doc).trim_end_matches('.'),
            notes.join(", ")
        );
    }
    page.push_str(SCRIPTS);
    for id in BuiltinLibrary.ids() {
        let script = BuiltinLibrary::get(&id)
            .expect("it can be read")
            .expect("it is there");
        let config = |key: &str| script.config.get(key);
        let input = config("input")
            .map(quillet_yaml::Node::value)
            .unwrap_or_default();
        let inputs = Inputs::read(&input).expect("its inputs are right");
        let inputs = inputs.fields.iter().filter(|field| !field.hidden);
        let inputs = inputs.map(|field| named(&field.name, field.required, &field.description));
        let title = config("title").and_then(quillet_yaml::Node::as_str);
        let inputs: Vec<String> = inputs.collect();
        let _ = writeln!(
            page,
            "| `{id}` | {} | {} |",
            inputs.join("; "),
            cell(title.unwrap_or_default())
        );
    }
    page
}

fn parameters(directive: &DirectiveSpec) -> String {
    let own = directive.parameters.iter();
    let own = own.map(|parameter| named(parameter.name, parameter.required, parameter.doc));
    let mut all: Vec<String> = own.collect();
    match directive.form {
        DirectiveForm::Blocks(blocks) => {
            all.extend(blocks.iter().map(|name| format!("`{name}`: instructions")));
        }
        DirectiveForm::Patterns => all.push("patterns, each with instructions".to_owned()),
        DirectiveForm::Plain | DirectiveForm::InLoop => {}
    }
    if directive.open {
        all.push("…".to_owned());
    }
    all.join("; ")
}

fn named(name: &str, required: bool, doc: &str) -> String {
    let name = if required {
        format!("**`{name}`**")
    } else {
        format!("`{name}`")
    };
    if doc.is_empty() {
        name
    } else {
        format!("{name}: {}", cell(doc))
    }
}

/// A text that ends no column.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    #[test]
    fn the_page_says_what_the_tables_say() {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/scripts/directives.md");
        let written = std::fs::read_to_string(path).unwrap();
        assert!(
            written == super::page(),
            "docs/scripts/directives.md is old: write it anew with \
             `cargo run -p quillet-script --example directives`"
        );
    }
}

//! Runs the files of conformance vectors. The example `vectors` and the test suite share this code.

mod declared;
mod file;
mod fstring;
mod functions;
mod go;
mod handlebars;
mod jinja;
mod known;
mod liquid;
mod mustache;
mod ranked;
pub(crate) mod report;
mod semantic_kernel;
mod sk_chat_prompt;
mod sk_handlebars;
mod sk_jinja2;

use std::path::Path;

use report::Report;

/// Runs one file. The content of the file decides its format.
///
/// # Errors
/// Returns an error if the file cannot be read or does not contain vectors of a known format.
pub(crate) fn run(path: &Path) -> Result<Report, String> {
    let place = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{place}: {error}"))?;
    let outcomes = match format_of(&text).as_deref() {
        Some("go") => go::run(&text),
        Some("f-string") => fstring::run(&text),
        Some("handlebars") => handlebars::run(&text),
        Some("jinja2") => jinja::run(&text),
        Some("semantic-kernel") => semantic_kernel::run(&text),
        Some("liquid") => liquid::run(&text),
        Some("mustache") => mustache::run(&text),
        Some("mustache-spec") => mustache::run_specification(&text),
        Some("sk-chat-prompt") => sk_chat_prompt::run(&text),
        Some("sk-handlebars") => sk_handlebars::run(&text),
        Some("sk-jinja2") => sk_jinja2::run(&text),
        _ => Err("no vectors of a format that exists".to_owned()),
    };
    let outcomes = outcomes.map_err(|error| format!("{place}: {error}"))?;
    Ok(Report::new(outcomes, known::differences(path)?))
}

/// Returns the name that a file uses for its format.
fn format_of(text: &str) -> Option<String> {
    let file: serde_json::Value = serde_json::from_str(text).ok()?;
    let what = file["meta"]["what"].as_str().unwrap_or_default();
    if what.contains("text/template") {
        return Some("go".to_owned());
    }
    file["format"].as_str().map(str::to_owned)
}

//! Prompt files: `.prompt` (dotprompt), `.prompty`, and Semantic Kernel functions. All are parsed
//! to the same [`Prompt`] as other definitions.
//!
//! Nothing here accesses files, the environment or the network. The caller passes the text of a
//! file, and a [`FileEnvironment`] for its references.

mod block;
mod dotprompt;
mod editor;
mod environment;
mod front_matter;
mod picoschema;
mod prompty;
mod references;
mod semantic_kernel;
mod source;
pub(crate) mod yaml;

pub use crate::options::chat_options;
pub use crate::rich::{RichKind, StructuredVariable};
pub use editor::{completions, tokens};
pub use environment::{AccessError, EnvironmentProvider, FileEnvironment, NoEnvironment};
pub use source::PromptFile;

use crate::checked::CheckResult;
use crate::definition::Prompt;

/// The kind of a prompt file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// dotprompt: `NAME.prompt`, `NAME.VARIANT.prompt`, and `_NAME.prompt` for a partial.
    Dotprompt,
    /// prompty, version 2: `NAME.prompty`.
    Prompty,
    /// A Semantic Kernel function in YAML.
    SemanticKernel,
    /// A Semantic Kernel function in a folder: `skprompt.txt` beside `config.json`.
    SemanticKernelFolder,
}

/// Returns the kind of a prompt file by its name and text, or `None` if it is not a prompt file.
///
/// # Examples
///
/// ```
/// use quillet_prompt::file::{FileKind, kind};
///
/// assert_eq!(kind("prompts/greet.prompt", ""), Some(FileKind::Dotprompt));
/// assert_eq!(kind("greet.prompty", ""), Some(FileKind::Prompty));
/// assert_eq!(kind("README.md", ""), None);
/// ```
#[must_use]
pub fn kind(name: &str, text: &str) -> Option<FileKind> {
    let name = last(name);
    if name == "skprompt.txt" {
        return Some(FileKind::SemanticKernelFolder);
    }
    match name.rsplit_once('.')?.1 {
        "prompt" => Some(FileKind::Dotprompt),
        "prompty" => Some(FileKind::Prompty),
        "yaml" | "yml" => semantic_kernel::claims(text).then_some(FileKind::SemanticKernel),
        _ => None,
    }
}

/// Returns the prompt name of a prompt file: `greet.formal` for `greet.formal.prompt`, and the
/// folder name for `skprompt.txt`.
///
/// # Examples
///
/// ```
/// use quillet_prompt::file::stem;
///
/// assert_eq!(stem("prompts/greet.formal.prompt"), "greet.formal");
/// assert_eq!(stem("plugins/joke/skprompt.txt"), "joke");
/// ```
#[must_use]
pub fn stem(name: &str) -> &str {
    if last(name) == "skprompt.txt" {
        let folder = name.trim_end_matches("skprompt.txt");
        return last(folder.trim_end_matches(['/', '\\']));
    }
    let name = last(name);
    name.rsplit_once('.').map_or(name, |(stem, _)| stem)
}

fn last(name: &str) -> &str {
    name.rsplit(['/', '\\']).next().unwrap_or(name)
}

/// Parses a prompt file. A valid prompt may have warnings. Every diagnostic has a line and column
/// in the file.
///
/// # Errors
/// Returns all errors of the file, or an error if it is not a prompt file.
///
/// # Examples
///
/// ```
/// use quillet_prompt::file::{NoEnvironment, PromptFile, read};
///
/// let file = PromptFile {
///     id: "greet",
///     name: "greet.prompt",
///     text: "---\nmodel: small\n---\nHello {{name}}!",
///     config: None,
/// };
/// let (prompt, _) = read(&file, &NoEnvironment).unwrap();
/// assert_eq!(prompt.model.as_deref(), Some("small"));
/// assert_eq!(prompt.format, "dotprompt");
/// ```
pub fn read(file: &PromptFile<'_>, outside: &dyn FileEnvironment) -> CheckResult<Prompt> {
    let text = file.text.strip_prefix('\u{feff}').unwrap_or(file.text);
    let file = &PromptFile { text, ..*file };
    match kind(file.name, text) {
        Some(FileKind::Dotprompt) => dotprompt::read(file, outside),
        Some(FileKind::Prompty) => prompty::read(file, outside),
        Some(FileKind::SemanticKernel) => semantic_kernel::read(file),
        Some(FileKind::SemanticKernelFolder) => semantic_kernel::read_folder(file),
        None => Err(vec![not_known(file.name)]),
    }
}

fn not_known(name: &str) -> quillet_core::Diagnostic {
    let message = "this is not a prompt file";
    quillet_core::Diagnostic::error("file.kind", name, message).help(
        "prompt files are NAME.prompt, NAME.prompty, skprompt.txt with config.json, \
         and YAML with template and template_format or input_variables",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_say_what_a_file_is() {
        let cases = [
            (
                "a/greet.formal.prompt",
                "",
                Some(FileKind::Dotprompt),
                "greet.formal",
            ),
            ("_head.prompt", "", Some(FileKind::Dotprompt), "_head"),
            ("x.prompty", "", Some(FileKind::Prompty), "x"),
            (
                "a/joke/skprompt.txt",
                "",
                Some(FileKind::SemanticKernelFolder),
                "joke",
            ),
            (
                "j.yaml",
                "template: x\ntemplate_format: handlebars\n",
                Some(FileKind::SemanticKernel),
                "j",
            ),
            (
                "j.yml",
                "template: x\ninput_variables: []\n",
                Some(FileKind::SemanticKernel),
                "j",
            ),
            ("j.yaml", "messages: []\n", None, "j"),
            ("j.json", "{}", None, "j"),
            ("README", "", None, "README"),
        ];
        for (name, text, expected, stem_of) in cases {
            assert_eq!(kind(name, text), expected, "{name}");
            assert_eq!(stem(name), stem_of, "{name}");
        }
    }
}

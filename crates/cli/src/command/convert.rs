//! `quillet convert`: converts a template or a prompt file to another format if there is an exact
//! counterpart.

use std::fs;
use std::path::{Path, PathBuf};

use quillet_core::Exit;
use quillet_prompt::convert::{self as files, ConvertTarget, FileOptions};
use quillet_prompt::file::{self, NoEnvironment, PromptFile};
use quillet_template::convert::{self as templates, ConvertOptions, Language, VariableType};
use quillet_template::{TemplateFactory, TemplateSource};

use crate::args::Convert;
use crate::failure::CliError;
use crate::report::{self, LocatedDiagnostic};
use crate::source::{self, InputFileKind};
use crate::terminal::{self, Stream};
use crate::walk;

/// Class of a source or target file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileClass {
    /// A single template.
    Template(Language),
    /// A prompt file with metadata.
    Prompt(ConvertTarget),
}

/// One invocation of the command.
struct ConvertJob<'a> {
    args: &'a Convert,
    options: ConvertOptions,
    formats: TemplateFactory,
}

pub(crate) fn run(args: &Convert) -> Result<(), CliError> {
    let plan = ConvertJob {
        args,
        options: options(args)?,
        formats: TemplateFactory::standard(),
    };
    if Path::new(&args.source).is_dir() {
        plan.folder(Path::new(&args.source))
    } else {
        plan.file()
    }
}

fn options(args: &Convert) -> Result<ConvertOptions, CliError> {
    let mut shapes = VariableType::Unknown;
    for declared in &args.kind {
        let shape = declared.split_once('=').and_then(|(path, kind)| {
            let shape = VariableType::of_name(kind)?;
            (!path.is_empty()).then_some((path, shape))
        });
        let Some((path, shape)) = shape else {
            let kinds = "text, integer, number, boolean, list or object";
            return Err(CliError::Usage(format!(
                "--kind {declared:?} must be NAME=KIND with one of {kinds}"
            )));
        };
        shapes.declare(path, shape);
    }
    Ok(ConvertOptions {
        shapes,
        assume_text: args.assume_text,
        strict: args.strict,
        ..ConvertOptions::default()
    })
}

impl ConvertJob<'_> {
    fn file(&self) -> Result<(), CliError> {
        let name = &self.args.source;
        let text = source::read(name)?;
        let from = self.from(name, &text)?;
        let to = self.to(from)?;
        let converted = self.convert(name, &text, from, to)?;
        match self.args.output.as_deref() {
            None | Some("-") => Ok(terminal::result(&converted)?),
            Some(path) => self.write(Path::new(path), &converted),
        }
    }

    /// Converts every file in a folder with a known type.
    fn folder(&self, folder: &Path) -> Result<(), CliError> {
        let Some(output) = self.args.output.as_deref().filter(|path| *path != "-") else {
            return Err(CliError::Usage(
                "missing output folder: pass --output FOLDER".into(),
            ));
        };
        let paths = convertible(folder);
        let mut failed = false;
        let mut written = 0;
        for path in &paths {
            match self.one_of(folder, path, Path::new(output)) {
                Ok(()) => written += 1,
                Err(CliError::Findings(found)) => {
                    show(&found);
                    failed = true;
                }
                Err(CliError::Usage(why)) => {
                    terminal::error(&why);
                    failed = true;
                }
                Err(other) => return Err(other),
            }
        }
        terminal::note(&format!("{written} of {} files converted", paths.len()));
        if failed {
            Err(CliError::Said(Exit::Template))
        } else {
            Ok(())
        }
    }

    fn one_of(&self, folder: &Path, path: &Path, output: &Path) -> Result<(), CliError> {
        let name = path.to_string_lossy();
        let text = source::read(&name)?;
        let from = self.from(&name, &text)?;
        let to = self.to(from)?;
        let converted = self.convert(&name, &text, from, to)?;
        let inside = path.strip_prefix(folder).unwrap_or(path);
        let stem = file::stem(&name);
        // A Semantic Kernel prompt is named after its folder, so the folder level is dropped.
        let parent = if name.ends_with("skprompt.txt") {
            inside.parent().and_then(Path::parent)
        } else {
            inside.parent()
        };
        let target = output.join(parent.unwrap_or(Path::new("")));
        self.write(&target.join(format!("{stem}{}", ending(to))), &converted)
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), CliError> {
        let fail = |error: std::io::Error| CliError::Other(format!("{}: {error}", path.display()));
        // Converted files are usually edited afterwards, so they are never overwritten by default.
        if path.exists() && !self.args.force {
            return Err(CliError::Other(format!(
                "{}: file already exists; pass --force to replace it",
                path.display()
            )));
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        fs::write(path, text).map_err(fail)
    }

    /// Returns the class of the source: as requested, or based on its name and text.
    fn from(&self, name: &str, text: &str) -> Result<FileClass, CliError> {
        if let Some(asked) = &self.args.from {
            let template = self.language(asked).map(FileClass::Template);
            return match (asked.as_str(), template) {
                // `dotprompt` is also the name of a template format, but here it means a prompt
                // file.
                ("dotprompt", _) => Ok(FileClass::Prompt(ConvertTarget::Dotprompt)),
                (_, Some(template)) => Ok(template),
                _ => Ok(FileClass::Prompt(self.target(asked)?)),
            };
        }
        Ok(match source::form(name, text) {
            Some(InputFileKind::Template(format)) => {
                let language = Language::of_name(format);
                FileClass::Template(language.ok_or_else(|| self.unknown(format))?)
            }
            Some(InputFileKind::Prompt) => FileClass::Prompt(match file::kind(name, text) {
                Some(file::FileKind::Dotprompt) => ConvertTarget::Dotprompt,
                Some(file::FileKind::Prompty) => ConvertTarget::Prompty,
                _ => ConvertTarget::SemanticKernel,
            }),
            Some(InputFileKind::Json | InputFileKind::Yaml) => {
                FileClass::Prompt(ConvertTarget::Definition)
            }
            Some(InputFileKind::Toml) | None => {
                let shown = source::display_name(name);
                return Err(CliError::Usage(format!(
                    "unknown format of {shown}: pass --from"
                )));
            }
        })
    }

    /// Returns the class of the target. An ambiguous name (`semantic-kernel`) keeps the class of
    /// the source: a prompt file stays a prompt file, and a template stays a template.
    fn to(&self, from: FileClass) -> Result<FileClass, CliError> {
        let asked = match (&self.args.to, self.args.output.as_deref()) {
            (Some(asked), _) => asked.as_str(),
            (None, Some(output)) => format_of_name(output)
                .ok_or_else(|| CliError::Usage(format!("unknown format of {output}: pass --to")))?,
            (None, None) => {
                return Err(CliError::Usage(
                    "missing target format: pass --to FORMAT".into(),
                ));
            }
        };
        let language = self.language(asked).map(FileClass::Template);
        let target = self.target(asked).map(FileClass::Prompt);
        match (from, language, target) {
            (FileClass::Template(_), Some(template), _) => Ok(template),
            (_, _, Ok(prompt)) => Ok(prompt),
            (FileClass::Prompt(_), Some(template), _) => Ok(template),
            (_, None, Err(error)) => Err(error),
        }
    }

    fn language(&self, name: &str) -> Option<Language> {
        let format = self.formats.format(name)?;
        Language::of_name(format.name())
    }

    fn target(&self, name: &str) -> Result<ConvertTarget, CliError> {
        let known = match name {
            "dotprompt" => Some(ConvertTarget::Dotprompt),
            "quillet" | "definition" => Some(ConvertTarget::Definition),
            other => ConvertTarget::parse(other),
        };
        known.ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> CliError {
        let languages = Language::ALL.map(Language::name);
        let known: Vec<&str> = languages.into_iter().chain(["prompty", "json"]).collect();
        let near = quillet_core::nearest(name, known.iter().copied());
        let help = match near {
            Some(near) => format!("did you mean {near}?"),
            None => format!("expected one of {}", known.join(", ")),
        };
        CliError::Usage(format!("unknown format {name:?}: {help}"))
    }

    fn convert(
        &self,
        name: &str,
        text: &str,
        from: FileClass,
        to: FileClass,
    ) -> Result<String, CliError> {
        match (from, to) {
            (FileClass::Template(from), FileClass::Template(to)) => {
                self.template(name, text, from, to)
            }
            (FileClass::Template(from), FileClass::Prompt(to)) => {
                // The template is first converted to the template language of the new file.
                let language = language_of(to).unwrap_or(from);
                let text = self.template(name, text, from, language)?;
                let definition = source::template(&text, Some(language.name()), true);
                self.prompt(&format!("{}.json", source::stem(name)), &definition, to)
            }
            (FileClass::Prompt(_), FileClass::Template(to)) if name.ends_with("skprompt.txt") => {
                self.template(name, text, Language::SemanticKernel, to)
            }
            (FileClass::Prompt(_), FileClass::Template(to)) => Err(CliError::Usage(format!(
                "cannot convert the prompt file {} to {}, a plain template; convert it to dotprompt, prompty, semantic-kernel or json",
                source::display_name(name),
                to.name()
            ))),
            (FileClass::Prompt(from), FileClass::Prompt(to)) => {
                let named = named(name, from);
                match from {
                    ConvertTarget::Definition => {
                        self.prompt(&named, &source::definition(name, text)?, to)
                    }
                    _ => self.prompt(&named, text, to),
                }
            }
        }
    }

    fn template(
        &self,
        name: &str,
        text: &str,
        from: Language,
        to: Language,
    ) -> Result<String, CliError> {
        let source = TemplateSource::new(source::display_name(name), text);
        let converted = templates::convert(&source, from, to, &self.options);
        let converted = converted.map_err(|found| CliError::Findings(findings(found, text)))?;
        show(&findings(converted.notes, text));
        Ok(converted.text)
    }

    fn prompt(&self, name: &str, text: &str, to: ConvertTarget) -> Result<String, CliError> {
        let config = companion(name)?;
        let config = config
            .as_ref()
            .map(|(name, text)| (name.as_str(), text.as_str()));
        let file = PromptFile {
            id: file::stem(name),
            name,
            text,
            config,
        };
        let options = FileOptions {
            template: self.options.clone(),
            drop_deployment: self.args.drop_deployment,
        };
        let converted = files::convert(&file, to, &NoEnvironment, &self.formats, &options);
        let converted = converted.map_err(|found| CliError::Findings(findings(found, text)))?;
        show(&findings(converted.notes, text));
        Ok(converted.text)
    }
}

/// Returns the template language of a prompt file; a definition can use any.
fn language_of(target: ConvertTarget) -> Option<Language> {
    match target {
        ConvertTarget::Dotprompt => Some(Language::Dotprompt),
        ConvertTarget::Prompty => Some(Language::JinjaPlain),
        ConvertTarget::SemanticKernel => Some(Language::SemanticKernel),
        ConvertTarget::Definition => None,
    }
}

/// Returns the name of a source, with the file extension of its requested type.
fn named(name: &str, sort: ConvertTarget) -> String {
    let ends = ending(FileClass::Prompt(sort));
    let is_function = sort == ConvertTarget::SemanticKernel && name.ends_with("skprompt.txt");
    match name {
        "-" => format!("standard input{ends}"),
        name if name.ends_with(ends) || is_function => name.to_owned(),
        name if source::kind_of_file(name).is_some() => name.to_owned(),
        name => format!("{name}{ends}"),
    }
}

/// Reads the `config.json` beside a `skprompt.txt`.
fn companion(name: &str) -> Result<Option<(String, String)>, CliError> {
    let Some(folder) = name.strip_suffix("skprompt.txt") else {
        return Ok(None);
    };
    let config = format!("{folder}config.json");
    if Path::new(&config).is_file() {
        Ok(Some((config.clone(), source::read(&config)?)))
    } else {
        Ok(None)
    }
}

/// Returns the format of a file, based on its name.
fn format_of_name(name: &str) -> Option<&'static str> {
    match source::kind_of_file(name)? {
        InputFileKind::Template(format) => Some(format),
        InputFileKind::Prompt if name.ends_with(".prompty") => Some("prompty"),
        InputFileKind::Prompt => Some("dotprompt"),
        InputFileKind::Json => Some("json"),
        InputFileKind::Yaml => Some("semantic-kernel"),
        InputFileKind::Toml => None,
    }
}

fn ending(sort: FileClass) -> &'static str {
    match sort {
        FileClass::Template(Language::Go) => ".gotmpl",
        FileClass::Template(Language::Jinja | Language::JinjaPlain) => ".j2",
        FileClass::Template(Language::SemanticKernel) => ".skprompt",
        FileClass::Template(Language::Handlebars) => ".hbs",
        FileClass::Template(Language::Mustache) => ".mustache",
        FileClass::Template(Language::FString) => ".fstring",
        FileClass::Template(Language::Liquid) => ".liquid",
        FileClass::Template(Language::Dotprompt) | FileClass::Prompt(ConvertTarget::Dotprompt) => {
            ".prompt"
        }
        FileClass::Prompt(ConvertTarget::Prompty) => ".prompty",
        FileClass::Prompt(ConvertTarget::SemanticKernel) => ".yaml",
        FileClass::Prompt(ConvertTarget::Definition) => ".json",
    }
}

fn findings(found: Vec<quillet_core::Diagnostic>, text: &str) -> Vec<LocatedDiagnostic> {
    let finding = |diagnostic| LocatedDiagnostic {
        diagnostic,
        text: Some(text.to_owned()),
    };
    found.into_iter().map(finding).collect()
}

fn show(found: &[LocatedDiagnostic]) {
    let colour = Stream::Err.has_colour();
    let shown: Vec<String> = found.iter().map(|one| report::show(one, colour)).collect();
    if !shown.is_empty() {
        terminal::note(shown.join("\n").trim_end());
    }
}

/// Returns the files in a folder that can be converted.
fn convertible(folder: &Path) -> Vec<PathBuf> {
    let mut paths = walk::files(folder);
    paths.retain(|path| {
        let form = source::kind_of_file(&path.to_string_lossy());
        form.is_some_and(|form| form != InputFileKind::Toml) && !path.ends_with("config.json")
    });
    paths
}

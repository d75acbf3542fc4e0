//! `quillet convert`: a template or a prompt file in the words of another
//! format, where there is an exact counterpart.

use std::fs;
use std::path::{Path, PathBuf};

use quillet_core::Exit;
use quillet_prompt::convert::{self as files, FileOptions, Target};
use quillet_prompt::file::{self, Alone, PromptFile};
use quillet_template::convert::{self as templates, ConvertOptions, Language, Shape};
use quillet_template::{Source, TemplateFactory};

use crate::args::Convert;
use crate::failure::Failure;
use crate::report::{self, Finding};
use crate::source::{self, Form};
use crate::terminal::{self, Stream};
use crate::walk;

/// What a file is, or becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sort {
    /// A template alone.
    Template(Language),
    /// A file with a prompt and what belongs to it.
    Prompt(Target),
}

/// One run of the command: its arguments, read.
struct Plan<'a> {
    args: &'a Convert,
    options: ConvertOptions,
    formats: TemplateFactory,
}

pub(crate) fn run(args: &Convert) -> Result<(), Failure> {
    let plan = Plan {
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

fn options(args: &Convert) -> Result<ConvertOptions, Failure> {
    let mut shapes = Shape::Unknown;
    for declared in &args.kind {
        let shape = declared.split_once('=').and_then(|(path, kind)| {
            let shape = Shape::of_name(kind)?;
            (!path.is_empty()).then_some((path, shape))
        });
        let Some((path, shape)) = shape else {
            let kinds = "text, integer, number, boolean, list or object";
            return Err(Failure::Usage(format!(
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

impl Plan<'_> {
    fn file(&self) -> Result<(), Failure> {
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

    /// Every file in a folder whose name says what it is.
    fn folder(&self, folder: &Path) -> Result<(), Failure> {
        let Some(output) = self.args.output.as_deref().filter(|path| *path != "-") else {
            return Err(Failure::Usage(
                "a folder is converted into another one: pass --output FOLDER".into(),
            ));
        };
        let paths = convertible(folder);
        let mut failed = false;
        let mut written = 0;
        for path in &paths {
            match self.one_of(folder, path, Path::new(output)) {
                Ok(()) => written += 1,
                Err(Failure::Findings(found)) => {
                    show(&found);
                    failed = true;
                }
                Err(Failure::Usage(why)) => {
                    terminal::error(&why);
                    failed = true;
                }
                Err(other) => return Err(other),
            }
        }
        terminal::note(&format!("{written} of {} files converted", paths.len()));
        if failed {
            Err(Failure::Said(Exit::Template))
        } else {
            Ok(())
        }
    }

    fn one_of(&self, folder: &Path, path: &Path, output: &Path) -> Result<(), Failure> {
        let name = path.to_string_lossy();
        let text = source::read(&name)?;
        let from = self.from(&name, &text)?;
        let to = self.to(from)?;
        let converted = self.convert(&name, &text, from, to)?;
        let inside = path.strip_prefix(folder).unwrap_or(path);
        let stem = file::stem(&name);
        let parent = if name.ends_with("skprompt.txt") {
            inside.parent().and_then(Path::parent)
        } else {
            inside.parent()
        };
        let target = output.join(parent.unwrap_or(Path::new("")));
        self.write(&target.join(format!("{stem}{}", ending(to))), &converted)
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), Failure> {
        let fail = |error: std::io::Error| Failure::Other(format!("{}: {error}", path.display()));
        if path.exists() && !self.args.force {
            return Err(Failure::Other(format!(
                "{}: is there already; pass --force to replace it",
                path.display()
            )));
        }
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(fail)?;
        }
        fs::write(path, text).map_err(fail)
    }

    /// What the source is: as asked, or by its name and text.
    fn from(&self, name: &str, text: &str) -> Result<Sort, Failure> {
        if let Some(asked) = &self.args.from {
            let template = self.language(asked).map(Sort::Template);
            return match (asked.as_str(), template) {
                ("dotprompt", _) => Ok(Sort::Prompt(Target::Dotprompt)),
                (_, Some(template)) => Ok(template),
                _ => Ok(Sort::Prompt(self.target(asked)?)),
            };
        }
        Ok(match source::form(name, text) {
            Some(Form::Template(format)) => {
                let language = Language::of_name(format);
                Sort::Template(language.ok_or_else(|| self.unknown(format))?)
            }
            Some(Form::Prompt) => Sort::Prompt(match file::kind(name, text) {
                Some(file::FileKind::Dotprompt) => Target::Dotprompt,
                Some(file::FileKind::Prompty) => Target::Prompty,
                _ => Target::SemanticKernel,
            }),
            Some(Form::Json | Form::Yaml) => Sort::Prompt(Target::Definition),
            Some(Form::Toml) | None => {
                let shown = source::shown(name);
                return Err(Failure::Usage(format!(
                    "{shown} does not say what it is: pass --from"
                )));
            }
        })
    }

    /// What it is to become. A name that both sorts have (`semantic-kernel`) means the sort of the
    /// source: a prompt file becomes a prompt file, a template a template.
    fn to(&self, from: Sort) -> Result<Sort, Failure> {
        let asked = match (&self.args.to, self.args.output.as_deref()) {
            (Some(asked), _) => asked.as_str(),
            (None, Some(output)) => by_name(output).ok_or_else(|| {
                Failure::Usage(format!("{output} does not say what it is: pass --to"))
            })?,
            (None, None) => return Err(Failure::Usage("pass --to FORMAT".into())),
        };
        let language = self.language(asked).map(Sort::Template);
        let target = self.target(asked).map(Sort::Prompt);
        match (from, language, target) {
            (Sort::Template(_), Some(template), _) => Ok(template),
            (_, _, Ok(prompt)) => Ok(prompt),
            (Sort::Prompt(_), Some(template), _) => Ok(template),
            (_, None, Err(error)) => Err(error),
        }
    }

    fn language(&self, name: &str) -> Option<Language> {
        let format = self.formats.format(name)?;
        Language::of_name(format.name())
    }

    fn target(&self, name: &str) -> Result<Target, Failure> {
        let known = match name {
            "dotprompt" => Some(Target::Dotprompt),
            "quillet" | "definition" => Some(Target::Definition),
            other => Target::parse(other),
        };
        known.ok_or_else(|| self.unknown(name))
    }

    fn unknown(&self, name: &str) -> Failure {
        let languages = Language::ALL.map(Language::name);
        let known: Vec<&str> = languages.into_iter().chain(["prompty", "json"]).collect();
        let near = quillet_core::nearest(name, known.iter().copied());
        let help = match near {
            Some(near) => format!("did you mean {near}?"),
            None => format!("known are {}", known.join(", ")),
        };
        Failure::Usage(format!("nothing is converted as {name:?}: {help}"))
    }

    fn convert(&self, name: &str, text: &str, from: Sort, to: Sort) -> Result<String, Failure> {
        match (from, to) {
            (Sort::Template(from), Sort::Template(to)) => self.template(name, text, from, to),
            (Sort::Template(from), Sort::Prompt(to)) => {
                // First in the language of the new file, then into the file.
                let language = language_of(to).unwrap_or(from);
                let text = self.template(name, text, from, language)?;
                let definition = source::template(&text, Some(language.name()), true);
                self.prompt(&format!("{}.json", source::stem(name)), &definition, to)
            }
            (Sort::Prompt(_), Sort::Template(to)) if name.ends_with("skprompt.txt") => {
                self.template(name, text, Language::SemanticKernel, to)
            }
            (Sort::Prompt(_), Sort::Template(to)) => Err(Failure::Usage(format!(
                "{} is a prompt file, and {} a template alone; prompt files become dotprompt, prompty, semantic-kernel or json",
                source::shown(name),
                to.name()
            ))),
            (Sort::Prompt(from), Sort::Prompt(to)) => {
                let named = named(name, from);
                match from {
                    Target::Definition => self.prompt(&named, &source::definition(name, text)?, to),
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
    ) -> Result<String, Failure> {
        let source = Source::new(source::shown(name), text);
        let converted = templates::convert(&source, from, to, &self.options);
        let converted = converted.map_err(|found| Failure::Findings(findings(found, text)))?;
        show(&findings(converted.notes, text));
        Ok(converted.text)
    }

    fn prompt(&self, name: &str, text: &str, to: Target) -> Result<String, Failure> {
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
        let converted = files::convert(&file, to, &Alone, &self.formats, &options);
        let converted = converted.map_err(|found| Failure::Findings(findings(found, text)))?;
        show(&findings(converted.notes, text));
        Ok(converted.text)
    }
}

/// The language of the templates in such files; a definition has any.
fn language_of(target: Target) -> Option<Language> {
    match target {
        Target::Dotprompt => Some(Language::Dotprompt),
        Target::Prompty => Some(Language::JinjaPlain),
        Target::SemanticKernel => Some(Language::SemanticKernel),
        Target::Definition => None,
    }
}

/// The name of a source, with the ending of what it was said to be.
fn named(name: &str, sort: Target) -> String {
    let ends = ending(Sort::Prompt(sort));
    let is_function = sort == Target::SemanticKernel && name.ends_with("skprompt.txt");
    match name {
        "-" => format!("standard input{ends}"),
        name if name.ends_with(ends) || is_function => name.to_owned(),
        name if source::form_of(name).is_some() => name.to_owned(),
        name => format!("{name}{ends}"),
    }
}

/// The `config.json` beside a `skprompt.txt`.
fn companion(name: &str) -> Result<Option<(String, String)>, Failure> {
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

/// What a name of a file is converted to.
fn by_name(name: &str) -> Option<&'static str> {
    match source::form_of(name)? {
        Form::Template(format) => Some(format),
        Form::Prompt if name.ends_with(".prompty") => Some("prompty"),
        Form::Prompt => Some("dotprompt"),
        Form::Json => Some("json"),
        Form::Yaml => Some("semantic-kernel"),
        Form::Toml => None,
    }
}

fn ending(sort: Sort) -> &'static str {
    match sort {
        Sort::Template(Language::Go) => ".gotmpl",
        Sort::Template(Language::Jinja | Language::JinjaPlain) => ".j2",
        Sort::Template(Language::SemanticKernel) => ".skprompt",
        Sort::Template(Language::Handlebars) => ".hbs",
        Sort::Template(Language::Mustache) => ".mustache",
        Sort::Template(Language::FString) => ".fstring",
        Sort::Template(Language::Liquid) => ".liquid",
        Sort::Template(Language::Dotprompt) | Sort::Prompt(Target::Dotprompt) => ".prompt",
        Sort::Prompt(Target::Prompty) => ".prompty",
        Sort::Prompt(Target::SemanticKernel) => ".yaml",
        Sort::Prompt(Target::Definition) => ".json",
    }
}

fn findings(found: Vec<quillet_core::Diagnostic>, text: &str) -> Vec<Finding> {
    let finding = |diagnostic| Finding {
        diagnostic,
        text: Some(text.to_owned()),
    };
    found.into_iter().map(finding).collect()
}

fn show(found: &[Finding]) {
    let colour = Stream::Err.has_colour();
    let shown: Vec<String> = found.iter().map(|one| report::show(one, colour)).collect();
    if !shown.is_empty() {
        terminal::note(shown.join("\n").trim_end());
    }
}

/// Files in a folder that can be converted.
fn convertible(folder: &Path) -> Vec<PathBuf> {
    let mut paths = walk::files(folder);
    paths.retain(|path| {
        let form = source::form_of(&path.to_string_lossy());
        form.is_some_and(|form| form != Form::Toml) && !path.ends_with("config.json")
    });
    paths
}

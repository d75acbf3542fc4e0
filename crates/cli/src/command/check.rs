//! `quillet check`: diagnostics of templates and definitions.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::civil::Date;
use quillet::components;
use quillet::settings::{self, Settings};
use quillet_agent::KnownNames;
use quillet_core::history::LATEST;
use quillet_core::store::{EntryKey, EntryKind, Store, StoreEntry};
use quillet_core::{Diagnostic, Exit, json};
use quillet_llm::models::today;
use quillet_prompt::{Definition, Variables};
use quillet_store::{MemoryStore, StoreOptions};

use crate::agent_file;
use crate::args::CheckArgs;
use crate::deprecations;
use crate::explain::PromptTemplates;
use crate::failure::CliError;
use crate::file_entry;
use crate::label_store;
use crate::overlay::Overlay;
use crate::refusals;
use crate::report::{self, LocatedDiagnostic};
use crate::script_file;
use crate::scripts;
use crate::source::{self, InputFileKind};
use crate::terminal::{self, Stream};
use crate::walk;

/// Files to check.
#[derive(Default)]
struct CheckTargets {
    /// Files by their ids in the overlay. The value is `true` if the file is a template rather than
    /// a definition.
    files: BTreeMap<String, bool>,
    /// Ids of partials beside these files. They can be called, but are not checked themselves.
    partials: BTreeSet<String>,
}

/// Checked items and their diagnostics.
#[derive(Default)]
struct CheckReport {
    found: Vec<LocatedDiagnostic>,
    looked_at: usize,
    /// Whether any labels exist, so that the report mentions the checked versions.
    has_labels: bool,
    /// Date for deprecation warnings.
    today: Date,
}

pub(crate) async fn run(args: &CheckArgs, config: &Settings) -> Result<(), CliError> {
    let findings = check_all(args, config).await?;
    if findings.looked_at == 0 && findings.found.is_empty() {
        return Err(CliError::Usage(nothing_checked_message(args)));
    }
    print(args.json, &findings)?;
    let errors = findings.found.iter().filter(|finding| finding.is_error());
    let errors = errors.count();
    if !args.json {
        if findings.has_labels {
            terminal::note(&versions_note(args.label.as_deref()));
        }
        terminal::note(&summary(&findings, errors));
    }
    match errors {
        0 => Ok(()),
        _ => Err(CliError::Said(Exit::Template)),
    }
}

/// Returns the error if nothing was checked: a mistyped path in CI must fail.
fn nothing_checked_message(args: &CheckArgs) -> String {
    let paths: Vec<_> = args.paths.iter().map(|path| path.display()).collect();
    let paths: Vec<String> = paths.iter().map(ToString::to_string).collect();
    if paths.is_empty() {
        "nothing to check: the store is empty".to_owned()
    } else {
        format!(
            "nothing to check in {}: no template, prompt, script or definition",
            paths.join(", ")
        )
    }
}

async fn check_all(args: &CheckArgs, config: &Settings) -> Result<CheckReport, CliError> {
    let mut findings = CheckReport {
        today: today(),
        ..CheckReport::default()
    };
    if args.paths.is_empty() {
        let store = findings
            .store_at_label(components::store(config).await?, args)
            .await?;
        check_store(&mut findings, config, store, None, skill_folder(config)).await?;
    }
    let mut loose = Vec::new();
    for path in &args.paths {
        // A file found in a folder may be invalid, but a named file must exist.
        if path != Path::new("-")
            && let Err(error) = fs::metadata(path)
        {
            return Err(CliError::Other(format!("{}: {error}", path.display())));
        }
        if is_store(path) {
            let url = format!("dir:{}", path.display());
            let store = quillet_store::open(&url, &StoreOptions::default()).await?;
            let store = findings.store_at_label(store, args).await?;
            let folder = path.join("skills");
            let own = folder.is_dir().then_some(folder.as_path());
            let known = own.or(skill_folder(config));
            check_store(&mut findings, config, store, None, known).await?;
            skills(&mut findings, &folder);
        } else if path.is_dir() {
            collect(path, &mut loose, &mut findings);
        } else {
            loose.push(path.clone());
        }
    }
    // Skills and scripts are checked separately; the remaining files are checked as in a store.
    for file in loose.extract_if(.., |path| agent_file::is_skill(path)) {
        skills(&mut findings, file.parent().unwrap_or(&file));
    }
    let scripts: Vec<PathBuf> = loose
        .extract_if(.., |path| script_file::is_script_or_fixture(path))
        .collect();
    if !scripts.is_empty() {
        // The tools are loaded once for all scripts, because that connects to MCP servers.
        let tools = scripts::tools(config, scripts::McpSources::All, false).await?;
        for file in &scripts {
            findings.looked_at += 1;
            let found =
                script_file::check(file, &args.search, tools.as_ref(), findings.today).await;
            findings.extend(of_file(file, found)?);
        }
    }
    if !loose.is_empty() {
        check_loose(&mut findings, args, config, &loose).await?;
    }
    Ok(findings)
}

/// Describes which versions were checked.
fn versions_note(label: Option<&str>) -> String {
    match label {
        None => "checked the served version of each prompt with labels: production, or else the newest; --label latest checks the newest versions".to_owned(),
        Some(LATEST) => "checked the newest version of each prompt".to_owned(),
        Some(label) => format!(
            "checked the version labelled {label} of each prompt that has one, and the served version of the others"
        ),
    }
}

fn summary(findings: &CheckReport, errors: usize) -> String {
    let count = |number: usize, name: &str| match number {
        1 => format!("1 {name}"),
        _ => format!("{number} {name}s"),
    };
    let warnings = findings.found.len() - errors;
    let looked_at = count(findings.looked_at, "definition");
    format!(
        "{looked_at} checked: {}, {}",
        count(errors, "error"),
        count(warnings, "warning")
    )
}

fn print(json: bool, findings: &CheckReport) -> Result<(), CliError> {
    if json {
        let list: Vec<&Diagnostic> = findings
            .found
            .iter()
            .map(|finding| &finding.diagnostic)
            .collect();
        let list = serde_json::to_string_pretty(&list)
            .map_err(|error| CliError::Other(error.to_string()))?;
        return Ok(terminal::line(&list)?);
    }
    let colour = Stream::Out.has_colour();
    let shown: Vec<String> = findings
        .found
        .iter()
        .map(|finding| report::show(finding, colour))
        .collect();
    Ok(terminal::result(&shown.join("\n"))?)
}

/// Returns the folder of skills for agents, if one is configured.
fn skill_folder(config: &Settings) -> Option<&Path> {
    config.text(&settings::AGENT_SKILLS).map(Path::new)
}

/// Whether a folder has the layout of a store.
fn is_store(path: &Path) -> bool {
    [
        "prompts",
        "templates",
        "tools",
        "extensions",
        "environs",
        "agents",
    ]
    .iter()
    .any(|name| path.join(name).is_dir())
}

/// Checks the skills in a folder, or the folder itself if it is a skill.
fn skills(findings: &mut CheckReport, folder: &Path) {
    if !folder.is_dir() {
        return;
    }
    let (skills, found) = agent_file::skills(folder);
    findings.looked_at += skills;
    findings.extend(found);
}

/// Converts an unreadable file to a diagnostic, so that the other files are still checked.
fn of_file(
    path: &Path,
    found: Result<Vec<LocatedDiagnostic>, CliError>,
) -> Result<Vec<LocatedDiagnostic>, CliError> {
    match found {
        Err(CliError::Findings(found)) => Ok(found),
        Err(CliError::Other(message)) => Ok(vec![unreadable(path, &message)]),
        found => found,
    }
}

fn unreadable(path: &Path, message: &str) -> LocatedDiagnostic {
    let name = path.strip_prefix(".").unwrap_or(path).to_string_lossy();
    let message = message.strip_prefix(&*name).unwrap_or(message);
    let message = message.trim_start_matches(": ");
    LocatedDiagnostic {
        diagnostic: Diagnostic::error("file.unreadable", &name, message),
        text: None,
    }
}

/// Collects the files to check in a folder.
fn collect(folder: &Path, files: &mut Vec<PathBuf>, findings: &mut CheckReport) {
    for path in walk::files(folder)
        .into_iter()
        .filter(|path| is_checkable(path))
    {
        // Not opened, because opening a named pipe blocks until a writer appears.
        match fs::metadata(&path) {
            Ok(about) if about.is_file() => files.push(path),
            Ok(_) => findings.add_unreadable(&path, "skipped: not a regular file"),
            Err(error) => findings.add_unreadable(&path, &error.to_string()),
        }
    }
}

/// Whether a file can be checked, judging by its name.
fn is_checkable(path: &Path) -> bool {
    agent_file::is_skill(path)
        || script_file::is_script_or_fixture(path)
        || source::kind_of_file(&path.to_string_lossy())
            .is_some_and(|form| form != InputFileKind::Toml)
}

/// Checks files that are not in a store as if they were stored.
async fn check_loose(
    findings: &mut CheckReport,
    args: &CheckArgs,
    config: &Settings,
    files: &[PathBuf],
) -> Result<(), CliError> {
    let under = components::optional_store(config).await?;
    let mut over = Overlay::new(under.unwrap_or_else(|| Arc::new(MemoryStore::new())));
    let mut names = CheckTargets::default();
    for path in files {
        let path = path.strip_prefix(".").unwrap_or(path);
        let added = add_loose(&path.to_string_lossy(), args, &mut names, &mut over);
        if added.is_err() {
            findings.looked_at += 1;
        }
        findings.extend(of_file(path, added.map(|()| Vec::new()))?);
    }
    let skills = skill_folder(config);
    check_store(findings, config, Arc::new(over), Some(&names), skills).await
}

/// Adds a file and the partials beside it to the overlay.
fn add_loose(
    path: &str,
    args: &CheckArgs,
    names: &mut CheckTargets,
    over: &mut Overlay,
) -> Result<(), CliError> {
    // A folder may also contain files that are not definitions.
    let Some((kind, definition, is_template)) = loose(path, args)? else {
        return Ok(());
    };
    let key = EntryKey::new(path);
    for partial in file_entry::partials(path, &key.id(), &definition)? {
        names.partials.insert(partial.key.id());
        over.add(EntryKind::Prompt, partial);
    }
    names.files.insert(key.id(), is_template);
    over.add(kind, file_entry::entry(key, definition, path)?);
    Ok(())
}

/// Returns the kind and the definition of a file, and whether it is a template.
fn loose(path: &str, args: &CheckArgs) -> Result<Option<(EntryKind, String, bool)>, CliError> {
    let text = source::read(path)?;
    let form = source::form(path, &text);
    let asked = args.format.as_deref().map(InputFileKind::Template);
    let form = match form {
        Some(InputFileKind::Template(_)) | None => {
            asked.or(form).unwrap_or(InputFileKind::Template("go"))
        }
        Some(form) => form,
    };
    if let InputFileKind::Template(format) = form {
        return Ok(Some((
            EntryKind::Prompt,
            source::template(&text, Some(format), true),
            true,
        )));
    }
    if form == InputFileKind::Prompt {
        return Ok(Some((EntryKind::Prompt, text, false)));
    }
    let value = source::parse(path, &text, form)?;
    if agent_file::is_agent(path, &value) {
        return Ok(Some((EntryKind::Agent, text, false)));
    }
    Ok(source::kind_of(&value).map(|kind| {
        let definition = match form {
            // JSON is not serialized again, so that the locations in diagnostics are correct.
            InputFileKind::Json => text,
            _ => json::to_string(&value),
        };
        (kind, definition, false)
    }))
}

/// Checks the entries of a store, or only those with these names.
async fn check_store(
    findings: &mut CheckReport,
    config: &Settings,
    store: Arc<dyn Store>,
    names: Option<&CheckTargets>,
    skills: Option<&Path>,
) -> Result<(), CliError> {
    let catalogue = components::catalogue(config, store.clone())?;
    catalogue.load().await?;
    let agents = store.load(EntryKind::Agent).await?;
    let tools = agent_file::tools(&catalogue.snapshot());
    if names.is_none() {
        for entry in store.load(EntryKind::Environ).await? {
            findings.add_environ(entry);
        }
    }
    let variables = Variables::new(store);
    variables.load().await?;
    let environs = variables.ids().await?;
    let skills = skills.map(agent_file::skill_names);
    let known = KnownNames {
        tools: &tools,
        skills: skills.as_deref(),
        has_more: agent_file::has_servers(config),
    };
    for entry in agents {
        findings.add_agent(&entry, names, known);
    }
    let snapshot = catalogue.snapshot();
    for definition in snapshot.extensions.values() {
        findings.add(definition, names);
    }
    for definition in snapshot.tools.values() {
        findings.add(definition, names);
    }
    for definition in snapshot.prompts.values() {
        if is_selected(definition, names) {
            let is_template = names.and_then(|names| names.files.get(&*definition.id));
            let texts = PromptTemplates::of(definition, is_template == Some(&true), &snapshot);
            findings.looked_at += 1;
            findings.extend(texts.locate(&definition.diagnostics));
            findings.extend(texts.unknown_names(&catalogue, &environs));
            findings.extend(texts.braces(&catalogue));
            let ending = deprecations::of_prompt(definition, findings.today);
            findings.extend(texts.locate(ending.as_slice()));
            let refused = refusals::of_prompt(definition);
            findings.extend(texts.locate(refused.as_slice()));
        }
    }
    Ok(())
}

/// Whether a definition was selected, either by its id or by the file of its extension.
fn is_selected<T>(definition: &Definition<T>, names: Option<&CheckTargets>) -> bool {
    let file = EntryKey::new(&*definition.origin).id();
    let asked = |id: &str| names.is_none_or(|names| names.files.contains_key(id));
    let is_partial = names.is_some_and(|names| names.partials.contains(&*definition.id));
    !is_partial && (asked(&definition.id) || asked(&file))
}

impl CheckReport {
    /// Returns the store as readers of the selected label see it.
    async fn store_at_label(
        &mut self,
        store: Arc<dyn Store>,
        args: &CheckArgs,
    ) -> Result<Arc<dyn Store>, CliError> {
        self.has_labels |= label_store::has_any(&*store).await?;
        match &args.label {
            Some(label) => label_store::store_at_label(store, label).await,
            None => Ok(store),
        }
    }

    /// Adds diagnostics once, because an error in a partial is found in each prompt that calls it.
    fn extend(&mut self, more: Vec<LocatedDiagnostic>) {
        for finding in more {
            let known = |known: &LocatedDiagnostic| known.diagnostic == finding.diagnostic;
            if !self.found.iter().any(known) {
                self.found.push(finding);
            }
        }
    }

    /// Adds an error for a file that cannot be read.
    fn add_unreadable(&mut self, path: &Path, why: &str) {
        self.looked_at += 1;
        self.extend(vec![unreadable(path, why)]);
    }

    /// Adds the error of a shared variable with an invalid value.
    fn add_environ(&mut self, entry: StoreEntry) {
        let Some(diagnostic) = entry.problem else {
            return;
        };
        self.looked_at += 1;
        let text = Some(entry.text.to_string());
        self.found.push(LocatedDiagnostic { diagnostic, text });
    }

    fn add_agent(
        &mut self,
        entry: &StoreEntry,
        names: Option<&CheckTargets>,
        known: KnownNames<'_>,
    ) {
        if names.is_some_and(|names| !names.files.contains_key(&entry.key.id())) {
            return;
        }
        self.looked_at += 1;
        let finding = |diagnostic| LocatedDiagnostic {
            diagnostic,
            text: Some(entry.text.to_string()),
        };
        let mut found = agent_file::diagnostics(entry);
        found.extend(agent_file::unknown_names(entry, known));
        found.extend(deprecations::of_agent(entry, self.today));
        found.extend(refusals::of_agent(entry));
        let found = found.into_iter();
        self.found.extend(found.map(finding));
    }

    fn add<T>(&mut self, definition: &Definition<T>, names: Option<&CheckTargets>) {
        if !is_selected(definition, names) {
            return;
        }
        self.looked_at += 1;
        let finding = |diagnostic: &Diagnostic| LocatedDiagnostic {
            diagnostic: Diagnostic {
                source: definition.origin.to_string(),
                ..diagnostic.clone()
            },
            text: Some(definition.text.to_string()),
        };
        self.found
            .extend(definition.diagnostics.iter().map(finding));
    }
}

//! `quillet pull`: writes versions to files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use quillet_core::Exit;
use quillet_core::history::{DefinitionContent, Digest, LATEST, VersionSelector};
use quillet_core::store::{EntryKey, EntryKind, Store, StoreEntry};
use quillet_host::definitions::{DefinitionError, PushChange, PushItem, ResolvedVersion};
use quillet_prompt::script_source;
use quillet_store::{FolderStore, StoreOptions};
use quillet_template::TemplateFactory;
use serde_json::{Map, Value as Tree};

use super::file::{converted, is_folder};
use super::store_session::{StoreSession, mark};
use crate::args::Pull;
use crate::failure::CliError;
use crate::progress_bar::ProgressBar;
use crate::source::{self, InputFileKind};
use crate::terminal;

/// Contents of the folder.
type Local = BTreeMap<(EntryKind, EntryKey), StoreEntry>;

/// Action for the file of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FileAction {
    New,
    Changed,
    Same,
    /// The file has changes that are not in any version.
    Kept,
}

/// A version to pull.
struct PulledVersion {
    kind: EntryKind,
    found: ResolvedVersion,
    /// Number of the version. If the stored text has no version yet, its future number.
    number: u64,
    fate: FileAction,
}

pub(super) async fn run(args: &Pull, work: &StoreSession<'_>) -> Result<(), CliError> {
    let mark = match (&args.label, &args.at) {
        (None, None) => VersionSelector::Label(LATEST.to_owned()),
        (Some(text), _) | (None, Some(text)) => mark(text)?,
    };
    let local = local(&args.folder).await?;
    let pulled = compared(args, work, &mark, &local).await?;
    let kept: Vec<&PulledVersion> = pulled
        .iter()
        .filter(|it| it.fate == FileAction::Kept)
        .collect();
    if !kept.is_empty() && !args.force {
        for it in kept {
            let entry = local.get(&(it.kind, it.found.key.clone()));
            let file = entry.map_or_else(String::new, |entry| entry.origin.to_string());
            terminal::error(&format!(
                "{} was changed: its content matches no version of {} {}",
                args.folder.join(file).display(),
                it.kind.name(),
                it.found.key.id()
            ));
        }
        terminal::note(
            "nothing was written; replace these files with --force, or save them with `quillet push`",
        );
        return Err(CliError::Said(Exit::Failure));
    }
    if !args.dry_run {
        write(args, &pulled, &local).await?;
    }
    print_summary(args, &pulled)
}

/// Reads the folder; empty if it does not exist yet.
async fn local(folder: &Path) -> Result<Local, CliError> {
    let mut local = Local::new();
    if !folder.exists() {
        return Ok(local);
    }
    let store = FolderStore::open(folder, &StoreOptions::default()).await?;
    for kind in EntryKind::ALL
        .into_iter()
        .filter(|kind| kind.has_versions())
    {
        for entry in store.load(kind).await? {
            local.insert((kind, entry.key.clone()), entry);
        }
    }
    Ok(local)
}

/// Resolves the requested versions and decides what to do with their files.
async fn compared(
    args: &Pull,
    work: &StoreSession<'_>,
    mark: &VersionSelector,
    local: &Local,
) -> Result<Vec<PulledVersion>, CliError> {
    let is_each_named = !args.ids.is_empty();
    let kinds = if is_each_named {
        vec![args.which.kind()]
    } else {
        args.which.kinds()
    };
    let keys = work.keys(&kinds, &args.ids).await?;
    let formats = TemplateFactory::standard();
    let bar = ProgressBar::new();
    let (mut pulled, mut without) = (Vec::new(), 0);
    for (at, (kind, key)) in keys.iter().enumerate() {
        bar.set_progress(at as u64, keys.len() as u64, "definitions");
        let found = work.definitions.find(*kind, &key.id(), Some(mark)).await;
        let found = match found {
            // If no ids are given, definitions that are removed or lack the label are skipped.
            Err(DefinitionError::NotFound { .. }) if !is_each_named => continue,
            Err(DefinitionError::Label { .. }) if !is_each_named => {
                without += 1;
                continue;
            }
            found => found?,
        };
        let fate = match local.get(&(*kind, key.clone())) {
            None => FileAction::New,
            Some(entry) => fate(work, *kind, entry, &found, &formats).await?,
        };
        pulled.push(PulledVersion {
            kind: *kind,
            number: number(work, *kind, &found).await?,
            found,
            fate,
        });
    }
    drop(bar);
    if without > 0 {
        terminal::note(&format!(
            "skipped {without} definitions without the label {mark}"
        ));
    }
    Ok(pulled)
}

async fn number(
    work: &StoreSession<'_>,
    kind: EntryKind,
    found: &ResolvedVersion,
) -> Result<u64, CliError> {
    if let Some(version) = &found.version {
        return Ok(version.number);
    }
    let pushed = PushItem {
        kind,
        key: found.key.clone(),
        content: found.content.clone(),
    };
    let steps = work.definitions.plan(vec![pushed]).await?;
    Ok(steps.first().map_or(0, PushChange::number))
}

async fn fate(
    work: &StoreSession<'_>,
    kind: EntryKind,
    entry: &StoreEntry,
    found: &ResolvedVersion,
    formats: &TemplateFactory,
) -> Result<FileAction, CliError> {
    if entry.problem.is_some() {
        // A file that cannot be read may contain unsaved work, so it is not overwritten.
        return Ok(FileAction::Kept);
    }
    let digest = digest(work, entry, formats);
    if digest == found.content.digest() {
        return Ok(FileAction::Same);
    }
    let mark = VersionSelector::Digest(digest.to_string());
    match work
        .definitions
        .find(kind, &found.key.id(), Some(&mark))
        .await
    {
        Ok(_) => Ok(FileAction::Changed),
        Err(DefinitionError::Version { .. }) => Ok(FileAction::Kept),
        Err(error) => Err(error.into()),
    }
}

/// Returns the digest that the file would have after a push.
fn digest(work: &StoreSession<'_>, entry: &StoreEntry, formats: &TemplateFactory) -> Digest {
    let content = DefinitionContent::of(entry);
    if !content.file.is_empty()
        && !is_folder(work.config)
        && let Ok(text) = converted(entry, formats)
    {
        return DefinitionContent::new(text).digest();
    }
    content.digest()
}

async fn write(args: &Pull, pulled: &[PulledVersion], local: &Local) -> Result<(), CliError> {
    let failed = |error| CliError::Other(format!("{}: {error}", args.folder.display()));
    fs::create_dir_all(&args.folder).map_err(failed)?;
    let store = FolderStore::open(&args.folder, &StoreOptions::default()).await?;
    let bar = ProgressBar::new();
    for (at, it) in pulled.iter().enumerate() {
        bar.set_progress(at as u64, pulled.len() as u64, "files");
        // An unchanged file is not written, so that its layout and modification time are preserved.
        if it.fate == FileAction::Same {
            continue;
        }
        let key = &it.found.key;
        let entry = local.get(&(it.kind, key.clone()));
        let content = as_file(&it.found.content, entry);
        store.write_file(it.kind, key, &content).await?;
    }
    Ok(())
}

/// Formats a definition for editing. A bare template stays a template file, JSON is indented, and
/// other text is unchanged.
fn as_file(content: &DefinitionContent, local: Option<&StoreEntry>) -> DefinitionContent {
    let Ok(object) = serde_json::from_str::<Map<String, Tree>>(&content.text) else {
        return content.clone();
    };
    if let Some(template) = local.and_then(|local| template(&object, local)) {
        return template;
    }
    if script_source(&content.text).is_some() {
        return content.clone();
    }
    DefinitionContent {
        text: format!("{:#}\n", Tree::Object(object)).into(),
        ..content.clone()
    }
}

/// Returns the template of a definition that has no other fields, if its file has the same format.
fn template(object: &Map<String, Tree>, local: &StoreEntry) -> Option<DefinitionContent> {
    let Some(InputFileKind::Template(format)) = source::kind_of_file(&local.origin) else {
        return None;
    };
    let text = object.get("userPrompt")?.as_str()?;
    // A template file cannot store any other fields.
    let is_bare = object.len() == 2 && object.get("format")?.as_str()? == format;
    let name = local.origin.rsplit(['/', '\\']).next()?;
    is_bare.then(|| DefinitionContent {
        file: Arc::from(name),
        ..DefinitionContent::new(text)
    })
}

fn print_summary(args: &Pull, pulled: &[PulledVersion]) -> Result<(), CliError> {
    let mut lines = String::new();
    let mut counts = [0; 3];
    for it in pulled {
        let (count, what) = match it.fate {
            FileAction::New => (0, "new"),
            FileAction::Changed | FileAction::Kept => (1, "changed"),
            FileAction::Same => (2, "unchanged"),
        };
        counts[count] += 1;
        let (kind, id) = (it.kind.name(), it.found.key.id());
        lines.push_str(&format!("{kind} {id}: {what} {}\n", it.number));
    }
    terminal::result(&lines)?;
    let done = if args.dry_run {
        "; nothing was written"
    } else {
        ""
    };
    let [new, changed, same] = counts;
    terminal::note(&format!(
        "{}: {new} new, {changed} changed, {same} unchanged{done}",
        args.folder.display()
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_keep_the_form_that_people_edit() {
        let local = |origin: &str| StoreEntry::new(EntryKey::new("a"), "", origin);
        let bare = r#"{"userPrompt":"Hi\n","format":"go"}"#;
        let script = r#"{"format":"script","source":"user: hi\n"}"#;
        for (text, origin, file, expected) in [
            (bare, Some("prompts/a.gotmpl"), "a.gotmpl", "Hi\n"),
            (
                bare,
                Some("prompts/a.j2"),
                "",
                "{\n  \"userPrompt\": \"Hi\\n\",\n  \"format\": \"go\"\n}\n",
            ),
            (
                r#"{"userPrompt":"Hi","format":"go","tags":[]}"#,
                Some("prompts/a.gotmpl"),
                "",
                "{\n  \"userPrompt\": \"Hi\",\n  \"format\": \"go\",\n  \"tags\": []\n}\n",
            ),
            (script, None, "", script),
            ("no JSON", None, "", "no JSON"),
        ] {
            let local = origin.map(local);
            let content = as_file(&DefinitionContent::new(text), local.as_ref());
            assert_eq!((&*content.file, &*content.text), (file, expected), "{text}");
        }
    }
}

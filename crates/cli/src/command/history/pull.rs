//! `quillet pull`: versions become files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use quillet_core::Exit;
use quillet_core::history::{Content, Digest, LATEST, Mark};
use quillet_core::store::{Entry, Key, Kind, Store};
use quillet_host::definitions::{DefinitionError, Found, Pushed, Step};
use quillet_prompt::script_source;
use quillet_store::{FolderStore, StoreOptions};
use quillet_template::TemplateFactory;
use serde_json::{Map, Value as Tree};

use super::file::{converted, is_folder};
use super::work::{Work, mark};
use crate::args::Pull;
use crate::bar::Bar;
use crate::failure::Failure;
use crate::source::{self, Form};
use crate::terminal;

/// What is in the folder.
type Local = BTreeMap<(Kind, Key), Entry>;

/// What becomes of the file of a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    New,
    Changed,
    Same,
    /// It has what no version has.
    Kept,
}

/// A version that is pulled.
struct Pulled {
    kind: Kind,
    found: Found,
    /// The number of the version; of what was written past the history the one that it will have.
    number: u64,
    fate: Fate,
}

pub(super) async fn run(args: &Pull, work: &Work<'_>) -> Result<(), Failure> {
    let mark = match (&args.label, &args.at) {
        (None, None) => Mark::Label(LATEST.to_owned()),
        (Some(text), _) | (None, Some(text)) => mark(text)?,
    };
    let local = local(&args.folder).await?;
    let pulled = compared(args, work, &mark, &local).await?;
    let kept: Vec<&Pulled> = pulled.iter().filter(|it| it.fate == Fate::Kept).collect();
    if !kept.is_empty() && !args.force {
        for it in kept {
            let entry = local.get(&(it.kind, it.found.key.clone()));
            let file = entry.map_or_else(String::new, |entry| entry.origin.to_string());
            terminal::error(&format!(
                "{} was changed, and its content is no version of {} {}",
                args.folder.join(file).display(),
                it.kind.name(),
                it.found.key.id()
            ));
        }
        terminal::note(
            "nothing was written; --force replaces such files, and `quillet push` keeps them",
        );
        return Err(Failure::Said(Exit::Failure));
    }
    if !args.dry_run {
        write(args, &pulled, &local).await?;
    }
    told(args, &pulled)
}

/// What the folder holds now; nothing where it is not there yet.
async fn local(folder: &Path) -> Result<Local, Failure> {
    let mut local = Local::new();
    if !folder.exists() {
        return Ok(local);
    }
    let store = FolderStore::open(folder, &StoreOptions::default()).await?;
    for kind in Kind::ALL.into_iter().filter(|kind| kind.has_versions()) {
        for entry in store.load(kind).await? {
            local.insert((kind, entry.key.clone()), entry);
        }
    }
    Ok(local)
}

/// The versions that are wanted, each with what becomes of its file.
async fn compared(
    args: &Pull,
    work: &Work<'_>,
    mark: &Mark,
    local: &Local,
) -> Result<Vec<Pulled>, Failure> {
    let is_each_named = !args.ids.is_empty();
    let kinds = if is_each_named {
        vec![args.which.kind()]
    } else {
        args.which.kinds()
    };
    let keys = work.keys(&kinds, &args.ids).await?;
    let formats = TemplateFactory::standard();
    let bar = Bar::new();
    let (mut pulled, mut without) = (Vec::new(), 0);
    for (at, (kind, key)) in keys.iter().enumerate() {
        bar.tell(at as u64, keys.len() as u64, "definitions");
        let found = work.definitions.find(*kind, &key.id(), Some(mark)).await;
        let found = match found {
            // Of all definitions, some may be removed, and some may not have the label.
            Err(DefinitionError::NotFound { .. }) if !is_each_named => continue,
            Err(DefinitionError::Label { .. }) if !is_each_named => {
                without += 1;
                continue;
            }
            found => found?,
        };
        let fate = match local.get(&(*kind, key.clone())) {
            None => Fate::New,
            Some(entry) => fate(work, *kind, entry, &found, &formats).await?,
        };
        pulled.push(Pulled {
            kind: *kind,
            number: number(work, *kind, &found).await?,
            found,
            fate,
        });
    }
    drop(bar);
    if without > 0 {
        terminal::note(&format!(
            "{without} definitions without the label {mark} are left out"
        ));
    }
    Ok(pulled)
}

async fn number(work: &Work<'_>, kind: Kind, found: &Found) -> Result<u64, Failure> {
    if let Some(version) = &found.version {
        return Ok(version.number);
    }
    let pushed = Pushed {
        kind,
        key: found.key.clone(),
        content: found.content.clone(),
    };
    let steps = work.definitions.plan(vec![pushed]).await?;
    Ok(steps.first().map_or(0, Step::number))
}

async fn fate(
    work: &Work<'_>,
    kind: Kind,
    entry: &Entry,
    found: &Found,
    formats: &TemplateFactory,
) -> Result<Fate, Failure> {
    if entry.problem.is_some() {
        return Ok(Fate::Kept);
    }
    let digest = digest(work, entry, formats);
    if digest == found.content.digest() {
        return Ok(Fate::Same);
    }
    let mark = Mark::Digest(digest.to_string());
    match work
        .definitions
        .find(kind, &found.key.id(), Some(&mark))
        .await
    {
        Ok(_) => Ok(Fate::Changed),
        Err(DefinitionError::Version { .. }) => Ok(Fate::Kept),
        Err(error) => Err(error.into()),
    }
}

/// The digest that a push of a file would give it.
fn digest(work: &Work<'_>, entry: &Entry, formats: &TemplateFactory) -> Digest {
    let content = Content::of(entry);
    if !content.file.is_empty()
        && !is_folder(work.config)
        && let Ok(text) = converted(entry, formats)
    {
        return Content::new(text).digest();
    }
    content.digest()
}

async fn write(args: &Pull, pulled: &[Pulled], local: &Local) -> Result<(), Failure> {
    let failed = |error| Failure::Other(format!("{}: {error}", args.folder.display()));
    fs::create_dir_all(&args.folder).map_err(failed)?;
    let store = FolderStore::open(&args.folder, &StoreOptions::default()).await?;
    let bar = Bar::new();
    for (at, it) in pulled.iter().enumerate() {
        bar.tell(at as u64, pulled.len() as u64, "files");
        if it.fate == Fate::Same {
            continue;
        }
        let key = &it.found.key;
        let entry = local.get(&(it.kind, key.clone()));
        let content = as_file(&it.found.content, entry);
        store.write_file(it.kind, key, &content).await?;
    }
    Ok(())
}

/// A definition as people edit it: a bare template stays one, JSON is laid out, everything else is
/// as it was kept.
fn as_file(content: &Content, local: Option<&Entry>) -> Content {
    let Ok(object) = serde_json::from_str::<Map<String, Tree>>(&content.text) else {
        return content.clone();
    };
    if let Some(template) = local.and_then(|local| template(&object, local)) {
        return template;
    }
    if script_source(&content.text).is_some() {
        return content.clone();
    }
    Content {
        text: format!("{:#}\n", Tree::Object(object)).into(),
        ..content.clone()
    }
}

/// The template that a definition is, if it is nothing else and its file is one of that format.
fn template(object: &Map<String, Tree>, local: &Entry) -> Option<Content> {
    let Some(Form::Template(format)) = source::form_of(&local.origin) else {
        return None;
    };
    let text = object.get("userPrompt")?.as_str()?;
    let is_bare = object.len() == 2 && object.get("format")?.as_str()? == format;
    let name = local.origin.rsplit(['/', '\\']).next()?;
    is_bare.then(|| Content {
        file: Arc::from(name),
        ..Content::new(text)
    })
}

fn told(args: &Pull, pulled: &[Pulled]) -> Result<(), Failure> {
    let mut lines = String::new();
    let mut counts = [0; 3];
    for it in pulled {
        let (count, what) = match it.fate {
            Fate::New => (0, "new"),
            Fate::Changed | Fate::Kept => (1, "changed"),
            Fate::Same => (2, "unchanged"),
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
        let local = |origin: &str| Entry::new(Key::new("a"), "", origin);
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
            let content = as_file(&Content::new(text), local.as_ref());
            assert_eq!((&*content.file, &*content.text), (file, expected), "{text}");
        }
    }
}

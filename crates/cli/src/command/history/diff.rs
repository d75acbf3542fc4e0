//! `quillet diff`: differences between two versions, or between their rendered texts.

use quillet_core::Map;
use quillet_core::history::{DefinitionContent, LATEST, PRODUCTION, VersionSelector};
use quillet_core::store::EntryKind;
use quillet_host::definitions::{readable, unified};
use quillet_prompt::{RenderInput, RenderedPrompt};

use super::store_session::{DefinitionRef, StoreSession, mark};
use crate::args::Diff;
use crate::chat::sanitize;
use crate::command::render::as_text;
use crate::failure::CliError;
use crate::source;
use crate::terminal::{self, Stream, TextStyle, styled};

/// One of the two compared versions.
struct DiffSide {
    /// `ID@NUMBER`.
    name: String,
    content: DefinitionContent,
}

pub(super) async fn run(args: &Diff, work: &StoreSession<'_>) -> Result<(), CliError> {
    let variables = source::variables(args.data.as_deref(), &args.define)?;
    let is_rendered = args.data.is_some() || !args.define.is_empty();
    let kind = args.which.kind();
    if is_rendered && kind != EntryKind::Prompt {
        return Err(CliError::Usage(format!(
            "-D and -d need a prompt; a {} cannot be rendered",
            kind.name()
        )));
    }
    let old = work.resolve_name(kind, &args.old).await?;
    let new = resolve_new(args, work, &old).await?;
    let old = version(work, &resolve_old(work, old, &new).await?).await?;
    let new = version(work, &new).await?;
    let (before, after) = (readable(&old.content), readable(&new.content));
    let mut shown = differences(&old.name, &before, &new.name, &after);
    if is_rendered {
        let (before, after) = (
            rendered(work, &old, &variables).await?,
            rendered(work, &new, &variables).await?,
        );
        let names = [&old.name, &new.name].map(|name| format!("{name} rendered"));
        shown.push_str(&differences(&names[0], &before, &names[1], &after));
    }
    terminal::result(&shown)?;
    if shown.is_empty() {
        terminal::note(&format!("{} and {} are identical", old.name, new.name));
    }
    Ok(())
}

/// Resolves the new side: the second argument, which may be only a selector, or else the latest
/// version.
async fn resolve_new(
    args: &Diff,
    work: &StoreSession<'_>,
    old: &DefinitionRef,
) -> Result<DefinitionRef, CliError> {
    let mark = match args.new.as_deref() {
        None => mark(LATEST)?,
        Some(text) if text.starts_with('@') => mark(text)?,
        Some(text) => {
            let named = work.resolve_name(old.kind, text).await?;
            let mark = named.mark_or_latest();
            return Ok(DefinitionRef {
                mark: Some(mark),
                ..named
            });
        }
    };
    Ok(DefinitionRef {
        kind: old.kind,
        id: old.id.clone(),
        key: old.key.clone(),
        mark: Some(mark),
    })
}

/// Resolves the old side. Without a selector, it is production, or else the version before the new
/// one.
async fn resolve_old(
    work: &StoreSession<'_>,
    old: DefinitionRef,
    new: &DefinitionRef,
) -> Result<DefinitionRef, CliError> {
    if old.mark.is_some() {
        return Ok(old);
    }
    let labels = work.definitions.labels(old.kind, &old.key).await?;
    if labels.get(PRODUCTION).is_some() {
        let mark = Some(mark(PRODUCTION)?);
        return Ok(DefinitionRef { mark, ..old });
    }
    let found = work.resolve_version(new).await?;
    let number = found.version.map_or(0, |version| version.number);
    let before = work
        .definitions
        .versions(old.kind, &old.id, Some(number), 1);
    let before = before.await?.into_iter().find(|version| !version.removed);
    let mark = before.map_or_else(
        || VersionSelector::Label(LATEST.to_owned()),
        |version| VersionSelector::Number(version.number),
    );
    Ok(DefinitionRef {
        mark: Some(mark),
        ..old
    })
}

async fn version(work: &StoreSession<'_>, named: &DefinitionRef) -> Result<DiffSide, CliError> {
    let found = work.resolve_version(named).await?;
    let number = found
        .version
        .map(|version| VersionSelector::Number(version.number));
    let mark = number.unwrap_or_else(|| named.mark_or_latest());
    Ok(DiffSide {
        name: format!("{}@{mark}", named.id),
        content: found.content,
    })
}

/// Returns the unified diff, coloured on terminals with colours.
fn differences(old_name: &str, old: &str, new_name: &str, new: &str) -> String {
    let found = unified(old_name, old, new_name, new);
    // If the output is a file or a pipe, such as to `patch`, it must be exact.
    if !Stream::Out.is_terminal() {
        return found;
    }
    let colour = Stream::Out.has_colour();
    let line = |(number, line): (usize, &str)| {
        // Other users may have written the definitions, which must not control the terminal.
        let line = sanitize(line);
        let style = match line.as_bytes().first() {
            _ if number < 2 => Some(TextStyle::Bold),
            Some(b'@') => Some(TextStyle::Yellow),
            Some(b'-') => Some(TextStyle::Red),
            Some(b'+') => Some(TextStyle::Green),
            _ => None,
        };
        let line = style.map_or_else(
            || line.clone().into_owned(),
            |style| styled(&line, style, colour),
        );
        format!("{line}\n")
    };
    found.lines().enumerate().map(line).collect()
}

/// Renders a version with these variables.
async fn rendered(
    work: &StoreSession<'_>,
    version: &DiffSide,
    variables: &Map,
) -> Result<String, CliError> {
    let service = work.definitions.prompts();
    service.load().await?;
    let input = RenderInput::new(variables, "diff");
    let outcome = match service.render(&version.name, &input).await {
        Ok(outcome) => outcome,
        Err(error) => {
            terminal::error(&format!("cannot render {}: {error}", version.name));
            return Err(CliError::Said(error.root_code().exit()));
        }
    };
    let mut text = match outcome.prompt {
        RenderedPrompt::Text(text) => text,
        RenderedPrompt::Messages(messages) => as_text(&messages),
    };
    if !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

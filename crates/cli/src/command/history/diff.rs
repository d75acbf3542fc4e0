//! `quillet diff`: what differs between two versions, and between what they render.

use quillet_core::Map;
use quillet_core::history::{Content, LATEST, Mark, PRODUCTION};
use quillet_core::store::Kind;
use quillet_host::definitions::{readable, unified};
use quillet_prompt::{Input, RenderedPrompt};

use super::work::{Named, Work, mark};
use crate::args::Diff;
use crate::command::render::as_text;
use crate::failure::Failure;
use crate::source;
use crate::talk::harmless;
use crate::terminal::{self, Stream, Style, styled};

/// One of the two versions.
struct Version {
    /// `ID@NUMBER`.
    name: String,
    content: Content,
}

pub(super) async fn run(args: &Diff, work: &Work<'_>) -> Result<(), Failure> {
    let variables = source::variables(args.data.as_deref(), &args.define)?;
    let is_rendered = args.data.is_some() || !args.define.is_empty();
    let kind = args.which.kind();
    if is_rendered && kind != Kind::Prompt {
        return Err(Failure::Usage(format!(
            "-D and -d render prompts, and no {}",
            kind.name()
        )));
    }
    let old = work.named(kind, &args.old).await?;
    let new = other(args, work, &old).await?;
    let old = version(work, &earlier(work, old, &new).await?).await?;
    let new = version(work, &new).await?;
    let (before, after) = (readable(&old.content), readable(&new.content));
    let mut shown = differences((&old.name, &before), (&new.name, &after));
    if is_rendered {
        let (before, after) = (
            rendered(work, &old, &variables).await?,
            rendered(work, &new, &variables).await?,
        );
        let names = [&old.name, &new.name].map(|name| format!("{name} rendered"));
        shown.push_str(&differences((&names[0], &before), (&names[1], &after)));
    }
    terminal::result(&shown)?;
    if shown.is_empty() {
        terminal::note(&format!("{} and {} are the same", old.name, new.name));
    }
    Ok(())
}

/// The other side: as it was named, a mark of the same definition, or what stands in the store.
async fn other(args: &Diff, work: &Work<'_>, old: &Named) -> Result<Named, Failure> {
    let mark = match args.new.as_deref() {
        None => mark(LATEST)?,
        Some(text) if text.starts_with('@') => mark(text)?,
        Some(text) => {
            let named = work.named(old.kind, text).await?;
            let mark = named.mark_or_latest();
            return Ok(Named {
                mark: Some(mark),
                ..named
            });
        }
    };
    Ok(Named {
        kind: old.kind,
        id: old.id.clone(),
        key: old.key.clone(),
        mark: Some(mark),
    })
}

/// Without a mark, production is the one side; where nobody set that label, it is the version
/// before.
async fn earlier(work: &Work<'_>, old: Named, new: &Named) -> Result<Named, Failure> {
    if old.mark.is_some() {
        return Ok(old);
    }
    let labels = work.definitions.labels(old.kind, &old.key).await?;
    if labels.get(PRODUCTION).is_some() {
        let mark = Some(mark(PRODUCTION)?);
        return Ok(Named { mark, ..old });
    }
    let found = work.found(new).await?;
    let number = found.version.map_or(0, |version| version.number);
    let before = work
        .definitions
        .versions(old.kind, &old.id, Some(number), 1);
    let before = before.await?.into_iter().find(|version| !version.removed);
    let mark = before.map_or_else(
        || Mark::Label(LATEST.to_owned()),
        |version| Mark::Number(version.number),
    );
    Ok(Named {
        mark: Some(mark),
        ..old
    })
}

async fn version(work: &Work<'_>, named: &Named) -> Result<Version, Failure> {
    let found = work.found(named).await?;
    let number = found.version.map(|version| Mark::Number(version.number));
    let mark = number.unwrap_or_else(|| named.mark_or_latest());
    Ok(Version {
        name: format!("{}@{mark}", named.id),
        content: found.content,
    })
}

/// The unified diff, in colour for a terminal that has it.
fn differences(old: (&str, &str), new: (&str, &str)) -> String {
    let found = unified(old, new);
    if !Stream::Out.is_terminal() {
        return found;
    }
    let colour = Stream::Out.has_colour();
    let line = |(number, line): (usize, &str)| {
        let line = harmless(line);
        let style = match line.as_bytes().first() {
            _ if number < 2 => Some(Style::Bold),
            Some(b'@') => Some(Style::Yellow),
            Some(b'-') => Some(Style::Red),
            Some(b'+') => Some(Style::Green),
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

/// What a version renders with these variables.
async fn rendered(work: &Work<'_>, version: &Version, variables: &Map) -> Result<String, Failure> {
    let service = work.definitions.prompts();
    service.load().await?;
    let input = Input::new(variables, "diff");
    let outcome = match service.render(&version.name, &input).await {
        Ok(outcome) => outcome,
        Err(error) => {
            terminal::error(&format!("{} cannot be rendered: {error}", version.name));
            return Err(Failure::Said(error.root_code().exit()));
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

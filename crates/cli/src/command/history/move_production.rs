//! `quillet promote` and `quillet rollback`: change the production version.

use quillet_core::history::{PRODUCTION, VersionSelector};
use quillet_core::store::EntryKind;
use quillet_host::definitions::{DefinitionError, LabelChange, Write};

use super::label::move_label;
use super::store_session::{DefinitionRef, StoreSession, mark};
use crate::args::{Promote, Rollback};
use crate::failure::CliError;
use crate::terminal;

/// Maximum number of versions searched for one that differs from the current definition.
const LOOK_BACK: usize = 1000;

pub(super) async fn promote(args: &Promote, work: &StoreSession<'_>) -> Result<(), CliError> {
    let named = work.resolve_name(args.which.kind(), &args.id).await?;
    let to = match (&args.from, &named.mark) {
        (None, _) => named.mark_or_latest(),
        (Some(from), None) => mark(from)?,
        (Some(_), Some(mark)) => {
            return Err(CliError::Usage(format!(
                "--from and @{mark} both select the version: omit one of them"
            )));
        }
    };
    let wanted = LabelChange::At(to);
    move_label(work, &named, &args.to, wanted, &args.why.message).await
}

pub(super) async fn back(args: &Rollback, work: &StoreSession<'_>) -> Result<(), CliError> {
    let named = work.id(args.which.kind(), &args.id).await?;
    let to = args.to.as_deref().map(mark).transpose()?;
    let labels = work.definitions.labels(named.kind, &named.key).await?;
    let label = match &args.label {
        Some(label) => Some(label.as_str()),
        None => labels.get(PRODUCTION).map(|_| PRODUCTION),
    };
    let Some(label) = label else {
        return restore_version(args, work, &named, to).await;
    };
    let to = match to {
        Some(to) => to,
        None => {
            let before = work.definitions.before(named.kind, &named.id, label);
            VersionSelector::Number(before.await?)
        }
    };
    let message = match args.why.message.as_str() {
        "" => "rolled back",
        message => message,
    };
    move_label(work, &named, label, LabelChange::At(to), message).await
}

/// Saves an earlier version as the newest one. Readers get the newest version if there is no label
/// `production`.
async fn restore_version(
    args: &Rollback,
    work: &StoreSession<'_>,
    named: &DefinitionRef,
    to: Option<VersionSelector>,
) -> Result<(), CliError> {
    let to = match to {
        Some(to) => to,
        None => VersionSelector::Number(other(work, named.kind, named).await?),
    };
    let found = work
        .definitions
        .find(named.kind, &named.id, Some(&to))
        .await?;
    let number = found.version.map_or(0, |version| version.number);
    let message = match args.why.message.as_str() {
        "" => format!("rolled back to {number}"),
        message => message.to_owned(),
    };
    let write = Write {
        content: found.content,
        message: &message,
        ..Write::new(named.kind, &named.id, "")
    };
    let written = work.write(write).await?;
    let now = written.committed.version.number;
    let line = if written.committed.is_new {
        format!("restored version {number} of {} as version {now}", named.id)
    } else {
        format!("{} is already version {number}", named.id)
    };
    Ok(terminal::line(&line)?)
}

/// Returns the newest version that differs from the current definition.
async fn other(
    work: &StoreSession<'_>,
    kind: EntryKind,
    named: &DefinitionRef,
) -> Result<u64, CliError> {
    let versions = work
        .definitions
        .versions(kind, &named.id, None, LOOK_BACK)
        .await?;
    let newest = versions.first();
    let differs = |digest| newest.is_none_or(|newest| newest.removed || newest.digest != digest);
    let mut earlier = versions.iter().filter(|one| !one.removed);
    let found = earlier.find(|one| differs(one.digest));
    let none = || DefinitionError::Version {
        id: named.id.clone(),
        wanted: format!("before {}", newest.map_or(0, |newest| newest.number)),
        newest: String::new(),
    };
    Ok(found.ok_or_else(none)?.number)
}

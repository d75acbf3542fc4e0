//! `quillet push`: creates versions from files.

use futures_util::stream::{self, StreamExt};
use quillet_core::history::{CommitResult, LabelTarget};
use quillet_core::store::{EntryKey, EntryKind, StoreEntry, StoreErrorKind};
use quillet_host::definitions::{DefinitionError, PushChange, PushItem, Reason, check_labels};

use super::checked::{findings, reject_errors};
use super::file::DefinitionFiles;
use super::print::target;
use super::store_session::StoreSession;
use crate::args::Push;
use crate::failure::CliError;
use crate::progress_bar::ProgressBar;
use crate::terminal;

/// Maximum number of concurrent writes.
const AT_ONCE: usize = 32;

/// Counts of definitions by result.
#[derive(Default)]
struct PushCounts {
    new: usize,
    changed: usize,
    same: usize,
    removed: usize,
}

pub(super) async fn run(args: &Push, work: &StoreSession<'_>) -> Result<(), CliError> {
    // Labels are checked first, so that an invalid one is reported before anything is written.
    check_labels(args.labels.iter().map(String::as_str))?;
    let files = DefinitionFiles::read(args).await?;
    let kinds = files.kinds.clone();
    let kept = files.into_definitions(work.config)?;
    let entries: Vec<(EntryKind, StoreEntry)> =
        kept.iter().map(|it| (it.kind, it.entry.clone())).collect();
    let found = findings(&entries, work.store.clone(), work.config).await?;
    reject_errors(&found, args.broken, "save it anyway with --broken")?;
    let pushed = kept.into_iter().map(|it| PushItem {
        kind: it.kind,
        key: it.entry.key,
        content: it.content,
    });
    let steps = work.definitions.plan(pushed.collect()).await?;
    let gone = if args.prune {
        gone(work, &kinds, &steps).await?
    } else {
        Vec::new()
    };
    let mut counts = PushCounts::default();
    if args.dry_run {
        let lines = steps.iter().map(|step| counts.line(step, args));
        let lines: String = lines.collect();
        terminal::result(&lines)?;
    } else {
        write(args, work, &steps, &mut counts).await?;
    }
    for (kind, key) in gone {
        let id = key.id();
        if !args.dry_run {
            work.gone(kind, &id, &args.why.message).await?;
        }
        counts.removed += 1;
        terminal::line(&format!("{} {id}: removed", kind.name()))?;
    }
    let done = if args.dry_run {
        "; nothing was written"
    } else {
        ""
    };
    terminal::note(&format!("{}{done}", counts.summary(work)));
    Ok(())
}

/// Returns the stored definitions of these kinds that are not part of the push.
async fn gone(
    work: &StoreSession<'_>,
    kinds: &[EntryKind],
    steps: &[PushChange],
) -> Result<Vec<(EntryKind, EntryKey)>, CliError> {
    let mut gone = Vec::new();
    for kind in kinds {
        let is_pushed = |key: &EntryKey| {
            let mut pushed = steps.iter().map(|step| &step.pushed);
            pushed.any(|one| one.kind == *kind && one.key == *key)
        };
        let stored = work.store.keys(*kind).await?;
        gone.extend(
            stored
                .into_iter()
                .filter(|key| !is_pushed(key))
                .map(|key| (*kind, key)),
        );
    }
    Ok(gone)
}

/// Writes the changed definitions concurrently, and reports each in the order of the plan.
async fn write(
    args: &Push,
    work: &StoreSession<'_>,
    steps: &[PushChange],
    counts: &mut PushCounts,
) -> Result<(), CliError> {
    let bar = ProgressBar::new();
    let mut done = stream::iter(steps)
        .map(|step| async move { (step, taken(args, work, step).await) })
        .buffered(AT_ONCE);
    let (mut lines, mut lost) = (String::new(), 0);
    let mut failed = None;
    while let Some((step, committed)) = done.next().await {
        match committed {
            Ok(_) => lines.push_str(&counts.line(step, args)),
            // If another write came first, only this definition fails, and the others are still
            // pushed.
            Err(DefinitionError::Store(error)) if error.kind == StoreErrorKind::Conflict => {
                lost += 1;
                terminal::error(&error.to_string());
            }
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
        bar.set_progress(counts.sum() as u64, steps.len() as u64, "definitions");
    }
    drop(bar);
    terminal::result(&lines)?;
    let again = "push again to resume";
    if let Some(error) = failed {
        let (sum, all) = (counts.sum(), steps.len());
        terminal::note(&format!("pushed {sum} of {all} definitions; {again}"));
        return Err(error.into());
    }
    if lost > 0 {
        return Err(CliError::Other(format!(
            "skipped {lost} definitions that another writer changed meanwhile; {again}"
        )));
    }
    Ok(())
}

/// Applies a change, if there is anything to write.
async fn taken(
    args: &Push,
    work: &StoreSession<'_>,
    step: &PushChange,
) -> Result<Option<CommitResult>, DefinitionError> {
    let labels: Vec<String> = moved(step, args).map(str::to_owned).collect();
    // An unchanged push must leave no entry in the audit log.
    if step.is_same() && labels.is_empty() {
        return Ok(None);
    }
    let reason = Reason {
        message: &args.why.message,
        labels: &labels,
    };
    work.definitions
        .take(&work.actor, step, reason)
        .await
        .map(Some)
}

/// Returns the labels that the push has to move.
fn moved<'a>(step: &'a PushChange, args: &'a Push) -> impl Iterator<Item = &'a str> {
    let to = LabelTarget::Version(step.number());
    let names = args.labels.iter().map(String::as_str);
    names.filter(move |name| step.labels.get(name) != Some(&to))
}

impl PushCounts {
    /// Counts a change and describes it.
    fn line(&mut self, step: &PushChange, args: &Push) -> String {
        let (count, what) = if step.is_same() {
            (&mut self.same, format!("unchanged {}", step.number()))
        } else if step.now.is_none() {
            (&mut self.new, format!("new {}", step.number()))
        } else {
            let what = format!("{} → {}", step.newest, step.number());
            (&mut self.changed, what)
        };
        *count += 1;
        let labels = moved(step, args).map(|name| {
            let before = step.labels.get(name).map_or("none".to_owned(), target);
            format!(", {name} {before} → {}", step.number())
        });
        let labels: String = labels.collect();
        let kind = step.pushed.kind.name();
        format!("{kind} {}: {what}{labels}\n", step.pushed.key.id())
    }

    fn sum(&self) -> usize {
        self.new + self.changed + self.same
    }

    fn summary(&self, work: &StoreSession<'_>) -> String {
        let removed = match self.removed {
            0 => String::new(),
            removed => format!(", {removed} removed"),
        };
        format!(
            "{}: {} new, {} changed, {} unchanged{removed}",
            work.store.describe(),
            self.new,
            self.changed,
            self.same
        )
    }
}

//! `quillet rm` and `quillet gc`: remove definitions and old versions.

use super::store_session::StoreSession;
use crate::args::{Collect, Remove};
use crate::failure::CliError;
use crate::progress_bar::ProgressBar;
use crate::terminal;

pub(super) async fn remove(args: &Remove, work: &StoreSession<'_>) -> Result<(), CliError> {
    let named = work.id(args.which.kind(), &args.id).await?;
    work.remove(named.kind, &named.id, &args.why.message).await
}

/// Deletes old versions.
pub(super) async fn run(args: &Collect, work: &StoreSession<'_>) -> Result<(), CliError> {
    let kinds = match args.ids.as_slice() {
        [] => args.which.kinds(),
        _ => vec![args.which.kind()],
    };
    let keys = work.keys(&kinds, &args.ids).await?;
    // If the number is too large, every version is kept.
    let keep = usize::try_from(args.keep).unwrap_or(usize::MAX);
    let bar = ProgressBar::new();
    let (mut dropped, mut lines) = (0, String::new());
    for (at, (kind, key)) in keys.iter().enumerate() {
        bar.set_progress(at as u64, keys.len() as u64, "definitions");
        let id = key.id();
        let old = if args.dry_run {
            work.definitions.collectable(*kind, key, keep).await?
        } else {
            work.definitions
                .collect(&work.actor, *kind, &id, keep)
                .await?
        };
        if !old.is_empty() {
            dropped += old.len();
            lines.push_str(&format!("{} {id}: {}\n", kind.name(), ranges(old)));
        }
    }
    // Cleared before the results, which may go to the same terminal.
    drop(bar);
    terminal::result(&lines)?;
    let did = if args.dry_run {
        "would be deleted"
    } else {
        "deleted"
    };
    terminal::note(&format!(
        "{dropped} versions of {} definitions {did}",
        keys.len()
    ));
    Ok(())
}

/// Formats unordered numbers as ranges: `1-3, 7`.
fn ranges(mut numbers: Vec<u64>) -> String {
    numbers.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => ranges.push((number, number)),
        }
    }
    let shown = ranges.into_iter().map(|range| match range {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shown_as_ranges() {
        for (numbers, expected) in [
            (vec![], ""),
            (vec![3, 2, 1], "1-3"),
            (vec![9, 1, 2, 4], "1-2, 4, 9"),
        ] {
            assert_eq!(ranges(numbers), expected);
        }
    }
}

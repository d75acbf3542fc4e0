//! `quillet label` and `quillet labels`: list and move labels.

use std::collections::BTreeMap;

use quillet_core::history::{LATEST, LabelTarget, Labels, TrafficSplit};
use quillet_host::definitions::{DefinitionError, LabelChange, Relabel};

use super::print::target;
use super::store_session::{DefinitionRef, StoreSession};
use crate::args::{Label, Labels as List};
use crate::failure::CliError;
use crate::terminal;

/// Prints the labels of one definition.
pub(super) async fn list(args: &List, work: &StoreSession<'_>) -> Result<(), CliError> {
    let named = work.id(args.which.kind(), &args.id).await?;
    let latest = work.latest(&named).await?;
    if args.json {
        return Ok(terminal::line(&latest.labels.to_text())?);
    }
    let mut rows: Vec<(&str, String)> = Vec::new();
    rows.extend(
        latest
            .version
            .map(|version| (LATEST, version.number.to_string())),
    );
    let labels = latest.labels.0.iter();
    rows.extend(labels.map(|(name, at)| (name.as_str(), target(at))));
    let widest = rows.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines = rows
        .iter()
        .map(|(name, at)| format!("{name:widest$}  {at}\n"));
    Ok(terminal::result(&lines.collect::<String>())?)
}

/// Moves a label, splits it between versions, or removes it.
pub(super) async fn set(args: &Label, work: &StoreSession<'_>) -> Result<(), CliError> {
    let named = work.resolve_name(args.which.kind(), &args.id).await?;
    let is_whole = args.remove || !args.split.is_empty();
    if let Some(mark) = named.mark.as_ref().filter(|_| is_whole) {
        return Err(CliError::Usage(format!(
            "@{mark} selects one version: omit it with --remove and --split"
        )));
    }
    let wanted = if args.remove {
        LabelChange::Nowhere
    } else if args.split.is_empty() {
        LabelChange::At(named.mark_or_latest())
    } else {
        LabelChange::Target(split(&args.split, args.by.as_deref())?)
    };
    move_label(work, &named, &args.name, wanted, &args.why.message).await
}

/// Moves a label and prints its old and new targets.
pub(super) async fn move_label(
    work: &StoreSession<'_>,
    named: &DefinitionRef,
    label: &str,
    wanted: LabelChange,
    message: &str,
) -> Result<(), CliError> {
    let before = work.definitions.labels(named.kind, &named.key).await?;
    // Removing a label that does not exist is probably a typo, so it is an error here.
    if let LabelChange::Nowhere = wanted
        && before.get(label).is_none()
    {
        return Err(DefinitionError::label(&named.key, label, &before).into());
    }
    // If the user gives no message, the log records the new target.
    let told = match (&wanted, message) {
        (LabelChange::Target(to), "") => target(to),
        (LabelChange::Nowhere, "") => "removed".to_owned(),
        (_, message) => message.to_owned(),
    };
    let relabel = Relabel {
        kind: named.kind,
        id: &named.id,
        label,
        wanted,
        expect: None,
        message: &told,
    };
    let after = work.definitions.relabel(&work.actor, relabel).await?;
    let shown = |labels: &Labels| labels.get(label).map_or("none".to_owned(), target);
    let line = match (shown(&before), shown(&after)) {
        (before, after) if before == after => format!("unchanged at {after}"),
        (before, after) => format!("{before} → {after}"),
    };
    Ok(terminal::line(&format!("{} {label}: {line}", named.id))?)
}

/// Parses `NUMBER=WEIGHT` for each version.
fn split(given: &[String], by: Option<&str>) -> Result<LabelTarget, CliError> {
    let mut versions = BTreeMap::new();
    for part in given {
        let pair = part.split_once('=').and_then(|(number, weight)| {
            let number = number.trim().trim_start_matches('@').parse::<u64>().ok()?;
            Some((
                number,
                weight.trim().trim_end_matches('%').parse::<u32>().ok()?,
            ))
        });
        let Some((number, weight)) = pair else {
            return Err(CliError::Usage(format!(
                "--split {part:?} must be NUMBER=WEIGHT, such as 3=90,4=10"
            )));
        };
        if versions.insert(number, weight).is_some() {
            return Err(CliError::Usage(format!(
                "--split names version {number} twice"
            )));
        }
    }
    let target = LabelTarget::Split(TrafficSplit {
        versions,
        by: by.map(str::to_owned),
        salt: None,
    });
    match target.validation_error() {
        None => Ok(target),
        Some(why) => Err(CliError::Usage(format!("--split: {why}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_read_and_refused() {
        let read = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|text| (*text).to_owned()).collect();
            split(&given, None).map(|found| target(&found))
        };
        for (given, expected) in [
            (&["3=90", "4=10"][..], "3 90%, 4 10%"),
            (&["4=10%", " 3 = 90%"], "3 90%, 4 10%"),
            (&["@7=1"], "7 100%"),
        ] {
            assert_eq!(read(given).unwrap(), expected, "{given:?}");
        }
        for wrong in [
            &["3"][..],
            &["a=1"],
            &["3=-1"],
            &["3=0"],
            &["0=1"],
            &["3=1", "3=2"],
            &["3=99999999999"],
        ] {
            assert!(matches!(read(wrong), Err(CliError::Usage(_))), "{wrong:?}");
        }
    }
}

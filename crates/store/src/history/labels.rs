//! Stored labels, and moving them.

use quillet_core::history::{Commit, HistoryImport, LabelMove, LabelTarget, Labels, label_error};
use quillet_core::store::{EntryKey, StoreError, StoreErrorKind};

/// Reads the labels of a definition.
///
/// # Errors
/// `Corrupt` if the labels are invalid, for example after an edit. If they were treated as missing,
/// the next move would delete them and the versions that they point at.
pub(crate) fn stored(key: &EntryKey, text: Option<&str>) -> Result<Labels, StoreError> {
    let Some(text) = text else {
        return Ok(Labels::default());
    };
    Labels::parse(text).map_err(|why| {
        let message = format!("invalid labels of {key}: {why}; fix or remove them");
        StoreError::new(StoreErrorKind::Corrupt, message)
    })
}

/// Returns the labels after a commit that created this version; `text` is their stored form before
/// it.
pub(crate) fn committed(
    commit: &Commit,
    text: Option<&str>,
    number: u64,
) -> Result<Labels, StoreError> {
    if commit.content.is_none() {
        return Ok(Labels::default());
    }
    let key = &commit.key;
    let moves = commit.labels.iter().map(|name| LabelMove {
        name: name.clone(),
        to: Some(LabelTarget::Version(number)),
        expect: None,
    });
    let moves: Vec<LabelMove> = moves.collect();
    apply_moves(key, &stored(key, text)?, &moves, |known| known == number)
}

/// Returns the labels after an import; `text` is their stored form before it.
pub(crate) fn imported(
    import: &HistoryImport,
    text: Option<&str>,
    is_there: impl Fn(u64) -> bool,
) -> Result<Labels, StoreError> {
    let key = &import.key;
    let moves = import.labels.0.iter().map(|(name, to)| LabelMove {
        name: name.clone(),
        to: Some(to.clone()),
        expect: None,
    });
    let moves: Vec<LabelMove> = moves.collect();
    apply_moves(key, &stored(key, text)?, &moves, is_there)
}

/// Applies moves to labels.
///
/// `is_there` tells whether a label can point at a version.
pub(crate) fn apply_moves(
    key: &EntryKey,
    labels: &Labels,
    moves: &[LabelMove],
    is_there: impl Fn(u64) -> bool,
) -> Result<Labels, StoreError> {
    let mut now = labels.clone();
    for one in moves {
        let name = &one.name;
        let wrong = one.to.as_ref().and_then(LabelTarget::validation_error);
        if let Some(why) = label_error(name).or(wrong) {
            return Err(StoreError::new(
                StoreErrorKind::Refused,
                format!("{}: label {name:?}: {why}", key.id()),
            ));
        }
        if let Some(expected) = &one.expect
            && labels.get(name) != expected.as_ref()
        {
            let message = format!(
                "{}: expected label {name} at {}, but it is at {}",
                key.id(),
                shown(expected.as_ref()),
                shown(labels.get(name))
            );
            return Err(StoreError::new(StoreErrorKind::Conflict, message));
        }
        let Some(target) = &one.to else {
            now.0.remove(name);
            continue;
        };
        if let Some(number) = target.numbers().find(|number| !is_there(*number)) {
            let message = format!(
                "{}: there is no version {number} for label {name}",
                key.id()
            );
            return Err(StoreError::new(StoreErrorKind::NoVersion, message));
        }
        now.0.insert(name.clone(), target.clone());
    }
    Ok(now)
}

fn shown(target: Option<&LabelTarget>) -> String {
    match target {
        None => "nothing".to_owned(),
        Some(LabelTarget::Version(number)) => format!("version {number}"),
        Some(LabelTarget::Split(split)) => {
            let parts = split.versions.iter();
            let parts = parts.map(|(number, weight)| format!("{number}: {weight}"));
            parts.collect::<Vec<_>>().join(", ")
        }
    }
}

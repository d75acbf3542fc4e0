//! Moving labels.

use quillet_core::history::{LabelMove, Labels, Target, wrong_label};
use quillet_core::store::{Key, StoreError, StoreErrorKind};

/// Labels after some moves.
///
/// `is_there` says whether a version can be pointed at.
pub(crate) fn moved(
    key: &Key,
    labels: &Labels,
    moves: &[LabelMove],
    is_there: impl Fn(u64) -> bool,
) -> Result<Labels, StoreError> {
    let mut now = labels.clone();
    for one in moves {
        let name = &one.name;
        let wrong = one.to.as_ref().and_then(Target::wrong);
        if let Some(why) = wrong_label(name).or(wrong) {
            return Err(StoreError::new(
                StoreErrorKind::Refused,
                format!("{}: label {name:?}: {why}", key.id()),
            ));
        }
        if let Some(expected) = &one.expect
            && labels.get(name) != expected.as_ref()
        {
            let message = format!(
                "{}: label {name} was expected at {}, and is at {}",
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

fn shown(target: Option<&Target>) -> String {
    match target {
        None => "nothing".to_owned(),
        Some(Target::Version(number)) => format!("version {number}"),
        Some(Target::Split(split)) => {
            let parts = split.versions.iter();
            let parts = parts.map(|(number, weight)| format!("{number}: {weight}"));
            parts.collect::<Vec<_>>().join(", ")
        }
    }
}

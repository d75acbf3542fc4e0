//! Disabled cargo features.
//!
//! Expensive parts are optional cargo features. If one is disabled, users get the same error code
//! and the same suggestion on the command line, in settings, over REST and in definitions.

use std::fmt;

/// Error of a part that was not compiled in.
///
/// # Examples
///
/// ```
/// use quillet_core::build::FeatureDisabled;
/// use quillet_core::store::{StoreError, StoreErrorKind};
///
/// let disabled = FeatureDisabled { what: "Redis", feature: "redis" };
/// assert!(disabled.to_string().starts_with("this build has no Redis"));
/// assert_eq!(StoreError::from(disabled).kind, StoreErrorKind::Missing);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FeatureDisabled {
    /// Name of the part as shown to users, such as `PostgreSQL`.
    pub what: &'static str,
    /// The cargo feature of the package `quillet` that enables it.
    pub feature: &'static str,
}

impl fmt::Display for FeatureDisabled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let FeatureDisabled { what, feature } = self;
        write!(
            f,
            "this build has no {what}: build with `--features {feature}`, or take the released binary"
        )
    }
}

impl std::error::Error for FeatureDisabled {}

#[cfg(test)]
mod tests {
    use super::FeatureDisabled;

    #[test]
    fn it_names_the_part_and_the_mend() {
        let missing = FeatureDisabled {
            what: "PostgreSQL",
            feature: "postgres",
        };
        let said = "this build has no PostgreSQL: build with `--features postgres`, or take the released binary";
        assert_eq!(missing.to_string(), said);
    }
}

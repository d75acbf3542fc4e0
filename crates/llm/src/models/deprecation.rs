//! Shutdown dates of models, and the warnings before them.

use std::fmt;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::facts::ModelInfo;

/// Number of days before the shutdown date at which warnings start. It leaves time to release and
/// review a change.
pub const SOON_DAYS: i32 = 90;

/// A model that was shut down, or will be within [`SOON_DAYS`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelDeprecation {
    /// The model and its shutdown date.
    pub message: String,
    /// The recommended action.
    pub help: String,
}

/// Returns the current date in UTC; providers announce dates without a time.
#[must_use]
pub fn today() -> Date {
    Timestamp::now().to_zoned(TimeZone::UTC).date()
}

impl ModelInfo {
    /// Returns the warning for this model on a day, or `None`. `name` is the requested name.
    ///
    /// # Examples
    ///
    /// ```
    /// use jiff::civil::date;
    /// use quillet_llm::models::ModelFacts;
    ///
    /// let facts = ModelFacts::default().with(
    ///     r#"[{"id": "house", "context": 32768, "output": 2048, "ends": "2026-03-01"}]"#,
    /// )?;
    /// let ending = facts.find("house").deprecation("house", date(2026, 2, 27)).unwrap();
    /// assert_eq!(ending.message, "the model house ends on 2026-03-01, in 2 days");
    /// # Ok::<(), quillet_llm::models::FactsError>(())
    /// ```
    #[must_use]
    pub fn deprecation(&self, name: &str, today: Date) -> Option<ModelDeprecation> {
        let ends = self.ends?;
        let days = today.until(ends).ok()?.get_days();
        if days > SOON_DAYS {
            return None;
        }
        let when = match days {
            2.. => format!("ends on {ends}, in {days} days"),
            1 => format!("ends on {ends}, tomorrow"),
            0 => format!("ends on {ends}, today"),
            _ => format!("ended on {ends}"),
        };
        let help = match &self.successor {
            Some(successor) => format!("name another model, such as {successor}"),
            None => "name another model".to_owned(),
        };
        Some(ModelDeprecation {
            message: format!("the model {name} {when}"),
            help,
        })
    }
}

impl fmt::Display for ModelDeprecation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

#[cfg(test)]
mod tests {
    use jiff::civil::date;

    use super::super::ModelFacts;

    #[test]
    fn a_model_is_spoken_of_from_ninety_days_before_its_end() {
        let own = r#"[
            {"id": "old", "context": 9, "output": 9, "ends": "2026-12-11", "successor": "new"},
            {"id": "lost", "context": 9, "output": 9, "ends": "2026-12-11"},
            {"id": "new", "context": 9, "output": 9}
        ]"#;
        let facts = ModelFacts::default().with(own).unwrap();
        let today = date(2026, 11, 25);
        for (model, day, said) in [
            ("old", date(2026, 9, 11), ""),
            (
                "old",
                date(2026, 9, 12),
                "old ends on 2026-12-11, in 90 days",
            ),
            ("old", today, "old ends on 2026-12-11, in 16 days"),
            (
                "old",
                date(2026, 12, 9),
                "old ends on 2026-12-11, in 2 days",
            ),
            (
                "old",
                date(2026, 12, 10),
                "old ends on 2026-12-11, tomorrow",
            ),
            ("old", date(2026, 12, 11), "old ends on 2026-12-11, today"),
            ("old", date(2027, 1, 1), "old ended on 2026-12-11"),
            (
                "x/OLD-2025-08-07",
                today,
                "x/OLD-2025-08-07 ends on 2026-12-11, in 16 days",
            ),
            // These models are not versions of `old`, so its shutdown date does not apply to them.
            ("old-mini", today, ""),
            ("old:8b", today, ""),
            ("new", today, ""),
            ("my-own", today, ""),
        ] {
            let found = facts.find(model).deprecation(model, day);
            let message = found.map(|found| found.message).unwrap_or_default();
            let message = message.strip_prefix("the model ").unwrap_or_default();
            assert_eq!(message, said, "{model} {day}");
        }
        for (model, help) in [
            ("old", "name another model, such as new"),
            ("lost", "name another model"),
        ] {
            let found = facts.find(model).deprecation(model, today).unwrap();
            assert_eq!(found.help, help);
            assert_eq!(found.to_string(), format!("{}; {help}", found.message));
        }
    }
}

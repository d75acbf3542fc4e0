//! Budget limits of settings, definitions and requests.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::ledger::MAX_AMOUNT;

/// Billionths of a dollar in one dollar.
pub const NANO: f64 = 1e9;

/// Limits per unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetLimit {
    /// Tokens; unlimited if `None`.
    pub tokens: Option<u64>,
    /// Billionths of a US dollar; unlimited if `None`.
    pub nano_usd: Option<u64>,
}

impl BudgetLimit {
    /// Whether a limit is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.tokens.is_some() || self.nano_usd.is_some()
    }
}

/// Budget limits of all keys, of one key, of an agent or of a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct BudgetLimits {
    /// Limits per day.
    pub day: BudgetLimit,
    /// Limits per run.
    pub run: BudgetLimit,
    /// Maximum time of a run.
    pub run_time: Option<Duration>,
}

/// Error of a budget limit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LimitsError {
    /// Unknown limit.
    #[error("unknown budget limit {0}: use day_usd, day_tokens, run_usd, run_tokens or run_s")]
    Unknown(String),
    /// Invalid number.
    #[error("{0} must be {1}")]
    Number(&'static str, &'static str),
}

impl BudgetLimits {
    /// Names of all limits in settings and definitions.
    pub const NAMES: [&'static str; 5] =
        ["day_usd", "day_tokens", "run_usd", "run_tokens", "run_s"];

    /// Sets a limit by its name: `day_usd` and `run_usd` in US dollars, `day_tokens` and
    /// `run_tokens`, `run_s` in seconds.
    ///
    /// # Errors
    /// The name is unknown, or the number is negative, too large, or not a whole number of tokens.
    ///
    /// # Examples
    ///
    /// ```
    /// use quillet_core::budget::BudgetLimits;
    ///
    /// let mut limits = BudgetLimits::default();
    /// limits.set("day_usd", 2.5)?;
    /// assert_eq!(limits.day.nano_usd, Some(2_500_000_000));
    /// assert!(limits.set("day_usd", -1.0).is_err());
    /// assert!(limits.set("week_usd", 1.0).is_err());
    /// # Ok::<(), quillet_core::budget::LimitsError>(())
    /// ```
    pub fn set(&mut self, name: &str, number: f64) -> Result<(), LimitsError> {
        match name {
            "day_usd" => self.day.nano_usd = Some(nano("day_usd", number)?),
            "run_usd" => self.run.nano_usd = Some(nano("run_usd", number)?),
            "day_tokens" => self.day.tokens = Some(tokens("day_tokens", number)?),
            "run_tokens" => self.run.tokens = Some(tokens("run_tokens", number)?),
            "run_s" => {
                let time = Duration::try_from_secs_f64(number);
                let wrong = LimitsError::Number("run_s", "a number of seconds, at least 0");
                self.run_time = Some(time.map_err(|_| wrong)?);
            }
            _ => return Err(LimitsError::Unknown(name.to_owned())),
        }
        Ok(())
    }

    /// Whether any limit is set.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.day.is_set() || self.has_run()
    }

    /// Whether any limit of a run is set.
    #[must_use]
    pub fn has_run(&self) -> bool {
        self.run.is_set() || self.run_time.is_some()
    }
}

fn nano(name: &'static str, usd: f64) -> Result<u64, LimitsError> {
    // A float has 15 exact digits, so sums up to a million dollars are exact to the billionth.
    let nano = (usd * NANO).round();
    if !(0.0..=MAX_AMOUNT as f64).contains(&nano) {
        let what = "a number of US dollars from 0 to 1000000";
        return Err(LimitsError::Number(name, what));
    }
    Ok(nano as u64)
}

fn tokens(name: &'static str, number: f64) -> Result<u64, LimitsError> {
    if !(0.0..=MAX_AMOUNT as f64).contains(&number) || number.fract() != 0.0 {
        let what = "a whole number of tokens from 0 to 1000000000000000";
        return Err(LimitsError::Number(name, what));
    }
    Ok(number as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_by_their_names() {
        let mut limits = BudgetLimits::default();
        for (name, number) in [
            ("day_usd", 2.5),
            ("day_tokens", 10.0),
            ("run_usd", 0.000_000_001),
            ("run_tokens", 0.0),
            ("run_s", 0.5),
        ] {
            assert!(BudgetLimits::NAMES.contains(&name));
            limits.set(name, number).unwrap();
        }
        assert_eq!(limits.day.nano_usd, Some(2_500_000_000));
        assert_eq!((limits.day.tokens, limits.run.tokens), (Some(10), Some(0)));
        assert_eq!(limits.run.nano_usd, Some(1));
        assert_eq!(limits.run_time, Some(Duration::from_millis(500)));
        for (name, number) in [
            ("day_usd", -1.0),
            ("day_usd", 1e7),
            ("run_usd", f64::NAN),
            ("run_tokens", 1.5),
            ("day_tokens", -1.0),
            ("run_s", -1.0),
            ("day_s", 1.0),
        ] {
            assert!(limits.set(name, number).is_err(), "{name} {number}");
        }
    }
}

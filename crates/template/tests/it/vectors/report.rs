//! Results of the vectors of a file.

use std::collections::BTreeMap;
use std::fmt;

/// Result of one vector.
#[derive(Debug)]
pub(crate) struct Outcome {
    /// Id of the vector in the file.
    pub(crate) id: String,
    /// Tier of the vector, or its group if the file has no tiers.
    pub(crate) tier: String,
    /// Displayed form of the template, or of all templates.
    pub(crate) template: String,
    /// Whether it calls only Sprig functions that are useful in prompts.
    pub(crate) ranked: bool,
    /// Result of the reference implementation.
    pub(crate) expected: String,
    /// Result of this engine.
    pub(crate) actual: String,
    /// Whether the outputs are equal, or both fail at the same stage.
    pub(crate) passed: bool,
    /// Whether the reason and the full message are equal, for expected errors with a normative
    /// text.
    pub(crate) texts: Option<(bool, bool)>,
}

/// Number of passed checks and of all checks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Score {
    pub(crate) right: usize,
    pub(crate) all: usize,
}

impl Score {
    fn add(&mut self, right: bool) {
        self.right += usize::from(right);
        self.all += 1;
    }

    /// Returns the percentage, which is 100 without any checks.
    pub(crate) fn percent(self) -> f64 {
        match self.all {
            0 => 100.0,
            all => 100.0 * self.right as f64 / all as f64,
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.all == 0 {
            return write!(f, "{:>19}", "-");
        }
        let share = format!("{}/{}", self.right, self.all);
        write!(f, "{share:>10} {:6.2} %", self.percent())
    }
}

/// Scores of a tier.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tier {
    /// Equal output, or an error at the same stage.
    pub(crate) class: Score,
    /// Equal reason, for expected errors.
    pub(crate) reason: Score,
    /// Equal full message, for expected errors.
    pub(crate) message: Score,
}

/// Results of a whole file.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) outcomes: Vec<Outcome>,
    known: BTreeMap<String, String>,
}

impl Report {
    pub(super) fn new(outcomes: Vec<Outcome>, known: BTreeMap<String, String>) -> Self {
        Report { outcomes, known }
    }

    /// Returns the scores of the outcomes that `counts` selects.
    pub(crate) fn score(&self, counts: impl Fn(&Outcome) -> bool) -> Tier {
        let mut tier = Tier::default();
        for outcome in self.outcomes.iter().filter(|outcome| counts(outcome)) {
            tier.class.add(outcome.passed);
            if let Some((reason, message)) = outcome.texts {
                tier.reason.add(outcome.passed && reason);
                tier.message.add(outcome.passed && message);
            }
        }
        tier
    }

    /// Returns listed ids whose vectors pass or do not exist.
    pub(crate) fn stale(&self) -> Vec<&str> {
        let differs = |id: &str| self.outcomes.iter().any(|o| o.id == id && !o.passed);
        let listed = self.known.keys().map(String::as_str);
        listed.filter(|id| !differs(id)).collect()
    }

    /// Returns failures without a listed reason.
    pub(crate) fn unexplained(&self) -> Vec<&str> {
        let failed = self.outcomes.iter().filter(|outcome| !outcome.passed);
        let ids = failed.map(|outcome| outcome.id.as_str());
        ids.filter(|id| !self.known.contains_key(*id)).collect()
    }

    pub(crate) fn passed(&self) -> usize {
        self.outcomes
            .iter()
            .filter(|outcome| outcome.passed)
            .count()
    }

    pub(crate) fn failed(&self) -> usize {
        self.outcomes.len() - self.passed()
    }

    /// Prints every vector with a difference, with the expected and the actual result.
    pub(crate) fn print_differences(&self) {
        for outcome in &self.outcomes {
            let whole = outcome.texts.is_none_or(|(_, message)| message);
            if outcome.passed && whole {
                continue;
            }
            let what = match (outcome.passed, self.known.get(&outcome.id)) {
                (true, _) => "message differs".to_owned(),
                (false, Some(reason)) => format!("failed (known: {reason})"),
                (false, None) => "failed".to_owned(),
            };
            println!("{}: {what}", outcome.id);
            println!("  template  {}", outcome.template);
            println!("  expected  {}", outcome.expected);
            println!("  actual    {}", outcome.actual);
        }
    }

    /// Prints the table of tiers and the known differences.
    pub(crate) fn print_summary(&self) {
        let mut tiers: Vec<&str> = self.outcomes.iter().map(|o| o.tier.as_str()).collect();
        tiers.sort_unstable();
        tiers.dedup();
        println!(
            "{:<18} {:^19} {:^19} {:^19}",
            "tier", "class", "reason", "message"
        );
        for name in tiers {
            let tier = self.score(|outcome| outcome.tier == name);
            println!("{name:<18} {} {} {}", tier.class, tier.reason, tier.message);
        }
        let ranked = self.score(|outcome| outcome.ranked);
        if ranked.class.all > 0 {
            println!("{:<18} {}", "(ranked functions)", ranked.class);
        }
        let explained = self.failed() - self.unexplained().len();
        if explained > 0 {
            println!("{explained} of the failures are known differences, with reasons in known/");
        }
        for id in self.stale() {
            println!("{id} is listed as a known difference but passes");
        }
    }
}

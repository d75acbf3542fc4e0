//! Results of a file of cases.

use std::collections::BTreeMap;

/// Result of one case.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) id: String,
    pub(crate) basis: String,
    /// The differences from the expected result; empty if it passed.
    pub(crate) differences: Vec<String>,
}

impl Verdict {
    pub(crate) fn passed(&self) -> bool {
        self.differences.is_empty()
    }
}

/// Results of a whole file.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) verdicts: Vec<Verdict>,
    known: BTreeMap<String, String>,
}

impl Report {
    pub(super) fn new(verdicts: Vec<Verdict>, known: BTreeMap<String, String>) -> Self {
        Report { verdicts, known }
    }

    pub(crate) fn passed(&self) -> usize {
        self.verdicts
            .iter()
            .filter(|verdict| verdict.passed())
            .count()
    }

    pub(crate) fn failed(&self) -> usize {
        self.verdicts.len() - self.passed()
    }

    /// Returns the ids of failures that are not known differences.
    pub(crate) fn unexplained(&self) -> Vec<&str> {
        let failed = self.verdicts.iter().filter(|verdict| !verdict.passed());
        let ids = failed.map(|verdict| verdict.id.as_str());
        ids.filter(|id| !self.known.contains_key(*id)).collect()
    }

    /// Returns the ids of known differences that pass.
    pub(crate) fn stale(&self) -> Vec<&str> {
        let passed = self.verdicts.iter().filter(|verdict| verdict.passed());
        let ids = passed.map(|verdict| verdict.id.as_str());
        ids.filter(|id| self.known.contains_key(*id)).collect()
    }

    /// Prints the failures with their reasons and the totals. `all` also lists the cases that
    /// passed.
    pub(crate) fn print(&self, all: bool) {
        for verdict in &self.verdicts {
            match (verdict.passed(), self.known.get(&verdict.id)) {
                (true, _) if !all => continue,
                (true, _) => println!("{}: passed", verdict.id),
                (false, Some(reason)) => println!("{}: failed (known: {reason})", verdict.id),
                (false, None) => println!("{}: failed", verdict.id),
            }
            for difference in &verdict.differences {
                println!("  {}", difference.replace('\n', "\n  "));
            }
        }
        println!("  {} passed, {} failed", self.passed(), self.failed());
    }
}

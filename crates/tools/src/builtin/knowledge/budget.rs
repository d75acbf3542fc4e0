//! Read budget of a conversation. It limits the number of calls and, after a few free calls, the
//! tokens of their results.

use serde_json::{Value as Json, json};

/// Call limits of the collections.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KnowledgeLimits {
    /// Maximum calls of one conversation. Default 10.
    pub(super) most: u32,
    /// Number of calls that ignore the context window. Default 5.
    pub(super) free: u32,
}

impl Default for KnowledgeLimits {
    fn default() -> Self {
        KnowledgeLimits { most: 10, free: 5 }
    }
}

/// Percentage of the window at which the model gets a warning, as in Chat Shell. [`REJECTED`] is
/// the percentage at which further searches are rejected.
const WARNED: u64 = 70;
const REJECTED: u64 = 90;

/// Usage of a conversation so far.
#[derive(Debug)]
pub(super) struct KnowledgeBudget {
    window: u64,
    searches: u32,
    looks: u32,
    tokens: u64,
}

impl KnowledgeBudget {
    pub(super) fn new(window: u64) -> Self {
        KnowledgeBudget {
            window,
            searches: 0,
            looks: 0,
            tokens: 0,
        }
    }

    /// Admits a search, possibly with a warning for the model, or returns the rejection.
    pub(super) fn search(&mut self, calls: KnowledgeLimits) -> Result<Option<String>, Json> {
        if self.searches >= calls.most {
            return Err(exceeded(self.searches, calls.most));
        }
        let filled = match self.window {
            0 => 0,
            window => self.tokens.saturating_mul(100) / window,
        };
        let checked = self.searches >= calls.free;
        if checked && filled >= REJECTED {
            return Err(json!({
                "status": "rejected",
                "reason": "token_limit_exceeded",
                "message": format!("what was found so far fills {filled} % of the context window; answer from it"),
                "used_tokens": self.tokens,
                "context_window": self.window,
            }));
        }
        self.searches += 1;
        Ok((checked && filled >= WARNED).then(|| {
            let left = calls.most - self.searches;
            format!("what was found so far fills {filled} % of the context window; {left} searches are left, and at {REJECTED} % there are none")
        }))
    }

    /// Admits a listing or a read. Searches have a separate counter.
    pub(super) fn look(&mut self, calls: KnowledgeLimits) -> Result<(), Json> {
        if self.looks >= calls.most {
            return Err(exceeded(self.looks, calls.most));
        }
        self.looks += 1;
        Ok(())
    }

    /// Counts the tokens of a result.
    pub(super) fn read(&mut self, tokens: u64) {
        self.tokens = self.tokens.saturating_add(tokens);
    }
}

fn exceeded(count: u32, most: u32) -> Json {
    json!({
        "status": "rejected",
        "reason": "max_calls_exceeded",
        "message": format!("all {most} calls of this conversation are used up; answer from what was found"),
        "call_count": count,
        "max_calls": most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_run_out() {
        let mut budget = KnowledgeBudget::new(1_000);
        let calls = KnowledgeLimits { most: 3, free: 5 };
        for _ in 0..3 {
            assert_eq!(budget.search(calls), Ok(None));
            assert_eq!(budget.look(calls), Ok(()));
            budget.read(10_000);
        }
        let rejected = budget.search(calls).unwrap_err();
        assert_eq!(rejected["reason"], "max_calls_exceeded");
        assert_eq!(budget.look(calls).unwrap_err()["max_calls"], 3);
    }

    #[test]
    fn the_window_fills() {
        let calls = KnowledgeLimits { most: 10, free: 2 };
        let cases = [
            (699, true, false),
            (700, true, true),
            (899, true, true),
            (900, false, false),
        ];
        for (tokens, admitted, warned) in cases {
            let mut budget = KnowledgeBudget::new(1_000);
            budget.read(tokens);
            for _ in 0..2 {
                assert_eq!(budget.search(calls), Ok(None), "free calls");
            }
            let third = budget.search(calls);
            assert_eq!(third.is_ok(), admitted, "{tokens}");
            assert_eq!(matches!(third, Ok(Some(_))), warned, "{tokens}");
        }
        let mut unknown = KnowledgeBudget::new(0);
        unknown.read(u64::MAX);
        unknown.read(1);
        assert_eq!(
            unknown.search(KnowledgeLimits { most: 9, free: 0 }),
            Ok(None)
        );
    }
}

//! Who asks, as limits, runs and journals know them.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

/// The client that asks. Runs of one client are neither seen nor stopped by another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// What limits are counted by.
    pub(super) key: String,
    /// What runs are found by; the same for all who need no key.
    scope: String,
    /// The name of the key, by which its budgets are found.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl Principal {
    /// Somebody with a key of this service. The key itself goes nowhere.
    #[must_use]
    pub fn key(key: &str) -> Self {
        let scope = format!("k{:016x}", digest(&key));
        Principal {
            key: scope.clone(),
            scope,
            name: None,
        }
    }

    /// The same, with the name of its key.
    #[must_use]
    pub fn named(self, name: &str) -> Self {
        Principal {
            name: Some(name.to_owned()),
            ..self
        }
    }

    /// The name of the key, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// A client without a key, known by its address.
    #[must_use]
    pub fn at(address: &str) -> Self {
        Principal {
            key: format!("a{address}"),
            scope: "any".to_owned(),
            name: None,
        }
    }

    /// Whose it is what this client leaves behind; the same for all who need no key.
    #[must_use]
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// Id of the answer to a request: the same for the same request id, so that either finds the run.
    #[must_use]
    pub fn response_id(&self, request: &str) -> String {
        if is_response_id(request) {
            return request.to_owned();
        }
        let hash = digest(&(self.scope.as_str(), request));
        format!("resp-{:012x}", hash >> 16)
    }

    /// Whose a run is, by its whole id, and the id of its answer. An id without a scope is of those
    /// who need no key.
    #[must_use]
    pub fn of_run(id: &str) -> (Self, String) {
        let (scope, answer) = id.rsplit_once('.').unwrap_or(("any", id));
        let who = Principal {
            key: scope.to_owned(),
            scope: scope.to_owned(),
            name: None,
        };
        (who, answer.to_owned())
    }

    /// The session that keeps a response of the OpenAI-compatible routes.
    #[must_use]
    pub fn session_of(&self, response: &str) -> String {
        format!("{}.{response}", self.scope)
    }

    /// Id under which replicas know a run.
    #[must_use]
    pub fn run_id(&self, request: &str) -> String {
        format!("{}.{}", self.scope, self.response_id(request))
    }
}

fn is_response_id(id: &str) -> bool {
    let hex = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
    id.strip_prefix("resp-")
        .is_some_and(|rest| rest.len() == 12 && rest.bytes().all(hex))
}

/// Has to be the same in every replica, and need not be secret: keys are long.
fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_found_by_either_id_and_by_its_own_asker_only() {
        let (ada, bob) = (Principal::key("one"), Principal::key("two"));
        let id = ada.response_id("req-1");
        assert_eq!(id.len(), "resp-".len() + 12);
        assert_eq!(ada.run_id("req-1"), ada.run_id(&id));
        assert_ne!(ada.run_id("req-1"), bob.run_id("req-1"));
        assert_ne!(ada.run_id(&id), bob.run_id(&id));
        // Without keys there is nobody to tell apart: an address may change on the way.
        assert_eq!(
            Principal::at("::1").run_id("x"),
            Principal::at("::2").run_id("x")
        );
        assert_ne!(Principal::at("::1").key, Principal::at("::2").key);
    }
}

//! The authenticated client, as limits, runs and journals know it.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::{Deserialize, Serialize};

/// The authenticated client. A client can neither see nor stop the runs of another client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Principal {
    /// Key for rate limits.
    pub(super) key: String,
    /// Scope of run ids; the same for all clients without a key.
    scope: String,
    /// Name of the key, by which budgets refer to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl Principal {
    /// Creates the principal of a client with a key. The key itself is not stored.
    #[must_use]
    pub fn key(key: &str) -> Self {
        let scope = format!("k{:016x}", digest(&key));
        Principal {
            key: scope.clone(),
            scope,
            name: None,
        }
    }

    /// Adds the name of the key.
    #[must_use]
    pub fn with_name(self, name: &str) -> Self {
        Principal {
            name: Some(name.to_owned()),
            ..self
        }
    }

    /// Name of the key, if it has one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// Creates the principal of a client without a key, identified by its address.
    #[must_use]
    pub fn from_address(address: &str) -> Self {
        Principal {
            // The prefix keeps addresses apart from hashed keys, which begin with `k`.
            key: format!("a{address}"),
            scope: "any".to_owned(),
            name: None,
        }
    }

    /// Owner of the client's stored data; the same for all clients without a key.
    #[must_use]
    pub fn scope(&self) -> &str {
        &self.scope
    }

    /// Id of the answer to a request. It is derived from the request id, so that either id finds
    /// the run.
    #[must_use]
    pub fn response_id(&self, request: &str) -> String {
        if is_response_id(request) {
            return request.to_owned();
        }
        let hash = digest(&(self.scope.as_str(), request));
        // Twelve hexadecimal digits hold 48 bits.
        format!("resp-{:012x}", hash >> 16)
    }

    /// Splits the full id of a run into its owner and its answer id. Ids without a scope belong to
    /// clients without a key.
    ///
    /// ```
    /// use quillet_host::agent::Principal;
    ///
    /// let id = Principal::key("secret").run_id("request-1");
    /// let (principal, response) = Principal::of_run(&id);
    /// assert_eq!(principal.scope(), Principal::key("secret").scope());
    /// assert_eq!(response, principal.response_id("request-1"));
    /// ```
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

    /// Session that stores a response of the OpenAI-compatible routes.
    #[must_use]
    pub fn session_of(&self, response: &str) -> String {
        format!("{}.{response}", self.scope)
    }

    /// Id of a run in the state shared by replicas.
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

/// Digest that is the same in every replica. Keys are long, so the hash does not have to be
/// cryptographic.
fn digest(value: &impl Hash) -> u64 {
    // `DefaultHasher::new` has fixed keys, unlike `RandomState`, so all processes agree.
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
        // Without keys, clients cannot be distinguished: the address of a client may change during
        // a run.
        assert_eq!(
            Principal::from_address("::1").run_id("x"),
            Principal::from_address("::2").run_id("x")
        );
        assert_ne!(
            Principal::from_address("::1").key,
            Principal::from_address("::2").key
        );
    }
}

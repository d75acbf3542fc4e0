//! Policy of the server-side check for queries and roles.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use quillet_core::lock::lock;

use crate::database::SecondJudge;

/// Oids below this are assigned manually, and identical on every server
/// (src/include/access/transam.h).
pub(super) const BY_HAND: u32 = 10_000;

/// Policy from the settings.
#[derive(Clone, Debug)]
pub(in crate::postgres) struct JudgePolicy {
    /// Additional allowed functions: `name` or `schema.name`.
    pub(in crate::postgres) functions: Vec<String>,
    /// Whether roles with privileges beyond the database may run queries.
    pub(in crate::postgres) powerful_roles: bool,
    /// Method of the server-side check.
    pub(in crate::postgres) judge: SecondJudge,
    /// Functions with fixed oids that passed the allowlist before.
    known: Arc<Mutex<HashSet<u32>>>,
}

impl JudgePolicy {
    pub(in crate::postgres) fn new(
        functions: Vec<String>,
        powerful_roles: bool,
        judge: SecondJudge,
    ) -> Self {
        JudgePolicy {
            functions,
            powerful_roles,
            judge,
            known: Arc::default(),
        }
    }

    pub(super) fn is_known(&self, oid: u32) -> bool {
        let known = lock(&self.known);
        known.contains(&oid)
    }

    pub(super) fn remember(&self, oids: impl Iterator<Item = u32>) {
        let mut known = lock(&self.known);
        // Higher oids are assigned by each server and may be reused after a DROP.
        known.extend(oids.filter(|oid| *oid < BY_HAND));
    }
}

//! What the settings allow a query and its role.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use quillet_core::lock::lock;

use crate::database::SecondJudge;

/// Oids below were given by hand, and mean the same in every server (src/include/access/transam.h).
pub(super) const BY_HAND: u32 = 10_000;

/// What the owner of the database allows.
#[derive(Clone, Debug)]
pub(in crate::postgres) struct JudgePolicy {
    /// Functions that may be called besides those of the list: `name` or `schema.name`.
    pub(in crate::postgres) functions: Vec<String>,
    /// Whether roles may run queries that reach outside of the database.
    pub(in crate::postgres) powerful_roles: bool,
    /// Whether and how the server is asked.
    pub(in crate::postgres) judge: SecondJudge,
    /// Functions by hand that were found on the list.
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
        // Oids above are assigned by each server and may be reused after a DROP.
        known.extend(oids.filter(|oid| *oid < BY_HAND));
    }
}

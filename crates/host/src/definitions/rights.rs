//! Who may do what to which definitions.

use std::sync::Arc;

use quillet_agent::Permissions;

/// Something that one may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Right {
    /// See definitions, their versions and labels.
    Read,
    /// Render prompts, run scripts, ask agents, models and databases.
    Render,
    /// Write and remove definitions, move labels that are not protected.
    Write,
    /// Move protected labels.
    Promote,
    /// Everything, and read the log, drop old versions, import.
    Admin,
}

impl Right {
    /// All of them.
    pub const ALL: [Right; 5] = [
        Right::Read,
        Right::Render,
        Right::Write,
        Right::Promote,
        Right::Admin,
    ];

    /// As settings and messages write it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Right::Read => "read",
            Right::Render => "render",
            Right::Write => "write",
            Right::Promote => "promote",
            Right::Admin => "admin",
        }
    }

    /// The one of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Right::ALL.into_iter().find(|right| right.name() == name)
    }
}

/// Some rights to some definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The rights. `admin` is all of them.
    pub rights: Vec<Right>,
    /// Patterns of ids: `greet.*`, `!greet.secret`.
    pub ids: Permissions,
}

/// What somebody may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rights {
    /// `None` for everything.
    grants: Option<Vec<Grant>>,
}

impl Rights {
    /// Everything.
    #[must_use]
    pub fn all() -> Self {
        Rights { grants: None }
    }

    /// What these grants say, and nothing else.
    #[must_use]
    pub fn of(grants: Vec<Grant>) -> Self {
        Rights {
            grants: Some(grants),
        }
    }

    /// Whether a right is held for the definition of an id.
    #[must_use]
    pub fn has(&self, right: Right, id: &str) -> bool {
        self.any(right, |ids| ids.allows(id))
    }

    /// Whether a right is held for any definition at all.
    #[must_use]
    pub fn has_somewhere(&self, right: Right) -> bool {
        self.any(right, |_| true)
    }

    fn any(&self, right: Right, fits: impl Fn(&Permissions) -> bool) -> bool {
        let Some(grants) = &self.grants else {
            return true;
        };
        let holds =
            |grant: &&Grant| grant.rights.contains(&right) || grant.rights.contains(&Right::Admin);
        grants.iter().filter(holds).any(|grant| fits(&grant.ids))
    }
}

/// Who does something.
#[derive(Clone, Debug)]
pub struct Actor {
    /// The name of a token or of a user of this machine.
    pub name: Arc<str>,
    /// From where: the address of a client, or `command line`.
    pub from: Arc<str>,
    /// What they may do.
    pub rights: Arc<Rights>,
}

impl Actor {
    /// Somebody who may do everything.
    #[must_use]
    pub fn all(name: &str, from: &str) -> Self {
        Actor {
            name: name.into(),
            from: from.into(),
            rights: Arc::new(Rights::all()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_hold_for_the_ids_of_their_grants() {
        let ids = |patterns: &[&str]| Permissions::parse(patterns).unwrap();
        let rights = Rights::of(vec![
            Grant {
                rights: vec![Right::Read, Right::Render],
                ids: ids(&["*"]),
            },
            Grant {
                rights: vec![Right::Write],
                ids: ids(&["greet.*", "!greet.secret"]),
            },
            Grant {
                rights: vec![Right::Admin],
                ids: ids(&["mine.*"]),
            },
        ]);
        for (right, id, expected) in [
            (Right::Read, "any", true),
            (Right::Write, "any", false),
            (Right::Write, "greet.hello", true),
            (Right::Write, "greet.secret", false),
            (Right::Promote, "greet.hello", false),
            (Right::Promote, "mine.a", true),
            (Right::Write, "mine.a", true),
            (Right::Admin, "greet.hello", false),
        ] {
            assert_eq!(rights.has(right, id), expected, "{right:?} {id}");
            assert!(Rights::all().has(right, id));
            assert!(!Rights::of(Vec::new()).has(right, id));
        }
        assert!(rights.has_somewhere(Right::Admin));
        assert_eq!(Right::named("promote"), Some(Right::Promote));
        assert_eq!(Right::named("Promote"), None);
    }
}

//! Permissions on definitions.

use std::sync::Arc;

use quillet_agent::{BadPermissions, Permissions};
use quillet_core::nearest;

/// A permission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Permission {
    /// See definitions, their versions and labels.
    Read,
    /// Render prompts, run scripts, and call agents, models and databases.
    Render,
    /// Write and delete definitions, and move labels that are not protected.
    Write,
    /// Move protected labels.
    Promote,
    /// All permissions; also read the log, delete old versions and import.
    Admin,
}

impl Permission {
    /// All permissions.
    pub const ALL: [Permission; 5] = [
        Permission::Read,
        Permission::Render,
        Permission::Write,
        Permission::Promote,
        Permission::Admin,
    ];

    /// Name in settings and messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Permission::Read => "read",
            Permission::Render => "render",
            Permission::Write => "write",
            Permission::Promote => "promote",
            Permission::Admin => "admin",
        }
    }

    /// Returns the permission of that name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Permission::ALL
            .into_iter()
            .find(|right| right.name() == name)
    }
}

/// Permissions on some definitions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The permissions. `admin` includes all other permissions.
    pub rights: Vec<Permission>,
    /// Patterns of ids: `greet.*`, `!greet.secret`.
    pub ids: Permissions,
}

/// Error of an invalid grant.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadGrant {
    /// The grant does not begin with a permission.
    #[error("unknown permission {word:?}{}; permissions are {}", hint(.word), list())]
    Right {
        /// Its first word.
        word: String,
    },
    /// The patterns are invalid.
    #[error("{0}")]
    Ids(#[from] BadPermissions),
}

fn hint(word: &str) -> String {
    let near = nearest(word, Permission::ALL.into_iter().map(Permission::name));
    near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"))
}

fn list() -> String {
    Permission::ALL.map(Permission::name).join(", ")
}

impl Grant {
    /// Parses a permission and id patterns, such as `write greet.* !greet.secret`. Without
    /// patterns, the grant applies to all definitions.
    ///
    /// # Errors
    /// The permission is unknown, or a pattern is invalid.
    ///
    /// # Examples
    /// ```
    /// use quillet_host::definitions::{Grant, Permission};
    ///
    /// let grant = Grant::parse("write greet.* !greet.secret")?;
    /// assert_eq!(grant.rights, [Permission::Write]);
    /// assert!(grant.ids.allows("greet.hello"));
    /// assert!(!grant.ids.allows("greet.secret"));
    /// # Ok::<(), quillet_host::definitions::BadGrant>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, BadGrant> {
        let mut words = text.split_whitespace();
        let word = words.next().unwrap_or_default();
        let right = Permission::from_name(word).ok_or_else(|| BadGrant::Right {
            word: word.to_owned(),
        })?;
        let patterns: Vec<&str> = words.collect();
        let ids = if patterns.is_empty() {
            Permissions::all()
        } else {
            Permissions::parse(&patterns)?
        };
        Ok(Grant {
            rights: vec![right],
            ids,
        })
    }
}

/// All grants of an actor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermissionSet {
    /// `None` allows everything.
    grants: Option<Vec<Grant>>,
}

impl PermissionSet {
    /// Returns grants that allow everything.
    #[must_use]
    pub fn all() -> Self {
        // `None` grants everything, while an empty list grants nothing.
        PermissionSet { grants: None }
    }

    /// Creates a set with exactly these grants.
    #[must_use]
    pub fn of(grants: Vec<Grant>) -> Self {
        PermissionSet {
            grants: Some(grants),
        }
    }

    /// Each grant as written in the settings: `read greet.*`; `everything` if nothing is
    /// restricted.
    ///
    /// ```
    /// use quillet_host::definitions::{Grant, PermissionSet};
    ///
    /// let permissions = PermissionSet::of(vec![Grant::parse("read greet.*")?]);
    /// assert_eq!(permissions.described(), ["read greet.*"]);
    /// assert_eq!(PermissionSet::all().described(), ["everything"]);
    /// # Ok::<(), quillet_host::definitions::BadGrant>(())
    /// ```
    #[must_use]
    pub fn described(&self) -> Vec<String> {
        let Some(grants) = &self.grants else {
            return vec!["everything".to_owned()];
        };
        let everything = Permissions::all();
        let described = |grant: &Grant| {
            let rights: Vec<&str> = grant.rights.iter().map(|right| right.name()).collect();
            let mut words = rights.join(", ");
            if grant.ids != everything {
                words.push(' ');
                words.push_str(&grant.ids.patterns().join(" "));
            }
            words
        };
        grants.iter().map(described).collect()
    }

    /// Whether a permission is granted for the definition with this id.
    ///
    /// ```
    /// use quillet_host::definitions::{Grant, Permission, PermissionSet};
    ///
    /// let permissions = PermissionSet::of(vec![Grant::parse("write greet.*")?]);
    /// assert!(permissions.has(Permission::Write, "greet.hello"));
    /// assert!(!permissions.has(Permission::Write, "shop.hello"));
    /// assert!(!permissions.has(Permission::Promote, "greet.hello"));
    /// # Ok::<(), quillet_host::definitions::BadGrant>(())
    /// ```
    #[must_use]
    pub fn has(&self, right: Permission, id: &str) -> bool {
        self.any(right, |ids| ids.allows(id))
    }

    /// Whether everything is allowed.
    #[must_use]
    pub fn are_all(&self) -> bool {
        self.grants.is_none()
    }

    /// Whether one grant includes a permission for all definitions, including future ones.
    ///
    /// ```
    /// use quillet_host::definitions::{Grant, Permission, PermissionSet};
    ///
    /// let some = PermissionSet::of(vec![Grant::parse("read greet.*")?]);
    /// assert!(!some.has_everywhere(Permission::Read));
    /// let every = PermissionSet::of(vec![Grant::parse("read")?]);
    /// assert!(every.has_everywhere(Permission::Read));
    /// # Ok::<(), quillet_host::definitions::BadGrant>(())
    /// ```
    #[must_use]
    pub fn has_everywhere(&self, right: Permission) -> bool {
        let everything = Permissions::all();
        self.any(right, |ids| *ids == everything)
    }

    /// Whether a permission is granted for any definition.
    #[must_use]
    pub fn has_somewhere(&self, right: Permission) -> bool {
        self.any(right, |_| true)
    }

    fn any(&self, right: Permission, fits: impl Fn(&Permissions) -> bool) -> bool {
        let Some(grants) = &self.grants else {
            return true;
        };
        let holds = |grant: &&Grant| {
            grant.rights.contains(&right) || grant.rights.contains(&Permission::Admin)
        };
        grants.iter().filter(holds).any(|grant| fits(&grant.ids))
    }
}

/// The actor of a change.
#[derive(Clone, Debug)]
pub struct Actor {
    /// Name of a token, or of a user of this machine.
    pub name: Arc<str>,
    /// Origin of the change: the address of a client, or `command line`.
    pub from: Arc<str>,
    /// Grants of the actor.
    pub rights: Arc<PermissionSet>,
}

impl Actor {
    /// Creates an actor with all permissions.
    #[must_use]
    pub fn all(name: &str, from: &str) -> Self {
        Actor {
            name: name.into(),
            from: from.into(),
            rights: Arc::new(PermissionSet::all()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_hold_for_the_ids_of_their_grants() {
        let ids = |patterns: &[&str]| Permissions::parse(patterns).unwrap();
        let rights = PermissionSet::of(vec![
            Grant {
                rights: vec![Permission::Read, Permission::Render],
                ids: ids(&["*"]),
            },
            Grant {
                rights: vec![Permission::Write],
                ids: ids(&["greet.*", "!greet.secret"]),
            },
            Grant {
                rights: vec![Permission::Admin],
                ids: ids(&["mine.*"]),
            },
        ]);
        for (right, id, expected) in [
            (Permission::Read, "any", true),
            (Permission::Write, "any", false),
            (Permission::Write, "greet.hello", true),
            (Permission::Write, "greet.secret", false),
            (Permission::Promote, "greet.hello", false),
            (Permission::Promote, "mine.a", true),
            (Permission::Write, "mine.a", true),
            (Permission::Admin, "greet.hello", false),
        ] {
            assert_eq!(rights.has(right, id), expected, "{right:?} {id}");
            assert!(PermissionSet::all().has(right, id));
            assert!(!PermissionSet::of(Vec::new()).has(right, id));
        }
        assert!(rights.has_somewhere(Permission::Admin) && !rights.are_all());
        for (right, everywhere) in [(Permission::Read, true), (Permission::Write, false)] {
            assert_eq!(rights.has_everywhere(right), everywhere, "{right:?}");
        }
        assert_eq!(Permission::from_name("promote"), Some(Permission::Promote));
        assert_eq!(Permission::from_name("Promote"), None);
    }

    #[test]
    fn grants_are_a_right_and_patterns() {
        let grant = |text: &str| Grant::parse(text).map(|grant| PermissionSet::of(vec![grant]));
        for (text, id, expected) in [
            ("read", "any", true),
            ("  write   greet.*  !greet.secret ", "greet.hello", true),
            ("write greet.* !greet.secret", "greet.secret", false),
            ("write read", "read", true),
        ] {
            let rights = grant(text).unwrap();
            let right = if text.contains("write") {
                Permission::Write
            } else {
                Permission::Read
            };
            assert_eq!(rights.has(right, id), expected, "{text} {id}");
        }
        for (text, part) in [
            ("", "unknown permission \"\""),
            ("wirte greet.*", "did you mean write?"),
            (
                "greet.*",
                "permissions are read, render, write, promote, admin",
            ),
            ("write !greet.secret", "add `*`"),
            ("write a!b", "invalid pattern"),
        ] {
            let error = grant(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

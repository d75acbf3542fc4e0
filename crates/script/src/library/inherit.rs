//! Inheritance of scripts: `type` and `extends`.
//!
//! The result is data. Bodies and functions keep a reference to their own script, so that
//! locations, `__dirname` and relative names stay correct.

use std::sync::Arc;

use quillet_core::{BoxFuture, Map, MapTable, Span, Value};
use quillet_yaml::Node;

use super::{BuiltinLibrary, Library, demand, merge, name};
use crate::error::{ErrorKind, ScriptError};
use crate::syntax::Script;

/// Maximum number of scripts that a script inherits from, directly or indirectly.
pub const MAX_LINEAGE: usize = 64;

/// Keys that are not inherited, because they describe a single script. Imports are processed for
/// each script of a lineage separately, because their names are relative to its folder.
const OWN: [&str; 10] = [
    "_id",
    "_hash",
    "type",
    "extends",
    "import",
    "export",
    "test",
    "创",
    "签",
    "contentType",
];

/// A script that is merged with everything it inherits.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedScript {
    /// The script itself.
    pub script: Arc<Script>,
    /// Its id.
    pub id: String,
    /// The front matter as plain values. The script's own values override those of its parents. A
    /// function (`!fn`) is represented by its code. To get the function itself, as `on:` needs it,
    /// read the front matter of `bodies`.
    pub config: Map,
    /// Scripts whose bodies run, in order. Parents come first, and the script itself is last.
    pub bodies: Vec<Arc<Script>>,
    /// Callable functions. Each is given by the script that declares it and the index in that
    /// script's `functions`. A child's function replaces a parent's function that has the same
    /// name.
    pub functions: Vec<(Arc<Script>, usize)>,
    /// Ids of the scripts in `bodies`.
    pub lineage: Vec<String>,
}

impl ResolvedScript {
    /// Returns a script without its inheritance.
    pub(super) fn alone(script: Arc<Script>) -> Self {
        let bodies = vec![script.clone()];
        ResolvedScript {
            id: name::id(&script).to_owned(),
            config: front_matter(&script, true),
            functions: functions(&bodies),
            lineage: vec![name::id(&script).to_owned()],
            bodies,
            script,
        }
    }
}

/// Resolves everything that a script inherits.
///
/// # Errors
/// Returns an error with its location for an unknown parent (with the most similar id), a parent in
/// `type:` that is not a type, a cycle (with all its scripts), more than [`MAX_LINEAGE`] parents,
/// or a parent that is not a script.
pub async fn resolve(
    script: Arc<Script>,
    library: &dyn Library,
) -> Result<ResolvedScript, ScriptError> {
    let mut lineage = ScriptLineage::default();
    lineage.gather(&script, library).await?;
    let bodies = lineage.bodies;
    let own = front_matter(&script, true);
    let inherited = bodies.iter().rev().skip(1);
    let config = merge::inherit(
        own,
        inherited.map(|body| front_matter(body, false)).collect(),
    );
    Ok(ResolvedScript {
        id: name::id(&script).to_owned(),
        config,
        functions: functions(&bodies),
        lineage: bodies
            .iter()
            .map(|body| name::id(body).to_owned())
            .collect(),
        bodies,
        script,
    })
}

/// Returns the inheritable keys of a front matter, or all keys for the script itself.
fn front_matter(script: &Script, own: bool) -> Map {
    let Value::Map(config) = script.config.value() else {
        return Map::default();
    };
    if own {
        return config;
    }
    let is_type = is_type(script);
    let inherited = |key: &str| !(OWN.contains(&key) || is_type && key == "title");
    let entries = config.iter().filter(|(key, _)| inherited(key));
    Map::new(
        entries
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<MapTable>(),
    )
}

/// Returns all functions of a lineage. Of several with the same name, the most derived one is used.
fn functions(bodies: &[Arc<Script>]) -> Vec<(Arc<Script>, usize)> {
    let mut found: Vec<(Arc<Script>, usize)> = Vec::new();
    for body in bodies {
        let declares = |name: &str| body.functions.iter().any(|function| function.name == name);
        found.retain(|(script, index)| {
            let known = script.functions.get(*index);
            known.is_some_and(|known| !declares(&known.name))
        });
        found.extend((0..body.functions.len()).map(|index| (body.clone(), index)));
    }
    found
}

/// Scripts in the order of their bodies, during the resolution.
#[derive(Default)]
struct ScriptLineage {
    bodies: Vec<Arc<Script>>,
    /// Scripts whose parents are being resolved, the most derived first.
    open: Vec<Arc<Script>>,
}

impl ScriptLineage {
    fn gather<'a>(
        &'a mut self,
        script: &'a Arc<Script>,
        library: &'a dyn Library,
    ) -> BoxFuture<'a, Result<(), ScriptError>> {
        Box::pin(async move {
            self.open.push(script.clone());
            for parent in parents(script) {
                let found = parent.find(script, library).await?;
                // Checked before the recursion, so that a cycle is an error instead of a stack
                // overflow.
                self.check(&found, script, parent.at)?;
                if !self.bodies.iter().any(|body| same(body, &found)) {
                    self.gather(&found, library).await?;
                }
            }
            self.open.pop();
            self.bodies.push(script.clone());
            Ok(())
        })
    }

    /// Rejects a parent that is already being resolved, and too many parents.
    fn check(&self, parent: &Script, child: &Script, at: Span) -> Result<(), ScriptError> {
        if let Some(start) = self.open.iter().position(|open| same(open, parent)) {
            let cycle = self.open.iter().skip(start).map(|script| name::id(script));
            let cycle: Vec<&str> = cycle.chain([name::id(parent)]).collect();
            let why = format!("inheritance cycle: {}", cycle.join(" → "));
            let found = child.source.error("script.inherit.cycle", why, at);
            return Err(ScriptError::new(ErrorKind::Script, found));
        }
        // Both are limited, because `open` is the recursion depth and `bodies` determines the size
        // of the result.
        if self.open.len() + self.bodies.len() > MAX_LINEAGE {
            let why = format!("inheritance from too many scripts (limit {MAX_LINEAGE})");
            let found = child.source.error("script.inherit.limit", why, at);
            return Err(ScriptError::new(ErrorKind::Limit, found));
        }
        Ok(())
    }
}

fn same(one: &Script, other: &Script) -> bool {
    std::ptr::eq(one, other)
        // Two lookups may return two copies of a script, so comparing pointers is not enough.
        || (one.source.path == other.source.path && one.source.name == other.source.name)
}

/// A reference to a parent script.
struct ParentScript<'a> {
    name: &'a str,
    at: Span,
    /// Whether it is in `type:`.
    of_type: bool,
}

/// Returns the base type first, then the scripts of `extends` in order. Later ones override earlier
/// ones.
fn parents(script: &Script) -> Vec<ParentScript<'_>> {
    let base = script.config.get("type").into_iter().filter_map(|node| {
        let name = node.as_str()?;
        let plain = matches!(name, "" | "lib" | "type" | "script");
        let parent = ParentScript {
            name,
            at: node.span,
            of_type: true,
        };
        (!plain).then_some(parent)
    });
    let extends = script.config.get("extends").map_or(&[][..], one_or_many);
    let extends = extends.iter().filter_map(|node| {
        let (name, at) = (node.as_str()?, node.span);
        Some(ParentScript {
            name,
            at,
            of_type: false,
        })
    });
    base.chain(extends).collect()
}

/// Returns the items of a list, or a single value as a list of one.
pub(super) fn one_or_many(node: &Node) -> &[Node] {
    node.items().unwrap_or(std::slice::from_ref(node))
}

impl ParentScript<'_> {
    async fn find(
        &self,
        child: &Script,
        library: &dyn Library,
    ) -> Result<Arc<Script>, ScriptError> {
        if self.name == "char" && self.of_type {
            return self.character(child, library).await;
        }
        let found = demand(library, self.name, &child.source, self.at).await?;
        if self.of_type && !is_type(&found) {
            let why = format!("{:?} is not a type", self.name);
            let found = child.source.error("script.inherit.type", why, self.at);
            let found =
                found.help("inherit from a script with `extends:`; a type declares `type: type`");
            return Err(ScriptError::new(ErrorKind::Script, found));
        }
        Ok(found)
    }

    /// Finds the nearest type `char`, or else the built-in one, so that characters work without
    /// one.
    async fn character(
        &self,
        child: &Script,
        library: &dyn Library,
    ) -> Result<Arc<Script>, ScriptError> {
        let nearest = library.find(self.name, Some(&child.source)).await?;
        if let Some(nearest) = nearest.filter(|nearest| is_type(nearest)) {
            return Ok(nearest);
        }
        match BuiltinLibrary::get(self.name)? {
            Some(builtin) => Ok(builtin),
            None => demand(library, self.name, &child.source, self.at).await,
        }
    }
}

/// Returns whether a script defines a type for use in `type:`.
fn is_type(script: &Script) -> bool {
    script.config.get("type").and_then(Node::as_str) == Some("type")
}

//! What a script takes over from others: `type` and `extends`.
//!
//! The result is data. Bodies and functions stay parts of the scripts that they were written in, so
//! that places, `__dirname` and relative names stay right.

use std::sync::Arc;

use quillet_core::{BoxFuture, Map, MapTable, Span, Value};
use quillet_yaml::Node;

use super::{BuiltinLibrary, Library, demand, merge, name};
use crate::error::{ErrorKind, ScriptError};
use crate::syntax::Script;

/// Scripts that one script may inherit from, over all generations.
pub const MAX_LINEAGE: usize = 64;

/// Keys of a front matter that say what that one script is, and that no other inherits. Imports are
/// made for each script of a lineage on its own, as their names start from its folder.
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

/// A script with everything that it inherits.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedScript {
    /// The script itself.
    pub script: Arc<Script>,
    /// Its id.
    pub id: String,
    /// Its front matter merged over those of its parents, as plain values: of a function (`!fn`),
    /// its code. Whoever needs the function itself (`on:`) takes it from the front matters of
    /// `bodies`.
    pub config: Map,
    /// Scripts whose bodies are run, in order: parents first, the script itself last.
    pub bodies: Vec<Arc<Script>>,
    /// Functions that can be called: the script that declares each, and its index in `functions`.
    /// The child's function of a name is the only one.
    pub functions: Vec<(Arc<Script>, usize)>,
    /// Ids of `bodies`.
    pub lineage: Vec<String>,
}

impl ResolvedScript {
    /// A script as if it inherited nothing.
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

/// Finds everything that a script inherits.
///
/// # Errors
/// An unknown parent with the nearest id, a parent of `type:` that is no type, a cycle with all its
/// scripts, more than [`MAX_LINEAGE`] parents, or that one of them is not a script. All with their
/// place.
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

/// What a script gives to those that inherit from it, and more for the script itself.
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

/// All functions of a lineage; of those with one name, the youngest script's.
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

/// Scripts in the order of their bodies, while they are gathered.
#[derive(Default)]
struct ScriptLineage {
    bodies: Vec<Arc<Script>>,
    /// Scripts whose parents are being looked up, the youngest first.
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
                // Before the recursion, so that a cycle ends with an error and not with the stack.
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

    /// Refuses a parent that is already being looked up, and one too many.
    fn check(&self, parent: &Script, child: &Script, at: Span) -> Result<(), ScriptError> {
        if let Some(start) = self.open.iter().position(|open| same(open, parent)) {
            let cycle = self.open.iter().skip(start).map(|script| name::id(script));
            let cycle: Vec<&str> = cycle.chain([name::id(parent)]).collect();
            let why = format!("inheritance cycle: {}", cycle.join(" → "));
            let found = child.source.error("script.inherit.cycle", why, at);
            return Err(ScriptError::new(ErrorKind::Script, found));
        }
        // Both count: `open` is the depth of the recursion, `bodies` the size of the result.
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
        // Two lookups may give two copies of one script, so the address alone is not enough.
        || (one.source.path == other.source.path && one.source.name == other.source.name)
}

/// A script that another inherits from, as it is named.
struct ParentScript<'a> {
    name: &'a str,
    at: Span,
    /// Whether `type:` names it.
    of_type: bool,
}

/// Base type first, then those of `extends` in their order: the last one wins.
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

/// The items of a list, or the one value that stands for a list of one.
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

    /// The nearest type `char`, or else our own: characters work without anybody's help.
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

/// Whether a script is itself a type, which others may name in `type:`.
fn is_type(script: &Script) -> bool {
    script.config.get("type").and_then(Node::as_str) == Some("type")
}

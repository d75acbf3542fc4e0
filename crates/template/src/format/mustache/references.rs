//! Finds the references of Mustache templates. A name in a section may be an entry of the section's
//! value or a variable, and a section handles a missing value. The variables in both cases are
//! therefore optional. Any name may also be a function.

use indexmap::IndexSet;

use super::ast::{Node, Tag, TagPath};
use super::compilation::Compilation;
use crate::reference::ByPath;
use crate::{References, VariableReference};

type HashedSet<K> = IndexSet<K, foldhash::fast::RandomState>;

#[derive(Default)]
struct Collector {
    variables: HashedSet<ByPath>,
    /// Whether a use requires the variable, for each variable.
    needed: Vec<bool>,
    partials: HashedSet<String>,
    dynamic: bool,
    /// Sources to read. The flag tells whether a source is read inside a section.
    wanted: HashedSet<(usize, bool)>,
}

/// Returns the references of all sources except libraries, and of the partials that they call.
pub(super) fn references(sources: &[Compilation]) -> References {
    let mut collector = Collector::default();
    let rendered = sources.iter().enumerate();
    let rendered = rendered.filter(|(_, source)| !source.library);
    collector
        .wanted
        .extend(rendered.map(|(index, _)| (index, false)));
    let mut next = 0;
    while let Some((index, inside)) = collector.wanted.get_index(next).copied() {
        next += 1;
        if let Some(source) = sources.get(index) {
            collector.source(index, &source.program.nodes, inside);
        }
    }
    References {
        variables: variables(collector.variables, &collector.needed),
        templates: collector.partials.into_iter().collect(),
        dynamic: collector.dynamic,
        ..References::default()
    }
}

/// Returns the variables. A variable is optional unless a use requires it.
fn variables(found: HashedSet<ByPath>, needed: &[bool]) -> Vec<VariableReference> {
    let found = found.into_iter().zip(needed);
    found
        .map(|(found, needed)| VariableReference {
            optional: !needed,
            ..found.0
        })
        .collect()
}

impl Collector {
    fn source(&mut self, source: usize, nodes: &[Node], inside: bool) {
        // Index of the node at which the innermost section's value goes out of scope.
        let mut until = if inside { nodes.len() } else { 0 };
        for (index, node) in nodes.iter().enumerate() {
            let inside = index < until;
            match node {
                Node::Text(..) => {}
                Node::Value(tag) => self.tag(source, tag, inside, inside),
                Node::Section(section) => {
                    self.tag(source, &section.tag, inside, true);
                    if !section.inverted {
                        until = until.max(section.end);
                    }
                }
                Node::Partial(partial) => match partial.source {
                    Some(target) => drop(self.wanted.insert((target, inside))),
                    None => drop(self.partials.insert(partial.tag.path.text().to_owned())),
                },
            }
        }
    }

    fn tag(&mut self, source: usize, tag: &Tag, inside: bool, optional: bool) {
        let path = match &tag.path {
            TagPath::Here => {
                self.dynamic |= !inside;
                return;
            }
            TagPath::Name(name) => vec![name.to_string()],
            TagPath::Dotted(_, parts) => parts.iter().map(ToString::to_string).collect(),
        };
        let (index, is_new) = self.variables.insert_full(ByPath(VariableReference {
            path,
            optional: false,
            source,
            span: tag.name,
        }));
        if is_new {
            self.needed.push(!optional);
        } else if let Some(needed) = self.needed.get_mut(index) {
            *needed |= !optional;
        }
    }
}

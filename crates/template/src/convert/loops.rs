//! Infers from the loops of a tree which variables are lists, declared or not.

use super::shape::VariableType;
use super::tree::{NodeKind, PathStart, TreeNode, VariablePath};

/// One step from the variables to a value.
#[derive(Clone, Debug)]
enum PathStep {
    Key(String),
    /// From a list to its items.
    Items,
}

/// Returns the lists that loops iterate over, as kinds of the variables. All other kinds are
/// unknown.
pub(super) fn lists(nodes: &[TreeNode]) -> VariableType {
    let mut finder = LoopFinder::default();
    finder.nodes(nodes);
    finder.found
}

#[derive(Default)]
struct LoopFinder {
    found: VariableType,
    /// Paths that the enclosing loops iterate over; `None` for a value that does not come from a
    /// variable.
    around: Vec<Option<Vec<PathStep>>>,
}

impl LoopFinder {
    fn nodes(&mut self, nodes: &[TreeNode]) {
        for node in nodes {
            match &node.kind {
                NodeKind::If {
                    then, otherwise, ..
                } => {
                    self.nodes(then);
                    self.nodes(otherwise);
                }
                NodeKind::For {
                    list,
                    body,
                    otherwise,
                    ..
                } => {
                    let steps = self.steps(list);
                    steps.iter().for_each(|steps| self.mark(steps));
                    self.around.push(steps);
                    self.nodes(body);
                    self.around.pop();
                    self.nodes(otherwise);
                }
                _ => {}
            }
        }
    }

    fn steps(&self, path: &VariablePath) -> Option<Vec<PathStep>> {
        let mut steps = match path.start {
            PathStart::Root => Vec::new(),
            PathStart::Item(depth) => {
                let mut steps = self.around.get(depth)?.clone()?;
                steps.push(PathStep::Items);
                steps
            }
            PathStart::Loop(..) => return None,
        };
        steps.extend(path.keys.iter().cloned().map(PathStep::Key));
        Some(steps)
    }

    fn mark(&mut self, steps: &[PathStep]) {
        let mut shape = &mut self.found;
        for step in steps {
            shape = match step {
                // The value is used as a list and as an object, so nothing is known about it.
                PathStep::Key(_) if matches!(shape, VariableType::List(_)) => return,
                PathStep::Key(key) => shape.field_mut(key),
                PathStep::Items => shape.items_mut(),
            };
        }
        shape.items_mut();
    }
}

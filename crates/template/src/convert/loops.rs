//! Infers list variables from the loops of a tree, including undeclared ones.

use super::shape::VariableType;
use super::tree::{NodeKind, PathStart, TreeNode, VariablePath};

/// One step from the variables to a value.
#[derive(Clone, Debug)]
enum PathStep {
    Key(String),
    /// A step from a list to its items.
    Items,
}

/// Returns the kinds of the variables, in which the values of all loops are lists and everything
/// else is unknown.
pub(super) fn lists(nodes: &[TreeNode]) -> VariableType {
    let mut finder = LoopFinder::default();
    finder.nodes(nodes);
    finder.found
}

#[derive(Default)]
struct LoopFinder {
    found: VariableType,
    /// Paths to the lists of the enclosing loops; `None` for a list without a known path.
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
                // The template uses the value as a list and as an object, so its kind is unknown.
                PathStep::Key(_) if matches!(shape, VariableType::List(_)) => return,
                PathStep::Key(key) => shape.field_mut(key),
                PathStep::Items => shape.items_mut(),
            };
        }
        shape.items_mut();
    }
}

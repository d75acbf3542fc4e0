//! What the loops of a tree run over is a list, whether anybody declares it or not.

use super::shape::Shape;
use super::tree::{Node, NodeKind, Path, Start};

/// One step from the variables to a value.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    /// From a list to its items.
    Items,
}

/// The lists that loops run over, as kinds of the variables. Nothing else is known in it.
pub(super) fn lists(nodes: &[Node]) -> Shape {
    let mut finder = Finder::default();
    finder.nodes(nodes);
    finder.found
}

#[derive(Default)]
struct Finder {
    found: Shape,
    /// What the loops around run over; `None` for what is no value of a variable.
    around: Vec<Option<Vec<Step>>>,
}

impl Finder {
    fn nodes(&mut self, nodes: &[Node]) {
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

    fn steps(&self, path: &Path) -> Option<Vec<Step>> {
        let mut steps = match path.start {
            Start::Root => Vec::new(),
            Start::Item(depth) => {
                let mut steps = self.around.get(depth)?.clone()?;
                steps.push(Step::Items);
                steps
            }
            Start::Loop(..) => return None,
        };
        steps.extend(path.keys.iter().cloned().map(Step::Key));
        Some(steps)
    }

    fn mark(&mut self, steps: &[Step]) {
        let mut shape = &mut self.found;
        for step in steps {
            shape = match step {
                // A list that has fields as well: nothing can be said of them.
                Step::Key(_) if matches!(shape, Shape::List(_)) => return,
                Step::Key(key) => shape.field_mut(key),
                Step::Items => shape.items_mut(),
            };
        }
        shape.items_mut();
    }
}

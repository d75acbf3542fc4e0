//! Variables of format strings. Each name may also be a function.

use indexmap::IndexSet;

use super::ast::{Field, FormatSpec, Index, Node, Program, SpecPart};
use crate::reference::ByPath;
use crate::{References, VariableReference};

/// Variables by path, in order of first use.
#[derive(Default)]
pub(super) struct VariableNames {
    variables: IndexSet<ByPath, foldhash::fast::RandomState>,
}

impl VariableNames {
    /// Adds the variables of a source.
    pub(super) fn add(&mut self, program: &Program, source: usize) {
        for node in &program.nodes {
            if let Node::Field(field) = node {
                self.add_field(field, source);
            }
        }
    }

    /// Adds the variables of a field. The recursion is one level deep, because fields in a
    /// specifier have no nested fields.
    fn add_field(&mut self, field: &Field, source: usize) {
        let keys = field.path.iter().map_while(|index| match index {
            Index::Key(key) => Some(key.to_string()),
            Index::Number(_) => None,
        });
        let name = std::iter::once(field.name.to_string());
        // The set keeps the first reference to a path.
        self.variables.insert(ByPath(VariableReference {
            path: name.chain(keys).collect(),
            optional: false,
            source,
            span: field.span,
        }));
        if let FormatSpec::Nested(pieces) = &field.layout {
            for piece in pieces {
                if let SpecPart::Field(field) = piece {
                    self.add_field(field, source);
                }
            }
        }
    }

    pub(super) fn into_references(self) -> References {
        References {
            variables: self.variables.into_iter().map(|found| found.0).collect(),
            ..References::default()
        }
    }
}

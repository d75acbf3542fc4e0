//! The variables of format strings. Any name may turn out to be a function's.

use indexmap::IndexMap;

use super::ast::{Field, Index, Layout, Node, Piece, Program};
use crate::{References, VariableReference};

/// Variables by path, in order of first use.
#[derive(Default)]
pub(super) struct Names {
    variables: IndexMap<Vec<String>, VariableReference, foldhash::fast::RandomState>,
}

impl Names {
    /// Adds those of a source.
    pub(super) fn add(&mut self, program: &Program, source: usize) {
        for node in &program.nodes {
            if let Node::Field(field) = node {
                self.add_field(field, source);
            }
        }
    }

    /// Recurses once: a specifier's fields have no fields in their specifiers.
    fn add_field(&mut self, field: &Field, source: usize) {
        let keys = field.path.iter().map_while(|index| match index {
            Index::Key(key) => Some(key.to_string()),
            Index::Number(_) => None,
        });
        let name = std::iter::once(field.name.to_string());
        let path: Vec<String> = name.chain(keys).collect();
        self.variables
            .entry(path)
            .or_insert_with_key(|path| VariableReference {
                path: path.clone(),
                optional: false,
                source,
                span: field.span,
            });
        if let Layout::Nested(pieces) = &field.layout {
            for piece in pieces {
                if let Piece::Field(field) = piece {
                    self.add_field(field, source);
                }
            }
        }
    }

    pub(super) fn into_references(self) -> References {
        References {
            variables: self.variables.into_values().collect(),
            ..References::default()
        }
    }
}

//! Join paths between tables along declared foreign keys.

use std::collections::VecDeque;

use super::schema::PromptTable;

/// One join: two tables by index, and the columns that must be equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JoinStep {
    /// Index of the table already in the query.
    pub(super) from: usize,
    /// Index of the joined table.
    pub(super) to: usize,
    /// Join column of the `from` table.
    pub(super) column: String,
    /// Join column of the `to` table.
    pub(super) target: String,
    /// Whether a row may match several rows, because the join goes against the direction of the
    /// key.
    pub(super) is_many: bool,
}

/// Maximum number of joins in a path.
const LONGEST: usize = 4;

/// Returns the shortest path, if there is one. Prefers paths along the direction of keys, so that
/// no row counts twice.
pub(super) fn way(tables: &[PromptTable], from: usize, to: usize) -> Option<Vec<JoinStep>> {
    let steps = steps(tables);
    let along = |step: &&JoinStep| !step.is_many;
    let any = |_: &&JoinStep| true;
    shortest(&steps, from, to, &along).or_else(|| shortest(&steps, from, to, &any))
}

fn shortest(
    steps: &[JoinStep],
    from: usize,
    to: usize,
    may: &dyn Fn(&&JoinStep) -> bool,
) -> Option<Vec<JoinStep>> {
    let mut waiting = VecDeque::from([(from, Vec::<JoinStep>::new())]);
    let mut seen = vec![from];
    while let Some((at, way)) = waiting.pop_front() {
        if at == to {
            return Some(way);
        }
        if way.len() == LONGEST {
            continue;
        }
        for step in steps
            .iter()
            .filter(|step| step.from == at)
            .filter(|step| may(step))
        {
            if !seen.contains(&step.to) {
                seen.push(step.to);
                let way = way.iter().chain([step]).cloned().collect();
                waiting.push_back((step.to, way));
            }
        }
    }
    None
}

/// Returns every key in both directions. Self-references are left out, because they would need a
/// table alias.
fn steps(tables: &[PromptTable]) -> Vec<JoinStep> {
    let mut steps = Vec::new();
    for (from, table) in tables.iter().enumerate() {
        for column in &table.columns {
            let Some((name, target)) = &column.target else {
                continue;
            };
            let Some(to) = tables.iter().position(|table| table.name == *name) else {
                continue;
            };
            if to == from || tables[to].bare == table.bare {
                continue;
            }
            let there = JoinStep {
                from,
                to,
                column: column.name.clone(),
                target: target.clone(),
                is_many: false,
            };
            steps.push(JoinStep {
                from: to,
                to: from,
                column: target.clone(),
                target: column.name.clone(),
                is_many: true,
            });
            steps.push(there);
        }
    }
    steps
}

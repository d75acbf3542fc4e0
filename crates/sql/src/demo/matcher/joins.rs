//! Ways from one table to another along declared foreign keys.

use std::collections::VecDeque;

use super::schema::PromptTable;

/// One step: the tables it joins, by their places, and the columns that have to be equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JoinStep {
    /// Where it comes from.
    pub(super) from: usize,
    /// Where it leads to.
    pub(super) to: usize,
    /// The column there where it comes from.
    pub(super) column: String,
    /// The column where it leads to.
    pub(super) target: String,
    /// Whether one row may meet several there: it goes against the key's direction.
    pub(super) is_many: bool,
}

/// Most steps of a way.
const LONGEST: usize = 4;

/// The shortest way, if there is one: along keys only where that is possible, so that no row counts
/// twice.
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

/// Every key in both directions; those that lead to their own table would need a second name for
/// it.
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

//! Maps a question's words to tables and columns.

use std::collections::HashSet;

use super::intent::{Aggregate, Intent};
use super::joins::{JoinStep, way};
use super::schema::{PromptColumn, PromptTable};
use super::vocabulary::{common, words};

/// A column with the index of its table.
#[derive(Clone, Copy, Debug)]
pub(super) struct ColumnRef<'a> {
    /// Index of the table.
    pub(super) table: usize,
    /// The column.
    pub(super) column: &'a PromptColumn,
}

/// Parts of a query.
#[derive(Debug)]
pub(super) struct QueryPlan<'a> {
    /// All tables of the prompt.
    pub(super) tables: &'a [PromptTable],
    /// Index of the table in FROM.
    pub(super) from: usize,
    /// Joins, in order.
    pub(super) joins: Vec<JoinStep>,
    /// Aggregate; `None` for a list of rows.
    pub(super) sum: Option<Aggregate>,
    /// Column that is aggregated or that orders a list.
    pub(super) measure: Option<ColumnRef<'a>>,
    /// Column of GROUP BY.
    pub(super) group: Option<ColumnRef<'a>>,
    /// Selected columns; all columns if empty.
    pub(super) listed: Vec<ColumnRef<'a>>,
    /// Columns and the texts to filter them by.
    pub(super) filters: Vec<(ColumnRef<'a>, String)>,
}

/// Words that mark numeric columns whose sum is meaningless.
const NOT_ADDED: [&str; 10] = [
    "price", "rating", "rate", "score", "percent", "age", "discount", "评分", "单价", "折扣",
];
/// Plans a query, if the question shares a word with a table.
pub(super) fn plan<'a>(tables: &'a [PromptTable], intent: &Intent) -> Option<QueryPlan<'a>> {
    let scene = PlanInput { tables, intent };
    let orders_by = intent.greatest_first.is_some() && intent.sum.is_none();
    // In `top 5 products by price`, the word after `by` names a number that orders the list, not a
    // grouping.
    let order = orders_by.then(|| scene.ordering(&intent.by)).flatten();
    let group = if order.is_some() { None } else { scene.group() };
    let subject = scene.subject().or(order.map(|at| at.table));
    let subject = subject
        .or_else(|| scene.measure(&intent.words, &[]).map(|at| at.table))
        .or(group.map(|at| at.table))?;
    let spoken: Vec<usize> = [Some(subject), group.map(|at| at.table)]
        .into_iter()
        .flatten()
        .collect();
    let measure = order
        .or_else(|| scene.measure(&intent.words, &spoken))
        .or_else(|| orders_by.then(|| scene.date(subject)).flatten())
        .or_else(|| intent.sum.and_then(|_| scene.only_number(subject)));
    let mut plan = QueryPlan {
        tables,
        from: subject,
        joins: Vec::new(),
        sum: sum(intent, measure, group, subject),
        measure,
        group,
        listed: Vec::new(),
        filters: Vec::new(),
    };
    plan.settle(&scene);
    Some(plan)
}

/// Chooses the aggregate: the requested one, or one that the grouping or the column implies.
fn sum(
    intent: &Intent,
    measure: Option<ColumnRef<'_>>,
    group: Option<ColumnRef<'_>>,
    subject: usize,
) -> Option<Aggregate> {
    let added = |at: ColumnRef<'_>| {
        if NOT_ADDED
            .iter()
            .any(|word| at.column.named.contains(*word) || at.column.told.contains(*word))
        {
            Aggregate::Average
        } else {
            Aggregate::Total
        }
    };
    let elsewhere = measure.filter(|at| at.table != subject);
    match (intent.sum, measure) {
        (Some(Aggregate::Count), _) => Some(Aggregate::Count),
        (Some(sum), Some(_)) => Some(sum),
        (Some(_), None) => Some(Aggregate::Count),
        (None, Some(at)) if group.is_some() => Some(added(at)),
        (None, _) if group.is_some() => Some(Aggregate::Count),
        (None, _) => elsewhere.map(added),
    }
}

struct PlanInput<'a, 'q> {
    tables: &'a [PromptTable],
    intent: &'q Intent,
}

impl<'a> PlanInput<'a, '_> {
    /// Returns the main table of the question.
    fn subject(&self) -> Option<usize> {
        let asked = &self.intent.words;
        let score = |table: &PromptTable| {
            let named = common(&table.named, asked);
            let titled = common(&table.title, asked);
            let told = common(&table.told, asked).min(3);
            let columns = table.columns.iter().any(|c| common(&c.named, asked) > 0);
            // A complete match of a name counts more than a partial match of a longer name.
            60 * named
                + 30 * share(named, &table.named) / 100
                + 50 * titled.min(1)
                + 30 * share(titled, &table.title) / 100
                + 10 * told
                + usize::from(columns)
        };
        best(self.tables.iter().map(score))
    }

    fn columns(&self) -> impl Iterator<Item = ColumnRef<'a>> {
        let tables = self.tables.iter().enumerate();
        tables.flat_map(|(table, t)| {
            t.columns
                .iter()
                .map(move |column| ColumnRef { table, column })
        })
    }

    /// Scores how well a column matches. Words that also occur in its table's name do not count.
    fn fit(&self, at: &ColumnRef<'a>, asked: &HashSet<String>) -> usize {
        let table = &self.tables[at.table];
        let own = |words: &HashSet<String>| {
            let own = words
                .intersection(asked)
                .filter(|word| !table.named.contains(*word) && !table.title.contains(*word));
            own.count()
        };
        let (named, told) = (own(&at.column.named), own(&at.column.told));
        match named + told {
            0 => 0,
            _ => {
                20 * named
                    + 30 * share(named, &at.column.named) / 100
                    + 16 * told
                    + 6 * common(&table.named, asked)
                    + 6 * common(&table.title, asked)
            }
        }
    }

    /// Returns the best-matching numeric column. Tables that the question mentions are preferred.
    fn measure(&self, asked: &HashSet<String>, spoken: &[usize]) -> Option<ColumnRef<'a>> {
        let numbers: Vec<ColumnRef<'a>> =
            self.columns().filter(|at| at.column.is_number()).collect();
        let near =
            |at: &ColumnRef<'a>| 15 * spoken.iter().filter(|table| **table == at.table).count();
        let fits = numbers.iter().map(|at| match self.fit(at, asked) {
            0 => 0,
            fit => fit + near(at),
        });
        best(fits).and_then(|i| numbers.get(i).copied())
    }

    /// Returns the numeric column of a table that has only one.
    fn only_number(&self, table: usize) -> Option<ColumnRef<'a>> {
        let mut numbers = self
            .columns()
            .filter(|at| at.table == table && at.column.is_number());
        numbers.next().filter(|_| numbers.next().is_none())
    }

    /// Returns the numeric column that orders a list.
    fn ordering(&self, asked: &HashSet<String>) -> Option<ColumnRef<'a>> {
        let subject: Vec<usize> = self.subject().into_iter().collect();
        self.measure(asked, &subject)
    }

    /// Returns the first date column of a table, if the question asks for the latest or earliest
    /// rows.
    fn date(&self, subject: usize) -> Option<ColumnRef<'a>> {
        let asked = &self.intent.words;
        let timely = asked.contains("date") && asked.contains("time");
        let columns = &self.tables.get(subject)?.columns;
        let column = columns
            .iter()
            .find(|column| column.is_date())
            .filter(|_| timely)?;
        Some(ColumnRef {
            table: subject,
            column,
        })
    }

    /// Returns the grouping column: a column that matches, or the label of a matching table.
    fn group(&self) -> Option<ColumnRef<'a>> {
        let by = &self.intent.by;
        let columns: Vec<ColumnRef<'a>> = self
            .columns()
            .filter(|at| at.column.target.is_none() && (at.column.is_text() || !at.column.is_key))
            .collect();
        let near = |at: &ColumnRef<'a>| usize::from(Some(at.table) == self.subject()) * 5;
        let fits = columns.iter().map(|at| {
            let (named, told) = (common(&at.column.named, by), common(&at.column.told, by));
            match named + told {
                0 => 0,
                _ => 20 * named + 20 * share(named, &at.column.named) / 100 + 12 * told + near(at),
            }
        });
        let column = best_of(fits);
        let tables = self.tables.iter().map(|table| {
            let (named, titled) = (common(&table.named, by), common(&table.title, by));
            26 * named
                + 20 * share(named, &table.named) / 100
                + 30 * share(titled, &table.title) / 100
        });
        match (column, best_of(tables)) {
            (column, Some((table, fit))) if column.is_none_or(|(_, other)| fit >= other) => {
                let column = self.tables.get(table)?.label()?;
                Some(ColumnRef { table, column })
            }
            (Some((i, _)), _) => columns.get(i).copied(),
            _ => None,
        }
    }

    /// Returns the columns of a table that the question names.
    fn named(&self, table: usize) -> Vec<ColumnRef<'a>> {
        let all = self.columns().filter(|at| at.table == table);
        all.filter(|at| at.column.target.is_none() && self.fit(at, &self.intent.words) > 0)
            .collect()
    }

    /// Returns the values in the question with the columns that may contain them.
    fn filters(&self, group: Option<ColumnRef<'a>>) -> Vec<(ColumnRef<'a>, String)> {
        let mut filters = Vec::new();
        for at in self.columns() {
            let is_group = group.is_some_and(|group| std::ptr::eq(group.column, at.column));
            let said = |value: &&String| {
                let value = words(value);
                !value.is_empty() && value.is_subset(&self.intent.words)
            };
            if let Some(value) = at.column.values.iter().find(said).filter(|_| !is_group) {
                filters.push((at, value.clone()));
            }
        }
        let text = |at: &ColumnRef<'a>| at.column.is_text() && at.column.values.is_empty();
        let texts: Vec<ColumnRef<'a>> = self.columns().filter(text).collect();
        // Words of the main table do not indicate which column contains a value.
        let subject = self.subject().and_then(|table| self.tables.get(table));
        let is_about = |word: &&String| {
            subject.is_some_and(|table| table.named.contains(*word) || table.title.contains(*word))
        };
        let asked = self.intent.words.iter().filter(|word| !is_about(word));
        let asked: HashSet<String> = asked.cloned().collect();
        for value in &self.intent.values {
            let fits = texts.iter().map(|at| {
                let near = usize::from(Some(at.table) == self.subject());
                self.fit(at, &asked) + 30 * usize::from(at.column.is_place()) + 5 * near
            });
            filters.extend(best(fits).and_then(|i| Some((*texts.get(i)?, value.clone()))));
        }
        filters
    }
}

impl<'a> QueryPlan<'a> {
    /// Chooses the table in FROM and the joins, and drops columns that no key leads to.
    fn settle(&mut self, scene: &PlanInput<'a, '_>) {
        let subject = self.from;
        match (self.sum, self.measure) {
            (Some(Aggregate::Count) | None, _) => {}
            (Some(_), Some(at)) => self.from = at.table,
            (Some(_), None) => {}
        }
        if self.sum.is_some()
            && self.group.is_none()
            && self.from != subject
            && scene.intent.greatest_first.is_some()
        {
            // `the products with the highest rating` is grouped by product.
            let label = self.tables.get(subject).and_then(PromptTable::label);
            self.group = label.map(|column| ColumnRef {
                table: subject,
                column,
            });
        }
        if self.sum.is_none() {
            self.measure = self.measure.filter(|at| at.table == self.from);
            self.listed = scene.named(self.from);
        }
        self.group = self.group.filter(|at| self.reach(at.table));
        self.filters = scene.filters(self.group);
        let filters = std::mem::take(&mut self.filters);
        self.filters = filters
            .into_iter()
            .filter(|(at, _)| self.reach(at.table))
            .collect();
    }

    /// Adds the joins that lead to a table.
    fn reach(&mut self, table: usize) -> bool {
        let Some(way) = way(self.tables, self.from, table) else {
            return false;
        };
        for step in way {
            if !self.joins.iter().any(|known| known.to == step.to) {
                self.joins.push(step);
            }
        }
        true
    }
}

/// Returns the percentage of words that were mentioned.
fn share(said: usize, of: &HashSet<String>) -> usize {
    100 * said / of.len().max(1)
}

/// Returns the index of the greatest score above zero; the first one wins a tie.
fn best(scores: impl Iterator<Item = usize>) -> Option<usize> {
    best_of(scores).map(|(place, _)| place)
}

fn best_of(scores: impl Iterator<Item = usize>) -> Option<(usize, usize)> {
    let fitting = scores.enumerate().filter(|(_, score)| *score > 0);
    fitting.reduce(|best, next| if next.1 > best.1 { next } else { best })
}

//! Index of known column values, which finds those that a question mentions.
//!
//! A question mentions a value if it contains the value's words in the same order. Words match
//! regardless of case and accents and in base form (`Accessories`, `accessory`); Chinese matches
//! anywhere in a run. To avoid accidental matches, values of one character and of words such as
//! `all` are ignored.

use foldhash::HashMap;

use super::{SampledColumn, ValueSamples};
use crate::Catalogue;
use crate::rank::{NamedValue, is_stop_word, words};

/// Maximum words of a question to search.
const MOST_WORDS: usize = 400;
/// Maximum number of mentioned values, because one word may occur in the values of many columns.
const MOST_NAMED: usize = 1_000;

/// Known values of the columns of one catalogue.
#[derive(Debug, Default)]
pub struct ValueIndex {
    columns: Vec<KnownColumn>,
    values: Vec<KnownValue>,
    /// Indexes of values by their first word.
    by_first: HashMap<String, Vec<usize>>,
    /// Indexes of known columns by table index and column index.
    places: HashMap<(usize, usize), usize>,
    by_table: HashMap<usize, Vec<usize>>,
    /// Fingerprint of the sampled catalogue.
    pub(crate) fingerprint: String,
    /// Time of the sample.
    pub(crate) read_at: u64,
}

/// A column with known values.
#[derive(Debug)]
pub(crate) struct KnownColumn {
    /// Index of its table in the catalogue.
    pub(crate) table: usize,
    /// Its index in the table.
    pub(crate) column: usize,
    /// Known values: those of an enum in declared order, sampled ones by frequency.
    pub(crate) values: Vec<String>,
    /// Whether it has few values that occur often.
    pub(crate) is_choice: bool,
    /// Whether the values are declared in the schema, which already shows and ranks them.
    pub(crate) is_declared: bool,
}

#[derive(Debug)]
struct KnownValue {
    column: usize,
    value: usize,
    words: Vec<String>,
}

/// Values that a question mentions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct MentionedValues {
    /// Table index and column index, with the indexes of the values in the question's order.
    pub(crate) columns: Vec<((usize, usize), Vec<usize>)>,
    /// The values for ranking, without declared values and bare numbers.
    pub(crate) named: Vec<NamedValue>,
}

impl ValueIndex {
    /// Creates an index from declared values and from sampled values. Samples of columns that no
    /// longer exist are ignored.
    #[must_use]
    pub fn of(catalogue: &Catalogue, sampled: &ValueSamples) -> Self {
        let mut known = ValueIndex {
            fingerprint: sampled.fingerprint.clone(),
            read_at: sampled.read_at,
            ..ValueIndex::default()
        };
        for (table, described) in catalogue.tables.iter().enumerate() {
            for (column, described) in described.columns.iter().enumerate() {
                if !described.values.is_empty() {
                    known.add(KnownColumn {
                        table,
                        column,
                        values: described.values.clone(),
                        is_choice: false,
                        is_declared: true,
                    });
                }
            }
        }
        for sampled in &sampled.columns {
            if let Some((table, column)) = place(catalogue, sampled) {
                known.add(KnownColumn {
                    table,
                    column,
                    values: sampled.values.clone(),
                    is_choice: sampled.is_choice,
                    is_declared: false,
                });
            }
        }
        known
    }

    fn add(&mut self, column: KnownColumn) {
        let number = self.columns.len();
        let place = (column.table, column.column);
        if self.places.contains_key(&place) {
            return;
        }
        self.places.insert(place, number);
        self.by_table.entry(column.table).or_default().push(number);
        for (value, text) in column.values.iter().enumerate() {
            let words = words(text);
            let says_much = words.iter().any(|word| !is_stop_word(word))
                && (words.len() > 1 || words.iter().any(|word| word.chars().count() > 1));
            let Some(first) = words.first().filter(|_| says_much) else {
                continue;
            };
            let values = self.by_first.entry(first.clone()).or_default();
            values.push(self.values.len());
            self.values.push(KnownValue {
                column: number,
                value,
                words,
            });
        }
        self.columns.push(column);
    }

    /// Returns the number of sampled columns.
    #[must_use]
    pub fn sampled_columns(&self) -> usize {
        self.columns.iter().filter(|it| !it.is_declared).count()
    }

    /// Returns the known values of a column.
    pub(crate) fn column(&self, table: usize, column: usize) -> Option<&KnownColumn> {
        self.columns.get(*self.places.get(&(table, column))?)
    }

    /// Returns the columns of a table with known values, in order.
    pub(crate) fn of_table(&self, table: usize) -> impl Iterator<Item = &KnownColumn> {
        let columns = self.by_table.get(&table).into_iter().flatten();
        columns.map(|number| &self.columns[*number])
    }

    /// Returns the values that a question mentions. Of overlapping values the longer one wins:
    /// `New York` over `York`.
    pub(crate) fn mentioned(&self, question: &str) -> MentionedValues {
        let mut asked = words(question);
        asked.truncate(MOST_WORDS);
        let mut found: Vec<(std::ops::Range<usize>, usize)> = Vec::new();
        for (start, word) in asked.iter().enumerate() {
            if found.len() >= MOST_NAMED {
                break;
            }
            let values = self.by_first.get(word).into_iter().flatten();
            for number in values {
                let value = &self.values[*number];
                if asked[start..].starts_with(&value.words) {
                    found.push((start..start + value.words.len(), *number));
                }
            }
        }
        let is_covered = |range: &std::ops::Range<usize>, column: usize| {
            found.iter().any(|(other, number)| {
                let longer = other.len() > range.len();
                let covers = other.start <= range.start && range.end <= other.end;
                longer && covers && self.values[*number].column == column
            })
        };
        let mut mentions = MentionedValues::default();
        for (range, number) in &found {
            let value = &self.values[*number];
            if !is_covered(range, value.column) {
                mentions.add(&self.columns[value.column], value);
            }
        }
        mentions
    }
}

impl MentionedValues {
    fn add(&mut self, column: &KnownColumn, value: &KnownValue) {
        let place = (column.table, column.column);
        let known = self.columns.iter_mut().find(|(known, _)| *known == place);
        match known {
            Some((_, values)) if values.contains(&value.value) => return,
            Some((_, values)) => values.push(value.value),
            None => self.columns.push((place, vec![value.value])),
        }
        let is_number = |word: &String| word.chars().all(char::is_numeric);
        if column.is_declared || value.words.iter().all(is_number) {
            return;
        }
        match self.named.iter_mut().find(|it| it.words == value.words) {
            Some(named) if named.tables.contains(&column.table) => {}
            Some(named) => named.tables.push(column.table),
            None => self.named.push(NamedValue {
                words: value.words.clone(),
                tables: vec![column.table],
            }),
        }
    }
}

/// Returns the indexes of a sampled column, if it still exists in the catalogue.
fn place(catalogue: &Catalogue, sampled: &SampledColumn) -> Option<(usize, usize)> {
    let found = catalogue.find(Some(&sampled.schema), &sampled.table);
    let mut exact = found.into_iter().filter(|i| {
        let table = &catalogue.tables[*i];
        table.schema_name == sampled.schema && table.table_name == sampled.table
    });
    let table = exact.next()?;
    let columns = &catalogue.tables[table].columns;
    let column = columns.iter().position(|it| it.name == sampled.name)?;
    Some((table, column))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SqlDialect;
    use crate::catalogue::{DatabaseTable, TableColumn};

    /// Returns the values of a single column that the question mentions.
    fn named(values: &[&str], question: &str) -> Vec<String> {
        let table = DatabaseTable {
            table_name: "t".to_owned(),
            columns: vec![TableColumn {
                name: "c".to_owned(),
                ..TableColumn::default()
            }],
            ..DatabaseTable::default()
        };
        let catalogue = Catalogue::new(
            SqlDialect::Sqlite,
            String::new(),
            Vec::new(),
            vec![table],
            String::new(),
        );
        let sampled = ValueSamples {
            columns: vec![SampledColumn {
                table: "t".to_owned(),
                name: "c".to_owned(),
                values: values.iter().map(|value| (*value).to_owned()).collect(),
                ..SampledColumn::default()
            }],
            ..ValueSamples::default()
        };
        let mentions = ValueIndex::of(&catalogue, &sampled).mentioned(question);
        let found = mentions.columns.into_iter().flat_map(|(_, found)| found);
        found.map(|i| values[i].to_owned()).collect()
    }

    #[test]
    fn values_are_named_by_their_words() {
        for (values, question, expected) in [
            (
                &["PAID", "OPEN"][..],
                "how many paid orders?",
                &["PAID"][..],
            ),
            (&["PAID", "UNPAID"], "unpaid orders", &["UNPAID"]),
            (
                &["IN_PROGRESS"],
                "what is in progress now",
                &["IN_PROGRESS"],
            ),
            (&["inProgress"], "what is in progress now", &["inProgress"]),
            (&["Accessories"], "every accessory", &["Accessories"]),
            (&["accessory"], "Accessories!", &["accessory"]),
            (&["cancelled"], "orders that were canceled", &["cancelled"]),
            (
                &["Zürich", "São Paulo"],
                "Zurich and sao paulo",
                &["Zürich", "São Paulo"],
            ),
            (&["Zurich"], "sales in ZÜRICH", &["Zurich"]),
            (&["York", "New York"], "shops in New York", &["New York"]),
            (
                &["York", "New York"],
                "New York or York",
                &["New York", "York"],
            ),
            (&["New York"], "York, not the new one", &[]),
            (&["已付款", "待付款"], "查询已付款的订单", &["已付款"]),
            (&["北京", "北京市"], "北京市的客户", &["北京市"]),
            (&["ＰＡＩＤ"], "paid", &["ＰＡＩＤ"]),
            (&["2024-Q1"], "sales of 2024 Q1", &["2024-Q1"]),
            (&["A", "B"], "a customer", &[]),
            (&["男"], "男客户", &[]),
            (&["all", "no", "the"], "show all the orders, no matter", &[]),
            (&["", " ", "--", "😀"], "-- 😀", &[]),
            (&["paid"], "", &[]),
        ] {
            assert_eq!(named(values, question), expected, "{values:?} {question:?}");
        }
    }

    #[test]
    fn a_question_of_any_length_names_no_end_of_values() {
        let values: Vec<String> = (0..500).map(|n| format!("red {n}")).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let question = "red 1 red 2 ".repeat(100_000);
        assert_eq!(named(&values, &question), ["red 1", "red 2"]);
    }
}

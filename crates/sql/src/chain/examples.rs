//! Accepted pairs of question and query, used as examples for similar questions.
//!
//! Questions are similar if they share words; words that are rare among the accepted questions
//! weigh most. An example is shown only while the guard still accepts its query. The tables of the
//! examples are added to the prompt.

use foldhash::{HashMap, HashMapExt, HashSet};
use quillet_core::archive::QueryRecord;
use quillet_core::chat::TokenCounter;

use super::untrusted_text::sanitize_line;
use crate::rank::content_words;

/// Minimum cosine similarity of two questions' words.
const ALIKE: f32 = 0.25;
/// Weight of a word that no accepted question contains.
const UNKNOWN: f32 = 0.5;
/// Maximum length of an example query; longer ones are skipped.
const LONGEST: usize = 2_000;

/// A question and its query that the model sees as an example.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// Id of the history record.
    pub id: u64,
    /// The question.
    pub question: String,
    /// The accepted query.
    pub sql: String,
    /// Tables that the query reads, as `schema.table`.
    pub tables: Vec<String>,
}

/// Returns the records with the most similar questions, most similar first; among equals, newer
/// ones first. Of records with the same question or query, only the newest is returned.
pub(crate) fn similar_records<'a>(
    question: &str,
    accepted: &'a [QueryRecord],
) -> Vec<&'a QueryRecord> {
    let asked: HashSet<String> = content_words(question).into_iter().collect();
    let mut known: Vec<(&QueryRecord, HashSet<String>)> = Vec::new();
    let mut holders: HashMap<String, u16> = HashMap::new();
    for record in accepted {
        let words = record.question.as_deref().map(content_words);
        let words: HashSet<String> = words.unwrap_or_default().into_iter().collect();
        // Records are sorted newest first, so the newest of equal pairs is kept.
        let is_known = known
            .iter()
            .any(|(other, said)| other.sql == record.sql || *said == words);
        if words.is_empty() || record.sql.len() > LONGEST || is_known {
            continue;
        }
        for word in &words {
            let count = holders.entry(word.clone()).or_default();
            *count = count.saturating_add(1);
        }
        known.push((record, words));
    }
    let all = known.len() as f32;
    let weight = |word: &String| {
        let holders = f32::from(holders.get(word).copied().unwrap_or_default());
        // A word that no accepted question contains is usually a value, which differs between
        // questions.
        let share = if holders > 0.0 { 1.0 } else { UNKNOWN };
        share * (1.0 + all / (holders + 1.0)).ln()
    };
    let length = |words: &HashSet<String>| {
        let squares = words.iter().map(|word| weight(word).powi(2));
        squares.sum::<f32>().sqrt()
    };
    let of_asked = length(&asked);
    let scored = known.iter().map(|(record, words)| {
        let common = asked.intersection(words).map(|word| weight(word).powi(2));
        let cosine = common.sum::<f32>() / (of_asked * length(words)).max(f32::MIN_POSITIVE);
        (cosine, *record)
    });
    let mut scored: Vec<(f32, &QueryRecord)> =
        scored.filter(|(cosine, _)| *cosine >= ALIKE).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(b.1.id.cmp(&a.1.id)));
    scored.into_iter().map(|(_, record)| record).collect()
}

/// Formats the examples for a prompt, each followed by an empty line, up to `budget` tokens.
pub(super) fn text(examples: &[Example], tokens: &dyn TokenCounter, budget: u64) -> String {
    const HEAD: &str = "Requests like this one, with queries that were accepted:\n";
    let mut text = String::new();
    let mut left = budget.saturating_sub(tokens.count_text(HEAD));
    for example in examples {
        let shown = format!(
            "\nRequest: {}\nQuery: {}\n",
            sanitize_line(&example.question),
            example.sql.trim()
        );
        let cost = tokens.count_text(&shown);
        if cost > left {
            // A long example is skipped instead of cut, because a truncated query is a bad example.
            // Shorter examples after it may still fit.
            continue;
        }
        left -= cost;
        text.push_str(&shown);
    }
    if text.is_empty() {
        text
    } else {
        format!("{HEAD}{text}\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(id: u64, question: &str) -> QueryRecord {
        QueryRecord {
            id,
            question: Some(question.to_owned()),
            sql: format!("SELECT {id}"),
            ..QueryRecord::default()
        }
    }

    #[test]
    fn the_most_alike_come_first_and_others_not_at_all() {
        let accepted = [
            pair(6, "How many customers are from Oslo?"),
            pair(5, "Which products sold best last month?"),
            pair(4, "上个月的订单数是多少"),
            pair(3, "how many CUSTOMERS from oslo"),
            pair(2, "Turnover of each month"),
            pair(1, "?"),
        ];
        for (question, expected) in [
            ("How many customers are from Rome?", &[6][..]),
            ("best products of last month", &[5]),
            ("turnover by month", &[2]),
            ("这个月的订单数", &[4]),
            ("How many are there?", &[]),
            ("", &[]),
        ] {
            let found: Vec<u64> = similar_records(question, &accepted)
                .iter()
                .map(|it| it.id)
                .collect();
            assert_eq!(found, expected, "{question}");
        }
    }
}

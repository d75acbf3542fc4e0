//! Sources of an answer, collected from tool results.

use quillet_core::Value;
use serde_json::Value as Json;

use crate::Citation;

/// Maximum number of sources per result.
const MOST_PER_RESULT: usize = 1_000;

/// Sources of a run, without duplicates and numbered from 1.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<Citation>);

impl Sources {
    /// Adds the sources of a result, which is an object with a list `sources`. Returns them with
    /// their numbers in the run.
    pub(crate) fn collect(&mut self, output: &Value) -> Vec<Citation> {
        let listed = output.as_map().and_then(|map| map.get("sources"));
        let Some(Value::List(listed)) = listed else {
            return Vec::new();
        };
        // Bounded, because the list of sources grows with every result.
        let named = listed.as_slice().iter().take(MOST_PER_RESULT);
        named
            .filter_map(read)
            .map(|source| self.number(source))
            .collect()
    }

    /// Returns all sources.
    pub(crate) fn all(self) -> Vec<Citation> {
        self.0
    }

    fn number(&mut self, mut source: Citation) -> Citation {
        // A repeated source retains its number, which the answer may cite.
        if let Some(known) = self.0.iter().find(|known| same(known, &source)) {
            return known.clone();
        }
        source.index = self.0.len() as u64 + 1;
        self.0.push(source.clone());
        source
    }
}

/// Whether two sources are the same: equal document and collection. Sources without a collection,
/// such as web pages, are compared by URL.
fn same(a: &Citation, b: &Citation) -> bool {
    let place = |source: &Citation| match source.kb_id {
        Some(_) => None,
        None => source.url.clone(),
    };
    a.kb_id == b.kb_id && a.title == b.title && place(a) == place(b)
}

/// Reads one source. Members with other types are ignored.
fn read(value: &Value) -> Option<Citation> {
    let map = value.as_map()?;
    let text = |name: &str| map.get(name).and_then(Value::as_str).map(str::to_owned);
    let kb_id = map.get("kb_id").filter(|id| **id != Value::Null);
    let source = Citation {
        index: 0,
        title: text("title").unwrap_or_default(),
        kb_id: kb_id.map(Json::from),
        url: text("url"),
        snippet: text("snippet"),
    };
    (source != Citation::default()).then_some(source)
}

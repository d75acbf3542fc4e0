//! Where an answer is from, as the results of tools say.

use quillet_core::Value;
use serde_json::Value as Json;

use crate::Citation;

/// Sources of one result that are looked at; more are not shown to anybody.
const MOST_PER_RESULT: usize = 1_000;

/// The sources of a run, each once, numbered from 1.
#[derive(Debug, Default)]
pub(crate) struct Sources(Vec<Citation>);

impl Sources {
    /// Takes up the sources that a result names: it is an object with a list
    /// `sources`. Gives those of this result with their numbers in the run.
    pub(crate) fn collect(&mut self, output: &Value) -> Vec<Citation> {
        let listed = output.as_map().and_then(|map| map.get("sources"));
        let Some(Value::List(listed)) = listed else {
            return Vec::new();
        };
        let named = listed.as_slice().iter().take(MOST_PER_RESULT);
        named
            .filter_map(read)
            .map(|source| self.number(source))
            .collect()
    }

    /// All of them.
    pub(crate) fn all(self) -> Vec<Citation> {
        self.0
    }

    fn number(&mut self, mut source: Citation) -> Citation {
        if let Some(known) = self.0.iter().find(|known| same(known, &source)) {
            return known.clone();
        }
        source.index = self.0.len() as u64 + 1;
        self.0.push(source.clone());
        source
    }
}

/// The same document of the same collection. What is in no collection, such as pages of the web, is
/// distinguished by its address.
fn same(a: &Citation, b: &Citation) -> bool {
    let place = |source: &Citation| match source.kb_id {
        Some(_) => None,
        None => source.url.clone(),
    };
    a.kb_id == b.kb_id && a.title == b.title && place(a) == place(b)
}

/// Reads one source; members of another type are left out.
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

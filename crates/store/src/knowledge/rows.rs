//! Tables of documents and passages.

use quillet_core::knowledge::{DocumentInfo, DocumentInput, Passage};
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::passages::passages;
use super::vectors;
use crate::sqlite::SchemaModule;
use crate::tokenize;

/// The index contains preprocessed words and no copy of the texts. Its `ascii` tokenizer splits
/// only at spaces.
pub(crate) static PART: SchemaModule = SchemaModule {
    name: "documents",
    steps: &["
        CREATE TABLE documents (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            collection TEXT NOT NULL,
            name TEXT NOT NULL,
            title TEXT NOT NULL,
            url TEXT,
            summary TEXT,
            characters INTEGER NOT NULL,
            text TEXT NOT NULL,
            UNIQUE (collection, name)) STRICT;
        CREATE TABLE passages (
            number INTEGER PRIMARY KEY AUTOINCREMENT,
            document INTEGER NOT NULL REFERENCES documents ON DELETE CASCADE,
            text TEXT NOT NULL) STRICT;
        CREATE INDEX passages_document ON passages (document);
        CREATE VIRTUAL TABLE passages_index USING fts5 (
            title, words, content = '', contentless_delete = 1, tokenize = 'ascii');
        CREATE TRIGGER passages_removed AFTER DELETE ON passages BEGIN
            DELETE FROM passages_index WHERE rowid = old.number; END;
        CREATE TABLE vectors (
            passage INTEGER NOT NULL REFERENCES passages ON DELETE CASCADE,
            model TEXT NOT NULL,
            vector BLOB NOT NULL,
            PRIMARY KEY (passage, model)) STRICT;"],
};

/// Weight of a word in the title relative to one in the text.
const TITLE_WEIGHT: f64 = 2.0;

/// Condition on the collections of a query, which are a JSON list.
const IN_COLLECTIONS: &str =
    "(?2 = '[]' OR documents.collection IN (SELECT value FROM json_each(?2)))";

/// A document in the form in which it is stored.
#[derive(Debug)]
pub(crate) struct IndexedDocument {
    document: DocumentInput,
    characters: usize,
    /// Words of the title.
    title: String,
    /// Passages with their words.
    passages: Vec<(String, String)>,
    /// Name of the embedding model, and a vector for each passage.
    pub(crate) vectors: Option<(String, Vec<Vec<u8>>)>,
}

impl IndexedDocument {
    pub(crate) fn new(document: DocumentInput, length: usize, overlap: usize) -> Self {
        let cut = passages(&document.text, length, overlap);
        IndexedDocument {
            characters: document.text.chars().count(),
            title: tokenize::indexed(&document.title),
            passages: cut
                .into_iter()
                .map(|text| (text.to_owned(), tokenize::indexed(text)))
                .collect(),
            vectors: None,
            document,
        }
    }

    /// Returns the texts to embed: passages with their context.
    pub(crate) fn texts(&self) -> Vec<String> {
        let title = &self.document.title;
        let text = |(text, _): &(String, String)| format!("{title}\n\n{text}");
        self.passages.iter().map(text).collect()
    }
}

/// Inserts or replaces the document with this name, and returns its number.
pub(crate) fn put(file: &Connection, prepared: &IndexedDocument) -> rusqlite::Result<i64> {
    let DocumentInput {
        collection,
        name,
        title,
        url,
        summary,
        text,
    } = &prepared.document;
    let number: i64 = file.query_row(
        "INSERT INTO documents (collection, name, title, url, summary, characters, text)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
         ON CONFLICT (collection, name) DO UPDATE SET title = excluded.title, url = excluded.url,
         summary = excluded.summary, characters = excluded.characters, text = excluded.text
         RETURNING number",
        params![
            collection,
            name,
            title,
            url,
            summary,
            prepared.characters,
            text
        ],
        |row| row.get(0),
    )?;
    // The row of the document is reused, so its number does not change. Vectors and index entries
    // are deleted by cascade and trigger.
    file.execute("DELETE FROM passages WHERE document = ?1", [number])?;
    let mut passage =
        file.prepare("INSERT INTO passages (document, text) VALUES (?1, ?2) RETURNING number")?;
    let mut index =
        file.prepare("INSERT INTO passages_index (rowid, title, words) VALUES (?1, ?2, ?3)")?;
    let mut vector = file.prepare("INSERT INTO vectors VALUES (?1, ?2, ?3)")?;
    for (place, (text, words)) in prepared.passages.iter().enumerate() {
        let id: i64 = passage.query_row(params![number, text], |row| row.get(0))?;
        index.execute(params![id, prepared.title, words])?;
        if let Some((model, vectors)) = &prepared.vectors
            && let Some(packed) = vectors.get(place)
        {
            vector.execute(params![id, model, packed])?;
        }
    }
    Ok(number)
}

/// Whether the same document is already stored, with vectors of the model if one is given.
pub(crate) fn is_same(
    file: &Connection,
    document: &DocumentInput,
    model: Option<&str>,
) -> rusqlite::Result<bool> {
    let same = file.query_row(
        "SELECT ?6 IS NULL OR NOT EXISTS (SELECT 1 FROM passages WHERE document = documents.number
            AND NOT EXISTS (SELECT 1 FROM vectors WHERE passage = passages.number AND model = ?6))
         FROM documents WHERE collection = ?1 AND name = ?2 AND title = ?3 AND url IS ?4 AND text = ?5",
        params![document.collection, document.name, document.title, document.url, document.text, model],
        |row| row.get(0),
    );
    Ok(same.optional()?.unwrap_or_default())
}

pub(crate) fn remove(file: &Connection, collection: &str, name: &str) -> rusqlite::Result<bool> {
    let delete = "DELETE FROM documents WHERE collection = ?1 AND name = ?2";
    Ok(file.execute(delete, [collection, name])? > 0)
}

pub(crate) fn list(file: &Connection, collection: &str) -> rusqlite::Result<Vec<DocumentInfo>> {
    let mut all = file.prepare(
        "SELECT number, collection, name, title, summary, characters FROM documents
         WHERE collection = ?1 ORDER BY name",
    )?;
    let info = |row: &Row<'_>| {
        Ok(DocumentInfo {
            id: row.get(0)?,
            collection: row.get(1)?,
            name: row.get(2)?,
            title: row.get(3)?,
            summary: row.get(4)?,
            characters: row.get(5)?,
        })
    };
    all.query_map([collection], info)?.collect()
}

/// Reads a document. Characters are counted here, because SQLite's `substr` stops at a NUL.
pub(crate) fn read(
    file: &Connection,
    document: i64,
    offset: u64,
    limit: u64,
) -> rusqlite::Result<Option<String>> {
    let size = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let part = |row: &Row<'_>| {
        let text = row.get_ref(0)?.as_str()?;
        Ok(text.chars().skip(size(offset)).take(size(limit)).collect())
    };
    let text = "SELECT text FROM documents WHERE number = ?1";
    file.query_row(text, [document], part).optional()
}

/// A prepared search.
#[derive(Debug)]
pub(crate) struct SearchQuery {
    /// FTS5 query; `None` if the question has no words.
    pub(crate) query: Option<String>,
    /// JSON list of collections; empty for all.
    pub(crate) collections: String,
    /// Embedding model and the vector of the question.
    pub(crate) meaning: Option<(String, Vec<f32>)>,
    /// Maximum number of passages in each ranking.
    pub(crate) candidates: usize,
    /// Maximum number of passages in the answer.
    pub(crate) most: usize,
}

/// Returns an FTS5 query for any of the words, which consist of letters and digits.
pub(crate) fn query(words: &[String]) -> Option<String> {
    // The words are quoted, so words like OR and NEAR are not FTS5 operators.
    let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
    // OR instead of AND: a question contains words that no passage has.
    (!quoted.is_empty()).then(|| quoted.join(" OR "))
}

pub(crate) fn find(file: &Connection, wanted: &SearchQuery) -> rusqlite::Result<Vec<Passage>> {
    let by_words = by_words(file, wanted)?;
    let best = by_words
        .first()
        .map_or(1.0, |(_, score)| score.max(f64::MIN_POSITIVE));
    let ranked = match &wanted.meaning {
        Some((model, vector)) => {
            let by_words = by_words.into_iter().map(|(number, _)| number).collect();
            let by_meaning = by_meaning(file, wanted, model, vector)?;
            vectors::fused(&[by_words, by_meaning], wanted.most)
        }
        None => {
            let part = |(number, score): (i64, f64)| (number, (score / best).clamp(0.0, 1.0));
            by_words.into_iter().map(part).take(wanted.most).collect()
        }
    };
    let mut passage = file.prepare(
        "SELECT documents.number, collection, title, url, passages.text FROM passages
         JOIN documents ON documents.number = document WHERE passages.number = ?1",
    )?;
    let mut one = |(number, score): (i64, f64)| {
        passage.query_row([number], |row| {
            Ok(Passage {
                document: row.get(0)?,
                collection: row.get(1)?,
                title: row.get(2)?,
                url: row.get(3)?,
                content: row.get(4)?,
                score,
            })
        })
    };
    ranked.into_iter().map(&mut one).collect()
}

/// Returns passages with their scores, best first. FTS5 scores are lower for better matches.
fn by_words(file: &Connection, wanted: &SearchQuery) -> rusqlite::Result<Vec<(i64, f64)>> {
    let Some(query) = &wanted.query else {
        return Ok(Vec::new());
    };
    let mut ranked = file.prepare(&format!(
        "SELECT passages.number, -bm25(passages_index, {TITLE_WEIGHT:.1}, 1.0) AS score
         FROM passages_index JOIN passages ON passages.number = passages_index.rowid
         JOIN documents ON documents.number = document
         WHERE passages_index MATCH ?1 AND {IN_COLLECTIONS}
         ORDER BY score DESC, passages.number LIMIT ?3"
    ))?;
    let values = params![query, wanted.collections, wanted.candidates];
    let pair = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?));
    ranked.query_map(values, pair)?.collect()
}

/// Returns the nearest passages. Every vector of the collections is compared, so the result is
/// exact; 100,000 vectors take a fraction of a second.
fn by_meaning(
    file: &Connection,
    wanted: &SearchQuery,
    model: &str,
    vector: &[f32],
) -> rusqlite::Result<Vec<i64>> {
    let mut all = file.prepare(&format!(
        "SELECT passage, vector FROM vectors JOIN passages ON passages.number = passage
         JOIN documents ON documents.number = document
         WHERE model = ?1 AND {IN_COLLECTIONS}"
    ))?;
    let mut rows = all.query(params![model, wanted.collections])?;
    let mut near = Vec::new();
    while let Some(row) = rows.next()? {
        // A vector with a negative cosine is never an answer, even if there are few others.
        if let Some(cosine) = vectors::cosine(vector, row.get_ref(1)?.as_blob()?)
            && cosine > 0.0
        {
            near.push((row.get(0)?, cosine));
        }
    }
    Ok(vectors::nearest(near, wanted.candidates))
}

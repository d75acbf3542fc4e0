//! Catalogues as chunked bodies. The JSON of 10,000 tables takes tens of megabytes, which should
//! not be in memory together.

use std::io::Write;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use flate2::Compression;
use flate2::write::GzEncoder;
use quillet_sql::Catalogue;
use quillet_sql::catalogue::{DatabaseTable, TableType};
use serde::Serialize;

/// The approximate size of a chunk of JSON in bytes.
const PIECE: usize = 64 << 10;

/// The level of detail of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Detail {
    /// All members.
    Full,
    /// Only name, type and comment.
    Summary,
}

/// A table in a list.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Summary<'a> {
    schema_name: &'a str,
    table_name: &'a str,
    table_type: TableType,
    comment: Option<&'a str>,
}

/// Returns the body, compressed if `gzip` is set.
pub(super) fn body(name: &str, catalogue: Arc<Catalogue>, detail: Detail, gzip: bool) -> Body {
    let pieces = CatalogueStream {
        head: Some(head(name, &catalogue)),
        catalogue,
        detail,
        next: 0,
        gzip: gzip.then(|| GzEncoder::new(Vec::new(), Compression::fast())),
        done: false,
    };
    Body::from_stream(futures_util::stream::iter(pieces))
}

/// Returns the JSON before the tables.
fn head(name: &str, catalogue: &Catalogue) -> Vec<u8> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct CatalogueHeader<'a> {
        name: &'a str,
        db_type: quillet_sql::SqlDialect,
        version: &'a str,
        schemas: &'a [String],
        last_refreshed: jiff::Timestamp,
    }
    let head = CatalogueHeader {
        name,
        db_type: catalogue.dialect,
        version: &catalogue.version,
        schemas: &catalogue.schemas,
        last_refreshed: catalogue.last_refreshed,
    };
    let mut out = serde_json::to_vec(&head).unwrap_or_default();
    // The closing brace is removed, because the tables follow as the last member.
    out.pop();
    out.extend_from_slice(b",\"tables\":[");
    out
}

struct CatalogueStream {
    head: Option<Vec<u8>>,
    catalogue: Arc<Catalogue>,
    detail: Detail,
    next: usize,
    gzip: Option<GzEncoder<Vec<u8>>>,
    done: bool,
}

impl Iterator for CatalogueStream {
    type Item = std::io::Result<Bytes>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.done {
            match self.piece() {
                // The compressor may buffer all of its input and return no bytes.
                Ok(piece) if piece.is_empty() => {}
                Ok(piece) => return Some(Ok(piece.into())),
                Err(error) => {
                    self.done = true;
                    return Some(Err(error));
                }
            }
        }
        None
    }
}

impl CatalogueStream {
    fn piece(&mut self) -> std::io::Result<Vec<u8>> {
        let mut out = self.head.take().unwrap_or_default();
        while out.len() < PIECE
            && let Some(table) = self.catalogue.tables.get(self.next)
        {
            if self.next > 0 {
                out.push(b',');
            }
            self.next += 1;
            write(&mut out, table, self.detail)?;
        }
        if self.next >= self.catalogue.tables.len() {
            out.extend_from_slice(b"]}");
            self.done = true;
        }
        let Some(gzip) = &mut self.gzip else {
            return Ok(out);
        };
        gzip.write_all(&out)?;
        match (self.done, self.gzip.take()) {
            (true, Some(gzip)) => gzip.finish(),
            (_, Some(mut gzip)) => {
                let ready = std::mem::take(gzip.get_mut());
                self.gzip = Some(gzip);
                Ok(ready)
            }
            (_, None) => Ok(Vec::new()),
        }
    }
}

fn write(out: &mut Vec<u8>, table: &DatabaseTable, detail: Detail) -> std::io::Result<()> {
    let summary = Summary {
        schema_name: &table.schema_name,
        table_name: &table.table_name,
        table_type: table.table_type,
        comment: table.comment.as_deref(),
    };
    match detail {
        Detail::Full => serde_json::to_writer(out, table)?,
        Detail::Summary => serde_json::to_writer(out, &summary)?,
    }
    Ok(())
}

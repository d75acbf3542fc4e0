//! Buffers rows until they form a batch.

use crate::Cell;

/// Maximum bytes of buffered rows, regardless of their number.
const MOST: usize = 8 << 20;

#[derive(Debug, Default)]
pub(super) struct RowBuffer {
    rows: Vec<Vec<Cell>>,
    bytes: usize,
}

impl RowBuffer {
    pub(super) fn add(&mut self, mut rows: Vec<Vec<Cell>>) {
        self.bytes += rows.iter().map(|row| bytes(row)).sum::<usize>();
        self.rows.append(&mut rows);
    }

    pub(super) fn is_full(&self, most_rows: usize) -> bool {
        self.rows.len() >= most_rows || self.bytes >= MOST
    }

    pub(super) fn take(&mut self) -> Vec<Vec<Cell>> {
        self.bytes = 0;
        std::mem::take(&mut self.rows)
    }
}

/// Returns the size of a row in memory.
fn bytes(row: &[Cell]) -> usize {
    let values: usize = row.iter().map(value).sum();
    size_of_val(row) + size_of::<Vec<Cell>>() + values
}

fn value(cell: &Cell) -> usize {
    match cell {
        Cell::Text(text) | Cell::Json(text) => text.len(),
        Cell::Bytes(bytes) => bytes.len(),
        Cell::Array(cells) => bytes(cells),
        _ => 0,
    }
}

//! Parses the tables listed in the prompts of `quillet sql`.

use std::collections::HashSet;

use super::vocabulary::words;

/// A table parsed from a prompt.
#[derive(Debug, Default)]
pub(super) struct PromptTable {
    /// Qualified name as written in queries.
    pub(super) name: String,
    /// Name without its schema.
    pub(super) bare: String,
    /// Words of the name.
    pub(super) named: HashSet<String>,
    /// Words at the start of the comment, up to the first space or comma.
    pub(super) title: HashSet<String>,
    /// Words of the comment.
    pub(super) told: HashSet<String>,
    /// Columns, in order.
    pub(super) columns: Vec<PromptColumn>,
}

/// A column parsed from a prompt.
#[derive(Debug, Default)]
pub(super) struct PromptColumn {
    /// Name as written in queries.
    pub(super) name: String,
    /// Type, in lower case.
    pub(super) kind: String,
    /// Whether it is part of the primary key.
    pub(super) is_key: bool,
    /// Referenced table and column.
    pub(super) target: Option<(String, String)>,
    /// Values listed in the prompt.
    pub(super) values: Vec<String>,
    /// Words of the name.
    pub(super) named: HashSet<String>,
    /// Words of the comment.
    pub(super) told: HashSet<String>,
}

impl PromptColumn {
    /// Returns whether the type is numeric.
    pub(super) fn is_number(&self) -> bool {
        const NUMBERS: [&str; 7] = ["int", "real", "floa", "doub", "dec", "num", "money"];
        let is_number = NUMBERS.iter().any(|word| self.kind.contains(word));
        is_number && !self.is_key && self.target.is_none() && !self.named.contains("id")
    }

    /// Returns whether the type is text.
    pub(super) fn is_text(&self) -> bool {
        ["char", "text", "clob", "string"]
            .iter()
            .any(|word| self.kind.contains(word))
    }

    /// Returns whether the column contains place names.
    pub(super) fn is_place(&self) -> bool {
        const PLACES: [&str; 7] = [
            "city",
            "country",
            "region",
            "state",
            "warehouse",
            "城市",
            "国家",
        ];
        PLACES
            .iter()
            .any(|place| self.named.contains(*place) || self.told.contains(*place))
    }

    /// Returns whether the type is a date or a time.
    pub(super) fn is_date(&self) -> bool {
        ["date", "timestamp"]
            .iter()
            .any(|word| self.kind.contains(word))
    }
}

impl PromptTable {
    /// Returns the column that identifies a row for people: a name or title, or else the first text
    /// column.
    pub(super) fn label(&self) -> Option<&PromptColumn> {
        let names = |column: &&PromptColumn| {
            ["name", "title"]
                .iter()
                .any(|word| column.named.contains(*word))
        };
        let mut texts = self
            .columns
            .iter()
            .filter(|column| column.is_text() && column.target.is_none());
        texts
            .clone()
            .find(names)
            .or_else(|| texts.next())
            .or(self.columns.first())
    }
}

/// Parses the tables of a list or a schema.
pub(super) fn tables(text: &str) -> Vec<PromptTable> {
    let mut tables: Vec<PromptTable> = Vec::new();
    for line in text.lines() {
        if let Some(table) = line.strip_prefix("Table: ").and_then(table) {
            tables.push(table);
        } else if let (Some(line), Some(table)) = (line.strip_prefix("  "), tables.last_mut()) {
            table.columns.extend(column(line));
        }
    }
    tables
}

/// Parses `schema.name (type) - comment`.
fn table(line: &str) -> Option<PromptTable> {
    const TYPES: [&str; 4] = [
        " (table)",
        " (view)",
        " (materialized view)",
        " (foreign table)",
    ];
    let ends = TYPES
        .iter()
        .filter_map(|kind| Some((line.find(kind)?, kind.len())));
    let (end, length) = ends.min()?;
    let name = line.get(..end)?;
    let comment = line.get(end + length..)?;
    let comment = comment.strip_prefix(" - ").unwrap_or_default();
    let comment = if comment == "No description" {
        ""
    } else {
        comment
    };
    let bare = parts(name).pop()?;
    Some(PromptTable {
        name: name.to_owned(),
        named: words(bare),
        bare: bare.to_owned(),
        title: words(comment.split([' ', ',', '，', ':', '：']).next()?),
        told: words(comment),
        columns: Vec::new(),
    })
}

/// Parses `name type PK -> schema.table.column in ('a', 'b') -- comment`.
fn column(line: &str) -> Option<PromptColumn> {
    let name = name(line)?;
    let rest = line.get(name.len()..)?;
    let (rest, comment) = rest.split_once(" -- ").unwrap_or((rest, ""));
    let (rest, values) = rest.split_once(" in (").unwrap_or((rest, ""));
    let (rest, target) = rest.split_once(" -> ").unwrap_or((rest, ""));
    let (kind, is_key) = match rest.strip_suffix(" PK") {
        Some(kind) => (kind, true),
        None => (rest, false),
    };
    Some(PromptColumn {
        name: name.to_owned(),
        kind: kind.trim().to_lowercase(),
        is_key,
        target: leads_to(target),
        values: values
            .split('\'')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect(),
        named: words(name),
        told: words(comment),
    })
}

/// Splits `schema.table.column` into the table name and the column name.
fn leads_to(target: &str) -> Option<(String, String)> {
    let column = parts(target)
        .pop()
        .filter(|column| column.len() < target.len())?;
    let table = target.strip_suffix(column)?.strip_suffix('.')?;
    Some((table.to_owned(), column.to_owned()))
}

/// Returns the name at the start of a text, including its quotes.
fn name(text: &str) -> Option<&str> {
    let first = text.chars().next().filter(|first| !" (".contains(*first))?;
    let end = match first {
        '"' | '`' => text.get(1..)?.find(&format!("{first} "))? + 2,
        _ => text.find(' ')?,
    };
    text.get(..end)
}

/// Splits a name at its dots, except inside quotes.
fn parts(name: &str) -> Vec<&str> {
    let mut quote = None;
    let cut = |c: char| {
        if quote == Some(c) {
            quote = None;
        } else if quote.is_none() && "\"`".contains(c) {
            quote = Some(c);
        }
        c == '.' && quote.is_none()
    };
    name.split(cut).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn schemas_are_read() {
        let text = "Table: main.orders (table) - 订单 orders (table)\n  id INTEGER PK -- number\n  \
                    customer_id bigint -> main.\"My Table\".\"The.Id\" -- who\n  \
                    status TEXT in ('new', 'paid')\n\nTable: main.\"My Table\" (view)\n  \"The.Id\" timestamp with time zone";
        let [orders, mine] = tables(text).try_into().unwrap();
        assert_eq!(
            (orders.name.as_str(), orders.bare.as_str()),
            ("main.orders", "orders")
        );
        assert_eq!(
            (mine.name.as_str(), mine.bare.as_str()),
            ("main.\"My Table\"", "\"My Table\"")
        );
        assert!(orders.title.contains("订单") && orders.told.contains("order"));
        let [id, customer, status] = orders.columns.as_slice() else {
            panic!("{orders:?}")
        };
        assert!(id.is_key && id.kind == "integer" && id.told.contains("number"));
        let target = ("main.\"My Table\"".to_owned(), "\"The.Id\"".to_owned());
        assert_eq!(customer.target, Some(target));
        assert_eq!(status.values, ["new", "paid"]);
        assert_eq!(mine.columns[0].name, "\"The.Id\"");
        assert!(mine.columns[0].is_date());
    }
}

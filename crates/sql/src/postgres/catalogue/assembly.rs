//! Assembles query results into tables.

use foldhash::{HashMap, HashMapExt};
use tokio_postgres::{Error, Row};

use crate::SqlDialect;
use crate::catalogue::{DatabaseTable, ForeignKey, TableColumn, TableType};
use crate::values::checks;

type Oid = u32;

/// Results of all catalogue queries.
pub(super) struct CatalogueParts {
    pub(super) relations: Vec<RelationRow>,
    pub(super) columns: Vec<Attribute>,
    pub(super) types: Vec<TypeName>,
    pub(super) bases: Vec<BaseTypeRow>,
    pub(super) labels: Vec<Label>,
    pub(super) notes: Vec<Note>,
    pub(super) keys: Vec<KeyRow>,
    pub(super) checks: Vec<CheckRow>,
}

/// Version and effective search path.
pub(super) struct About {
    pub(super) version: String,
    pub(super) search_path: Vec<String>,
}

impl About {
    pub(super) fn of(row: &Row) -> Result<Self, Error> {
        Ok(About {
            version: row.try_get(0)?,
            search_path: row.try_get(1)?,
        })
    }
}

pub(super) struct RelationRow {
    id: Oid,
    schema: String,
    name: String,
    kind: i8,
    rows: Option<f64>,
}

impl RelationRow {
    pub(super) fn of(row: &Row) -> Result<Self, Error> {
        Ok(RelationRow {
            id: row.try_get(0)?,
            schema: row.try_get(1)?,
            name: row.try_get(2)?,
            kind: row.try_get(3)?,
            rows: row.try_get(4)?,
        })
    }
}

pub(super) struct Attribute {
    relation: Oid,
    number: i16,
    name: String,
    type_: (Oid, i32),
    not_null: bool,
    identity: i8,
    generated: i8,
    default: Option<String>,
}

impl Attribute {
    pub(super) fn of(row: &Row) -> Result<Self, Error> {
        Ok(Attribute {
            relation: row.try_get(0)?,
            number: row.try_get(1)?,
            name: row.try_get(2)?,
            type_: (row.try_get(3)?, row.try_get(4)?),
            not_null: row.try_get(5)?,
            identity: row.try_get(6)?,
            generated: row.try_get(7)?,
            default: row.try_get(8)?,
        })
    }
}

pub(super) struct TypeName {
    type_: (Oid, i32),
    name: String,
}

impl TypeName {
    pub(super) fn of(row: &Row) -> Result<Self, Error> {
        Ok(TypeName {
            type_: (row.try_get(0)?, row.try_get(1)?),
            name: row.try_get(2)?,
        })
    }
}

pub(super) struct BaseTypeRow {
    type_: Oid,
    below: Oid,
    /// Base type of a domain as it is written; `None` for arrays.
    domain_of: Option<String>,
}

impl BaseTypeRow {
    pub(super) fn of(row: &Row) -> Result<Self, Error> {
        Ok(BaseTypeRow {
            type_: row.try_get(0)?,
            below: row.try_get(1)?,
            domain_of: row.try_get(2)?,
        })
    }
}

pub(super) struct Label {
    type_: Oid,
    label: String,
}

impl Label {
    pub(super) fn of(row: &Row) -> Result<Self, Error> {
        Ok(Label {
            type_: row.try_get(0)?,
            label: row.try_get(1)?,
        })
    }
}

pub(super) struct Note {
    relation: Oid,
    number: i32,
    text: String,
}

impl Note {
    pub(super) fn of(row: &Row) -> Result<Self, Error> {
        Ok(Note {
            relation: row.try_get(0)?,
            number: row.try_get(1)?,
            text: row.try_get(2)?,
        })
    }
}

pub(super) struct KeyRow {
    relation: Oid,
    kind: i8,
    columns: Vec<i16>,
    other: Oid,
    other_columns: Option<Vec<i16>>,
}

impl KeyRow {
    pub(super) fn of(row: &Row) -> Result<Self, Error> {
        Ok(KeyRow {
            relation: row.try_get(0)?,
            kind: row.try_get(1)?,
            columns: row.try_get(2)?,
            other: row.try_get(3)?,
            other_columns: row.try_get(4)?,
        })
    }
}

/// A CHECK constraint of one column of a relation, or of a domain.
pub(super) struct CheckRow {
    relation: Oid,
    columns: Option<Vec<i16>>,
    domain: Oid,
    expression: Option<String>,
}

impl CheckRow {
    pub(super) fn of(row: &Row) -> Result<Self, Error> {
        Ok(CheckRow {
            relation: row.try_get(0)?,
            columns: row.try_get(1)?,
            domain: row.try_get(2)?,
            expression: row.try_get(3)?,
        })
    }

    /// Returns the values that the constraint allows, if it is a list.
    fn values(&self) -> Option<Vec<String>> {
        let expression = self.expression.as_deref()?;
        let (_, values) = checks::choice(expression, SqlDialect::PostgreSql)?;
        Some(values)
    }
}

/// A table under construction, with its column numbers. Dropped columns leave gaps in them.
struct TableDraft {
    table: DatabaseTable,
    numbers: Vec<i16>,
}

impl TableDraft {
    /// Returns the index of the column with this number. Columns are sorted by number.
    fn place(&self, number: i16) -> Option<usize> {
        self.numbers.binary_search(&number).ok()
    }

    /// Returns column names; `None` if the role cannot see one of the columns.
    fn names(&self, numbers: &[i16]) -> Option<Vec<String>> {
        let name = |number: &i16| {
            let column = self.table.columns.get(self.place(*number)?)?;
            Some(column.name.clone())
        };
        numbers.iter().map(name).collect()
    }
}

/// Tables under construction, with an index by oid.
struct TableDrafts {
    list: Vec<TableDraft>,
    places: HashMap<Oid, usize>,
}

impl TableDrafts {
    fn find(&mut self, relation: Oid) -> Option<&mut TableDraft> {
        let place = *self.places.get(&relation)?;
        self.list.get_mut(place)
    }
}

impl CatalogueParts {
    /// Returns the tables, sorted by schema and name.
    pub(super) fn tables(self) -> Vec<DatabaseTable> {
        let mut types = Types::of(self.types, self.bases, self.labels);
        types.add(&self.checks);
        let mut drafts = drafts(self.relations);
        let mut columns = self.columns;
        // Sorting here saves the server from sorting all columns.
        columns.sort_unstable_by_key(|column| (column.relation, column.number));
        for attribute in columns {
            if let Some(draft) = drafts.find(attribute.relation) {
                draft.numbers.push(attribute.number);
                draft.table.columns.push(types.column(attribute));
            }
        }
        for note in self.notes {
            comment(&mut drafts, note);
        }
        for key in self.keys {
            self::key(&mut drafts, &key);
        }
        for check in &self.checks {
            self::check(&mut drafts, check);
        }
        let mut tables: Vec<DatabaseTable> =
            drafts.list.into_iter().map(|draft| draft.table).collect();
        tables
            .sort_by(|a, b| (&a.schema_name, &a.table_name).cmp(&(&b.schema_name, &b.table_name)));
        tables
    }
}

fn drafts(relations: Vec<RelationRow>) -> TableDrafts {
    let mut drafts = TableDrafts {
        list: Vec::with_capacity(relations.len()),
        places: HashMap::with_capacity(relations.len()),
    };
    for relation in relations {
        drafts.places.insert(relation.id, drafts.list.len());
        drafts.list.push(TableDraft {
            numbers: Vec::new(),
            table: DatabaseTable {
                schema_name: relation.schema,
                table_name: relation.name,
                table_type: match u8::try_from(relation.kind) {
                    Ok(b'v') => TableType::View,
                    Ok(b'm') => TableType::MaterializedView,
                    Ok(b'f') => TableType::ForeignTable,
                    _ => TableType::Table,
                },
                row_count: relation.rows.map(|rows| rows as u64),
                ..DatabaseTable::default()
            },
        });
    }
    drafts
}

fn comment(drafts: &mut TableDrafts, note: Note) {
    let Some(draft) = drafts.find(note.relation) else {
        return;
    };
    // `pg_description` uses number 0 for the relation itself.
    if note.number == 0 {
        draft.table.comment = Some(note.text);
        return;
    }
    let number = i16::try_from(note.number).ok();
    let place = number.and_then(|number| draft.place(number));
    if let Some(column) = place.and_then(|place| draft.table.columns.get_mut(place)) {
        column.comment = Some(note.text);
    }
}

/// Assigns the values that a CHECK constraint allows to its column, unless the type already lists
/// them.
fn check(drafts: &mut TableDrafts, check: &CheckRow) {
    let (Some(draft), Some([number])) = (drafts.find(check.relation), check.columns.as_deref())
    else {
        return;
    };
    let place = draft.place(*number);
    if let Some(column) = place.and_then(|place| draft.table.columns.get_mut(place))
        && column.values.is_empty()
        && let Some(values) = check.values()
    {
        column.values = values;
    }
}

/// Adds a key to its table, unless it has no columns or refers to a table that the role cannot see.
fn key(drafts: &mut TableDrafts, key: &KeyRow) {
    let foreign = match (key.kind, &key.other_columns) {
        (FOREIGN, Some(columns)) => {
            let other = drafts.find(key.other);
            other.and_then(|other| {
                let names = other.names(columns)?;
                let table = &other.table;
                Some((table.schema_name.clone(), table.table_name.clone(), names))
            })
        }
        _ => None,
    };
    let Some(draft) = drafts.find(key.relation) else {
        return;
    };
    let Some(columns) = draft.names(&key.columns) else {
        return;
    };
    match (key.kind, foreign) {
        (PRIMARY, _) => {
            let keyed = draft.table.columns.iter_mut();
            for column in keyed.filter(|column| columns.contains(&column.name)) {
                column.is_primary_key = true;
            }
        }
        (UNIQUE, _) => draft.table.unique.push(columns),
        (_, Some((ref_schema, ref_table, ref_columns))) => {
            draft.table.foreign_keys.push(ForeignKey {
                columns,
                ref_schema,
                ref_table,
                ref_columns,
            });
        }
        _ => {}
    }
}

const PRIMARY: i8 = b'p' as i8;
const UNIQUE: i8 = b'u' as i8;
const FOREIGN: i8 = b'f' as i8;

/// Information about column types.
struct Types {
    names: HashMap<(Oid, i32), String>,
    bases: HashMap<Oid, BaseTypeRow>,
    labels: HashMap<Oid, Vec<String>>,
}

impl Types {
    fn of(names: Vec<TypeName>, bases: Vec<BaseTypeRow>, labels: Vec<Label>) -> Self {
        let mut by_type: HashMap<Oid, Vec<String>> = HashMap::new();
        for label in labels {
            by_type.entry(label.type_).or_default().push(label.label);
        }
        Types {
            names: names.into_iter().map(|t| (t.type_, t.name)).collect(),
            bases: bases.into_iter().map(|base| (base.type_, base)).collect(),
            labels: by_type,
        }
    }

    /// Adds the values of domains whose CHECK constraint is a list. They are treated like enum
    /// labels.
    fn add(&mut self, checks: &[CheckRow]) {
        for check in checks.iter().filter(|check| check.relation == 0) {
            if let Some(values) = check.values() {
                self.labels.entry(check.domain).or_insert(values);
            }
        }
    }

    fn column(&self, attribute: Attribute) -> TableColumn {
        let (type_, _) = attribute.type_;
        let domain = self
            .bases
            .get(&type_)
            .and_then(|base| base.domain_of.as_deref());
        let extra = match (u8::try_from(attribute.identity), attribute.generated) {
            (Ok(b'a' | b'd'), _) => Some("identity".to_owned()),
            (_, generated) if generated != 0 => Some("generated".to_owned()),
            _ => domain.map(|base| format!("domain of {base}")),
        };
        TableColumn {
            name: attribute.name,
            data_type: self
                .names
                .get(&attribute.type_)
                .cloned()
                .unwrap_or_default(),
            is_nullable: !attribute.not_null,
            is_primary_key: false,
            default_value: attribute.default,
            comment: None,
            extra,
            values: self.values(type_),
        }
    }

    /// Returns the labels of an enum, also through domains and arrays.
    fn values(&self, mut type_: Oid) -> Vec<String> {
        // Domains are rarely nested and cannot form a cycle. The bound ends the loop even if they
        // did.
        for _ in 0..16 {
            if let Some(labels) = self.labels.get(&type_) {
                return labels.clone();
            }
            match self.bases.get(&type_) {
                Some(base) => type_ = base.below,
                None => return Vec::new(),
            }
        }
        Vec::new()
    }
}

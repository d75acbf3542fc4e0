//! Question files: databases as lists of tables, and questions with the tables that a right query
//! reads.

use std::path::Path;
use std::sync::Arc;

use quillet_core::ErrorCode;
use serde::Deserialize;

use crate::catalogue::{DatabaseTable, ForeignKey, TableColumn};
use crate::{Catalogue, SqlDialect, SqlError};

/// Maximum file size in bytes.
const LARGEST_FILE: u64 = 256 << 20;

/// Scope in which the tables of a question are ranked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SearchScope {
    /// The question's own database.
    #[default]
    Db,
    /// All databases of the file together, as schemas of one database.
    Union,
}

/// A database of a question file.
#[derive(Clone, Debug)]
pub struct SuiteDatabase {
    /// Name that questions refer to.
    pub name: String,
    /// Its tables.
    pub catalogue: Arc<Catalogue>,
}

/// A question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SuiteQuestion {
    /// Id of the question in the file.
    pub id: String,
    /// Name of the question's database.
    pub database: String,
    /// Text of the question.
    pub question: String,
    /// Tables that a correct query reads, as `schema.table`.
    pub gold: Vec<String>,
    /// A reference query, if the file contains one for this question.
    pub sql: Option<String>,
}

/// A question file.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Name of the suite.
    pub name: String,
    /// Default scope of the ranking.
    pub scope: SearchScope,
    /// Databases of the file.
    pub databases: Vec<SuiteDatabase>,
    /// Questions of the file.
    pub questions: Vec<SuiteQuestion>,
}

#[derive(Deserialize)]
struct SuiteFile {
    #[serde(default)]
    name: String,
    #[serde(default)]
    scope: SearchScope,
    #[serde(default)]
    databases: Vec<FileDatabase>,
    questions: Vec<FileQuestion>,
}

#[derive(Deserialize)]
struct FileDatabase {
    db_id: String,
    tables: Vec<FileTable>,
    #[serde(default)]
    fks: Vec<[String; 4]>,
}

#[derive(Deserialize)]
struct FileTable {
    schema: String,
    name: String,
    #[serde(default)]
    comment: Option<String>,
    columns: Vec<Vec<Option<String>>>,
    #[serde(default)]
    pk: Vec<String>,
}

#[derive(Deserialize)]
struct FileQuestion {
    id: String,
    db_id: String,
    question: String,
    gold: Vec<String>,
    #[serde(default)]
    sql: Option<String>,
}

impl Suite {
    /// Reads a question file. If the file has no databases, the databases are read from
    /// `<prefix>_union.json` in the same folder. The prefix is the part of the file's name before
    /// the first `_`.
    ///
    /// # Errors
    /// Fails if the file is missing, too large or invalid.
    pub fn open(path: &Path) -> Result<Self, SqlError> {
        let mut file: SuiteFile = read_json(path)?;
        if file.databases.is_empty() {
            let beside = read_json::<SuiteFile>(&beside(path)).map_err(|error| {
                invalid(format!(
                    "{} has no databases of its own, and the file beside it is not usable: {error}",
                    path.display()
                ))
            })?;
            file.databases = beside.databases;
        }
        let databases = file.databases.into_iter().map(set).collect();
        let suite = Suite::new(file.name, file.scope, databases, file.questions);
        suite.map_err(|message| invalid(format!("{}: {message}", path.display())))
    }

    /// Reads a question file for an existing catalogue. If the file has no databases, every
    /// database name stands for the tables of this catalogue.
    ///
    /// # Errors
    /// Same as [`Suite::open`].
    pub fn over(path: &Path, catalogue: &Arc<Catalogue>) -> Result<Self, SqlError> {
        let file: SuiteFile = read_json(path)?;
        let mut databases: Vec<SuiteDatabase> = file.databases.into_iter().map(set).collect();
        if databases.is_empty() {
            let mut names: Vec<&str> = file.questions.iter().map(|q| q.db_id.as_str()).collect();
            names.sort_unstable();
            names.dedup();
            let named = names.into_iter().map(|name| SuiteDatabase {
                name: name.to_owned(),
                catalogue: catalogue.clone(),
            });
            databases = named.collect();
        }
        let suite = Suite::new(file.name, file.scope, databases, file.questions);
        suite.map_err(|message| invalid(format!("{}: {message}", path.display())))
    }

    /// Returns the suite, reduced to the questions for the accepted databases. All tables are
    /// retained.
    #[must_use]
    pub fn only(&self, wanted: impl Fn(&str) -> bool) -> Self {
        let questions = self.questions.iter().filter(|q| wanted(&q.database));
        Suite {
            questions: questions.cloned().collect(),
            ..self.clone()
        }
    }

    fn new(
        name: String,
        scope: SearchScope,
        databases: Vec<SuiteDatabase>,
        questions: Vec<FileQuestion>,
    ) -> Result<Self, String> {
        let question = |q: FileQuestion| {
            let known = databases.iter().find(|set| set.name == q.db_id);
            let set = known.ok_or_else(|| {
                format!(
                    "question {:?} names the unknown database {:?}",
                    q.id, q.db_id
                )
            })?;
            let gold = q
                .gold
                .iter()
                .map(|name| qualified(&set.catalogue, name, &q.id));
            Ok(SuiteQuestion {
                gold: gold.collect::<Result<_, String>>()?,
                id: q.id,
                database: q.db_id,
                question: q.question,
                sql: q.sql,
            })
        };
        let questions = questions.into_iter().map(question);
        let questions = questions.collect::<Result<_, String>>()?;
        Ok(Suite {
            name,
            scope,
            questions,
            databases,
        })
    }

    /// Returns the catalogues in which questions are ranked, each with the indexes of its
    /// questions.
    pub(super) fn scopes(&self, scope: SearchScope) -> Vec<(Arc<Catalogue>, Vec<usize>)> {
        let of = |wanted: &dyn Fn(&str) -> bool| {
            let all = (0..self.questions.len()).filter(|i| wanted(&self.questions[*i].database));
            all.collect::<Vec<usize>>()
        };
        match scope {
            SearchScope::Db => self
                .databases
                .iter()
                .map(|set| (set.catalogue.clone(), of(&|name| name == set.name)))
                .filter(|(_, asked)| !asked.is_empty())
                .collect(),
            SearchScope::Union => {
                let tables = self
                    .databases
                    .iter()
                    .flat_map(|set| set.catalogue.tables.iter().cloned());
                vec![(Arc::new(catalogue(tables.collect())), of(&|_| true))]
            }
        }
    }
}

fn set(database: FileDatabase) -> SuiteDatabase {
    let schema = |table: &str| {
        let found = database.tables.iter().find(|t| t.name == table);
        found.map(|t| t.schema.clone()).unwrap_or_default()
    };
    let keys = |table: &str| {
        let own = database.fks.iter().filter(|[from, ..]| from == table);
        own.map(|[_, column, to, target]| ForeignKey {
            columns: vec![column.clone()],
            ref_schema: schema(to),
            ref_table: to.clone(),
            ref_columns: vec![target.clone()],
        })
        .collect()
    };
    let tables = database.tables.iter().map(|table| DatabaseTable {
        schema_name: table.schema.clone(),
        table_name: table.name.clone(),
        comment: table.comment.clone(),
        columns: table
            .columns
            .iter()
            .map(|column| self::column(column, &table.pk))
            .collect(),
        foreign_keys: keys(&table.name),
        ..DatabaseTable::default()
    });
    SuiteDatabase {
        catalogue: Arc::new(catalogue(tables.collect())),
        name: database.db_id,
    }
}

/// Parses `[name, type?, comment?]`.
fn column(parts: &[Option<String>], keys: &[String]) -> TableColumn {
    let part = |i: usize| parts.get(i).cloned().flatten();
    let name = part(0).unwrap_or_default();
    TableColumn {
        is_primary_key: keys.contains(&name),
        data_type: part(1).unwrap_or_default(),
        comment: part(2),
        name,
        ..TableColumn::default()
    }
}

fn catalogue(tables: Vec<DatabaseTable>) -> Catalogue {
    Catalogue::new(
        SqlDialect::PostgreSql,
        String::new(),
        Vec::new(),
        tables,
        String::new(),
    )
}

fn qualified(catalogue: &Catalogue, name: &str, question: &str) -> Result<String, String> {
    let split = name.split_once('.');
    let found = split.map(|(schema, table)| catalogue.find(Some(schema), table));
    let found = found.filter(|found| !found.is_empty());
    let found = found.unwrap_or_else(|| catalogue.find(None, name));
    let table = found.first().and_then(|i| catalogue.tables.get(*i));
    let missing = || format!("question {question:?} names the unknown table {name:?}");
    table.map(DatabaseTable::qualified).ok_or_else(missing)
}

fn beside(path: &Path) -> std::path::PathBuf {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let family = stem.split('_').next().unwrap_or_default();
    path.with_file_name(format!("{family}_union.json"))
}

pub(super) fn read_json<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, SqlError> {
    let named = |reason: String| invalid(format!("{}: {reason}", path.display()));
    let size = std::fs::metadata(path)
        .map_err(|e| named(e.to_string()))?
        .len();
    if size > LARGEST_FILE {
        return Err(named(format!(
            "the file is too large: {size} bytes (limit {LARGEST_FILE})"
        )));
    }
    let text = std::fs::read_to_string(path).map_err(|e| named(e.to_string()))?;
    serde_json::from_str(&text).map_err(|e| named(e.to_string()))
}

pub(super) fn invalid(message: String) -> SqlError {
    SqlError::Invalid {
        code: ErrorCode::SqlInvalidEval,
        message,
    }
}

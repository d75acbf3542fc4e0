//! Looks up tables in WITH and in the catalogue, and suggests a name if there is none.

use std::rc::Rc;

use quillet_core::ErrorCode;
use sqlparser::ast::{Ident, ObjectName, ObjectNamePart, Spanned};

use super::super::GuardError;
use super::super::relations::{self, RelationName};
use super::checker::Checker;
use super::frame::{Columns, columns_from};
use crate::{Catalogue, SqlDialect};

/// Meaning of a name in FROM.
enum NameMeaning {
    /// A table of WITH.
    Cte(Option<Rc<Columns>>),
    /// A table of the catalogue, by index.
    Table(usize),
    /// An item that is not looked up.
    Unchecked,
    /// An unknown table.
    Unknown(Box<GuardError>),
}

impl Checker<'_> {
    /// Records that a table is read.
    pub(super) fn read_table(&mut self, name: &ObjectName) -> Result<(), GuardError> {
        let parts = relations::parts(self.text, name)?;
        let read = match self.meaning(name) {
            NameMeaning::Cte(_) => return Ok(()),
            NameMeaning::Unknown(error) => return Err(*error),
            NameMeaning::Table(i) => {
                let table = self.catalogue.and_then(|catalogue| catalogue.tables.get(i));
                table.map_or_else(
                    || parts.join("."),
                    crate::catalogue::DatabaseTable::qualified,
                )
            }
            NameMeaning::Unchecked
                if relations::class(self.text.dialect, &parts) != RelationName::Own =>
            {
                return Ok(());
            }
            NameMeaning::Unchecked => parts.join("."),
        };
        if !self.read.contains(&read) {
            self.read.push(read);
        }
        Ok(())
    }

    /// Returns the columns of a table; `None` if they are uncertain.
    pub(super) fn columns_of(&mut self, name: &ObjectName) -> Option<Rc<Columns>> {
        match self.meaning(name) {
            NameMeaning::Cte(columns) => columns,
            NameMeaning::Table(i) => self.columns_in_catalogue(i),
            NameMeaning::Unchecked | NameMeaning::Unknown(_) => None,
        }
    }

    fn columns_in_catalogue(&mut self, i: usize) -> Option<Rc<Columns>> {
        if let Some(known) = self.known.get(&i) {
            return Some(known.clone());
        }
        let table = self.catalogue?.tables.get(i)?;
        // An empty list means that the columns were not read, not that the table has none.
        if table.columns.is_empty() {
            return None;
        }
        let names = table
            .columns
            .iter()
            .map(|c| (c.name.clone(), self.stored_key(&c.name)));
        let columns = Rc::new(columns_from(names.collect()));
        self.known.insert(i, columns.clone());
        Some(columns)
    }

    fn meaning(&self, name: &ObjectName) -> NameMeaning {
        let idents: Option<Vec<&Ident>> = name.0.iter().map(plain).collect();
        let Some(idents) = idents else {
            return NameMeaning::Unchecked;
        };
        // Only unqualified names can refer to a table of WITH, and the innermost WITH wins.
        if let [bare] = idents.as_slice() {
            let key = self.key(bare);
            let ctes = self
                .frames
                .iter()
                .rev()
                .find_map(|frame| frame.ctes.get(&key));
            if let Some(columns) = ctes {
                return NameMeaning::Cte(columns.clone());
            }
        }
        let Some(catalogue) = self.catalogue else {
            return NameMeaning::Unchecked;
        };
        let parts: Vec<String> = idents.iter().map(|ident| ident.value.clone()).collect();
        if relations::class(self.text.dialect, &parts) != RelationName::Own || self.is_dual(&idents)
        {
            return NameMeaning::Unchecked;
        }
        match idents.as_slice() {
            [bare] => self.bare(catalogue, bare, name),
            [.., schema, table] => self.qualified(catalogue, schema, table, name),
            [] => NameMeaning::Unchecked,
        }
    }

    /// Returns whether it is MySQL's DUAL, the table with one row and no columns.
    fn is_dual(&self, idents: &[&Ident]) -> bool {
        self.text.dialect == SqlDialect::MySql
            && matches!(idents, [one] if one.value.eq_ignore_ascii_case("dual"))
    }

    /// Returns the indexes of the tables with this name, by the server's comparison rules.
    fn same(&self, catalogue: &Catalogue, schema: Option<&Ident>, table: &Ident) -> Vec<usize> {
        let schema_key = schema.map(|schema| self.key(schema));
        let key = self.key(table);
        let mut found = catalogue.find(schema_key.as_deref(), &key);
        found.retain(|i| {
            catalogue.tables.get(*i).is_some_and(|t| {
                let schema = schema_key.as_ref();
                self.stored_key(&t.table_name) == key
                    && schema.is_none_or(|s| *s == self.stored_key(&t.schema_name))
            })
        });
        found
    }

    fn qualified(
        &self,
        catalogue: &Catalogue,
        schema: &Ident,
        table: &Ident,
        name: &ObjectName,
    ) -> NameMeaning {
        match self.same(catalogue, Some(schema), table).first() {
            Some(i) => NameMeaning::Table(*i),
            None => {
                NameMeaning::Unknown(Box::new(self.unknown(catalogue, Some(schema), table, name)))
            }
        }
    }

    fn bare(&self, catalogue: &Catalogue, table: &Ident, name: &ObjectName) -> NameMeaning {
        let found = self.same(catalogue, None, table);
        let schema_of = |i: &usize| catalogue.tables.get(*i).map(|t| t.schema_name.as_str());
        let path = &catalogue.search_path;
        let on_path = path
            .iter()
            .find_map(|schema| found.iter().find(|i| schema_of(i) == Some(schema.as_str())));
        match (on_path, found.as_slice()) {
            (Some(i), _) => NameMeaning::Table(*i),
            (None, []) => {
                NameMeaning::Unknown(Box::new(self.unknown(catalogue, None, table, name)))
            }
            // PostgreSQL finds unqualified names only on the search path. The other servers have no
            // search path.
            (None, [only]) if path.is_empty() || self.text.dialect != SqlDialect::PostgreSql => {
                NameMeaning::Table(*only)
            }
            (None, several) => {
                NameMeaning::Unknown(Box::new(self.elsewhere(catalogue, several, name)))
            }
        }
    }

    /// Returns the error for a table that exists only in schemas outside the search path.
    fn elsewhere(&self, catalogue: &Catalogue, found: &[usize], name: &ObjectName) -> GuardError {
        let names = found.iter().filter_map(|i| catalogue.tables.get(*i));
        let names: Vec<String> = names.take(3).map(|t| self.query_name(t)).collect();
        let (code, message) = match names.len() {
            1 => (
                ErrorCode::GuardTable,
                format!("the table {name} is not on the search path"),
            ),
            _ => (
                ErrorCode::GuardAmbiguous,
                format!("ambiguous table name {name}"),
            ),
        };
        self.error(code, message, name.span())
            .help(format!("write {}", names.join(" or ")))
    }

    fn unknown(
        &self,
        catalogue: &Catalogue,
        schema: Option<&Ident>,
        table: &Ident,
        name: &ObjectName,
    ) -> GuardError {
        let error = self.error(
            ErrorCode::GuardTable,
            format!("unknown table {name}"),
            name.span(),
        );
        let schema_name = schema.map(|schema| schema.value.as_str());
        let by_case = catalogue.find(schema_name, &table.value);
        if let Some(other) = by_case.first().and_then(|i| catalogue.tables.get(*i)) {
            return error.help(format!("write {}", self.query_name(other)));
        }
        // Models often invent the schema, so the same table in another schema is the most likely
        // meaning.
        let anywhere = catalogue.find(None, &table.value);
        if let Some(other) = anywhere.first().and_then(|i| catalogue.tables.get(*i)) {
            return error.help(format!("did you mean {}?", self.query_name(other)));
        }
        match catalogue.nearest(&table.value) {
            Some(near) => error.help(format!("did you mean {near}?")),
            None => error,
        }
    }

    /// Returns a table name as a query must write it: qualified if its schema is not on the search
    /// path.
    fn query_name(&self, table: &crate::catalogue::DatabaseTable) -> String {
        let dialect = self.text.dialect;
        let name = crate::chain::quoted(&table.table_name, dialect);
        let needs_schema = dialect == SqlDialect::PostgreSql
            && self
                .catalogue
                .is_some_and(|c| !c.search_path.contains(&table.schema_name));
        if needs_schema {
            format!(
                "{}.{name}",
                crate::chain::quoted(&table.schema_name, dialect)
            )
        } else {
            name
        }
    }
}

fn plain(part: &ObjectNamePart) -> Option<&Ident> {
    match part {
        ObjectNamePart::Identifier(ident) => Some(ident),
        ObjectNamePart::Function(_) => None,
    }
}

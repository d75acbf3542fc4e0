//! Builds scopes: the tables and names that are visible in each part of a query.

use std::rc::Rc;

use sqlparser::ast::{
    Cte, Expr, Ident, JoinConstraint, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    SetExpr, TableAlias, TableFactor, TableWithJoins,
};

use super::checker::Checker;
use super::frame::{Columns, ScopeFrame, ScopeSource, columns_from, constraint, last};

/// Maximum number of tables in one FROM whose columns are checked. Checking each name against each
/// table would take quadratic time. SQLite joins up to 64 tables, MySQL 61.
const SOURCES: usize = 256;

impl Checker<'_> {
    /// Returns the scope of a query: its WITH, the tables of its SELECT, and its output names.
    pub(super) fn frame_of(&mut self, query: &Query) -> ScopeFrame {
        let parent = self.frames.last();
        let hidden = |parent: &ScopeFrame| parent.isolated.contains(&std::ptr::from_ref(query));
        let mut frame = ScopeFrame {
            is_query: true,
            hides_parent: parent.is_some_and(hidden),
            ..ScopeFrame::default()
        };
        // Tables of WITH can refer to each other, so each is resolved with the scope built so far.
        self.frames.push(frame);
        for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
            self.add_cte(cte);
        }
        frame = self.frames.pop().unwrap_or_default();
        match query.body.as_ref() {
            SetExpr::Select(select) => {
                self.frames.push(frame);
                let mut inner = ScopeFrame::default();
                self.fill(&mut inner, select);
                frame = self.frames.pop().unwrap_or_default();
                let isolated = std::mem::take(&mut inner.isolated);
                frame.isolated.extend(isolated);
                ScopeFrame {
                    ctes: frame.ctes,
                    isolated: frame.isolated,
                    hides_parent: frame.hides_parent,
                    is_query: true,
                    ..inner
                }
            }
            body => {
                self.frames.push(frame);
                let outputs = self.outputs_of_body(body);
                frame = self.frames.pop().unwrap_or_default();
                match outputs {
                    Some(columns) => frame.aliases = columns.keys.clone(),
                    None => frame.open = true,
                }
                frame
            }
        }
    }

    fn add_cte(&mut self, cte: &Cte) {
        let key = self.key(&cte.alias.name);
        if let Some(frame) = self.frames.last_mut() {
            // Until its own columns are known, the table accepts any column, because its query may
            // refer to itself.
            frame.ctes.insert(key.clone(), None);
            frame.isolated.insert(std::ptr::from_ref(&*cte.query));
        }
        let columns = self.outputs(&cte.query);
        let columns = self.renamed(columns, Some(&cte.alias));
        if let Some(frame) = self.frames.last_mut() {
            frame.ctes.insert(key, columns);
        }
    }

    /// Adds the tables of a SELECT and its output names.
    pub(super) fn fill(&mut self, frame: &mut ScopeFrame, select: &Select) {
        frame.select = Some(std::ptr::from_ref(select));
        for table in &select.from {
            self.add_joined(frame, table);
        }
        // Beyond this limit, any name passes. A slow check would be worse than an unknown column
        // that the database reports.
        frame.open |= frame.sources.len() > SOURCES;
        for item in &select.projection {
            let alias = match item {
                SelectItem::ExprWithAlias { alias, .. } => alias,
                SelectItem::UnnamedExpr(Expr::Identifier(ident)) => ident,
                SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => match parts.last() {
                    Some(last) => last,
                    None => continue,
                },
                _ => continue,
            };
            // A bare column does not define a new name; it must exist in the tables.
            if matches!(item, SelectItem::ExprWithAlias { .. }) {
                frame.aliases.insert(self.key(alias));
            }
        }
    }

    fn add_joined(&mut self, frame: &mut ScopeFrame, table: &TableWithJoins) {
        self.add_factor(frame, &table.relation);
        for join in &table.joins {
            self.add_factor(frame, &join.relation);
            match constraint(&join.join_operator) {
                Some(JoinConstraint::Natural) => frame.natural = true,
                Some(JoinConstraint::Using(names)) => {
                    let keys = names.iter().filter_map(last).map(|ident| self.key(ident));
                    frame.merged.extend(keys);
                }
                _ => {}
            }
        }
    }

    fn add_factor(&mut self, frame: &mut ScopeFrame, factor: &TableFactor) {
        let (name, columns) = match factor {
            TableFactor::Table {
                name,
                alias,
                args: None,
                ..
            } => {
                let columns = self.columns_of(name);
                let columns = self.renamed(columns, alias.as_ref());
                (self.alias_or_name(alias.as_ref(), last(name)), columns)
            }
            TableFactor::Table { name, alias, .. } | TableFactor::Function { name, alias, .. } => {
                (self.alias_or_name(alias.as_ref(), last(name)), None)
            }
            TableFactor::Derived {
                lateral,
                subquery,
                alias,
                ..
            } => {
                // Without LATERAL, a subquery in FROM cannot see its sibling tables.
                if !lateral {
                    frame.isolated.insert(std::ptr::from_ref(&**subquery));
                }
                let columns = self.outputs(subquery);
                (
                    self.alias_or_name(alias.as_ref(), None),
                    self.renamed(columns, alias.as_ref()),
                )
            }
            TableFactor::NestedJoin {
                table_with_joins,
                alias: None,
            } => {
                return self.add_joined(frame, table_with_joins);
            }
            TableFactor::NestedJoin { alias, .. }
            | TableFactor::UNNEST { alias, .. }
            | TableFactor::TableFunction { alias, .. }
            | TableFactor::JsonTable { alias, .. }
            | TableFactor::XmlTable { alias, .. } => {
                (self.alias_or_name(alias.as_ref(), None), None)
            }
            _ => {
                frame.open = true;
                return;
            }
        };
        frame.sources.push(ScopeSource { name, columns });
    }

    fn alias_or_name(&self, alias: Option<&TableAlias>, name: Option<&Ident>) -> Option<String> {
        let ident = alias.map(|alias| &alias.name).or(name)?;
        Some(self.key(ident))
    }

    /// Renames the first columns as an alias specifies.
    fn renamed(
        &self,
        columns: Option<Rc<Columns>>,
        alias: Option<&TableAlias>,
    ) -> Option<Rc<Columns>> {
        let new = alias
            .map(|alias| alias.columns.as_slice())
            .unwrap_or_default();
        if new.is_empty() {
            return columns;
        }
        let columns = columns?;
        let mut names: Vec<(String, String)> = new
            .iter()
            .map(|column| (column.name.value.clone(), self.key(&column.name)))
            .collect();
        for name in columns.names.iter().skip(new.len()) {
            names.push((name.clone(), self.stored_key(name)));
        }
        Some(Rc::new(columns_from(names)))
    }

    /// Returns the output columns of a query; `None` if they are uncertain.
    fn outputs(&mut self, query: &Query) -> Option<Rc<Columns>> {
        let frame = self.frame_of(query);
        self.frames.push(frame);
        let outputs = self.outputs_of_body(&query.body);
        self.frames.pop();
        outputs
    }

    fn outputs_of_body(&mut self, mut body: &SetExpr) -> Option<Rc<Columns>> {
        // The first part of a set operation determines the column names.
        while let SetExpr::SetOperation { left, .. } = body {
            body = left;
        }
        match body {
            SetExpr::Select(select) => self.outputs_of_select(select),
            SetExpr::Query(query) => self.outputs(query),
            _ => None,
        }
    }

    fn outputs_of_select(&mut self, select: &Select) -> Option<Rc<Columns>> {
        let mut frame = ScopeFrame::default();
        let here = self.frames.last().is_some_and(|frame| frame.is_of(select));
        if !here {
            self.fill(&mut frame, select);
        }
        let frame = if here { self.frames.last()? } else { &frame };
        let mut names = Vec::new();
        for item in &select.projection {
            self.add_outputs(&mut names, frame, item)?;
        }
        Some(Rc::new(columns_from(names)))
    }

    /// Adds the columns of one item; `None` if its name is unknown.
    fn add_outputs(
        &self,
        names: &mut Vec<(String, String)>,
        frame: &ScopeFrame,
        item: &SelectItem,
    ) -> Option<()> {
        let ident = match item {
            SelectItem::ExprWithAlias { alias, .. } => alias,
            SelectItem::UnnamedExpr(Expr::Identifier(ident)) => ident,
            SelectItem::UnnamedExpr(Expr::CompoundIdentifier(parts)) => parts.last()?,
            SelectItem::UnnamedExpr(Expr::Function(function))
                if self.text.dialect == crate::SqlDialect::PostgreSql =>
            {
                last(&function.name)?
            }
            SelectItem::Wildcard(_) if !frame.open => {
                for source in &frame.sources {
                    self.add_all(names, source)?;
                }
                return Some(());
            }
            SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) => {
                let key = self.key(last(name)?);
                let source = frame
                    .sources
                    .iter()
                    .find(|s| s.name.as_ref() == Some(&key))?;
                return self.add_all(names, source);
            }
            _ => return None,
        };
        names.push((ident.value.clone(), self.key(ident)));
        Some(())
    }

    fn add_all(&self, names: &mut Vec<(String, String)>, source: &ScopeSource) -> Option<()> {
        let columns = source.columns.as_ref()?;
        for name in &columns.names {
            names.push((name.clone(), self.stored_key(name)));
        }
        Some(())
    }
}

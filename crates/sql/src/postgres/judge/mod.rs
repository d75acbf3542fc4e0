//! The server-side check of queries on PostgreSQL. It does not parse any text. Before a query runs,
//! the server reports what the query resolved to, and the check compares that with allowlists.
//!
//! In a transaction that is rolled back, a temporary view is created from the query. The view's
//! rule names every function, operator, type and relation by oid, regardless of the names and
//! notations in the text ([`tree`], [`references`]). The catalogue describes these objects
//! ([`facts`]), and [`allowlist`] decides about them. The rules of views in the query are checked
//! in the same way, because they run with the privileges of their owners.
//!
//! On a standby, or without the privilege to create temporary relations, the server prints the same
//! tree with `debug_print_parse`. That output also goes to the server's log.
//!
//! The check does not see code that runs outside the query's own tree: input and output functions
//! of types, row security policies, and functions called by other functions. The database owner
//! chose those.

mod allowlist;
mod facts;
pub(super) mod policy;
mod references;
mod tree;

use std::collections::{HashMap, HashSet};

use tokio_postgres::Row;

use super::error;
use super::query_text::without_semicolon;
use super::session::PostgresSession;
use crate::database::SecondJudge;
use crate::guard::{self, GuardMode, Policy};
use crate::{DatabaseError, DatabaseErrorKind as Kind, SqlDialect};
use allowlist::Author;
use facts::{CatalogFacts, FactsQuery};
use policy::{BY_HAND, JudgePolicy};
use references::{FunctionUse, ReferencedObjects, UnknownNode};

/// Maximum bytes of a tree and of its facts on the wire.
const TREE: u64 = 64 << 20;

/// Maximum depth of views that refer to other views.
const DEEPEST: usize = 64;

/// Makes operators in the driver's own queries resolve to those of the server, regardless of the
/// search path.
const OWN_NAMES: &str = "SET LOCAL search_path = pg_catalog, pg_temp";

/// The session's role, and the checks that the server supports.
#[derive(Clone, Debug)]
pub(super) struct SessionRole {
    role: String,
    /// Privileges that reach beyond the database, phrased to complete an error message.
    powers: Vec<String>,
    passes_row_security: bool,
    is_standby: bool,
    may_make_views: bool,
}

const ASKER: &str = "
SELECT r.rolname::pg_catalog.text, r.rolsuper, r.rolreplication, r.rolbypassrls,
    pg_catalog.pg_is_in_recovery(),
    pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMP'),
    ARRAY(
        SELECT m.rolname::pg_catalog.text FROM pg_catalog.pg_roles m
        WHERE m.rolname IN ('pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
        AND pg_catalog.pg_has_role(m.oid, 'MEMBER') ORDER BY 1
    )
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user";

impl SessionRole {
    /// Queries the session's role.
    pub(super) async fn of(session: &PostgresSession) -> Result<SessionRole, DatabaseError> {
        let rows = session.client.query_typed(ASKER, &[]).await;
        let rows = rows.map_err(|error| error::of(&error))?;
        let asker = rows.first().map(asker).transpose();
        asker
            .map_err(|error| error::of(&error))?
            .ok_or_else(|| unjudged("cannot read the privileges of the role from the server", ""))
    }

    /// Rejects roles with privileges beyond the database.
    pub(super) fn check(&self, allowed: &JudgePolicy) -> Result<(), DatabaseError> {
        if allowed.powerful_roles || self.powers.is_empty() {
            return Ok(());
        }
        let mut error = DatabaseError::new(
            Kind::Role,
            format!(
                "rejected role {:?}: it {}, which reaches outside the database",
                self.role,
                self.powers.join(" and ")
            ),
        );
        error.hint = Some(
            "connect with a role that may only SELECT (quillet sql test prints how to create one), \
             or set sql.powerful_roles"
                .to_owned(),
        );
        Err(error)
    }
}

fn asker(row: &Row) -> Result<SessionRole, tokio_postgres::Error> {
    let is_super: bool = row.try_get(1)?;
    let mut powers = Vec::new();
    if is_super {
        powers.push("is a superuser".to_owned());
    }
    if row.try_get(2)? && !is_super {
        powers.push("may replicate the server".to_owned());
    }
    let roles: Vec<String> = row.try_get(6)?;
    if !roles.is_empty() && !is_super {
        powers.push(format!("has the privileges of {}", roles.join(", ")));
    }
    Ok(SessionRole {
        role: row.try_get(0)?,
        powers,
        passes_row_security: row.try_get(3)?,
        is_standby: row.try_get(4)?,
        may_make_views: row.try_get(5)?,
    })
}

/// Kind of a statement.
enum CheckedStatementKind {
    /// A query, with the byte offset of its start.
    Query(usize),
    /// A SHOW of a harmless setting.
    Shows,
}

fn subject(sql: &str) -> CheckedStatementKind {
    let show = Policy {
        mode: GuardMode::Explore,
        rows: None,
        ..Policy::default()
    };
    let is_show = || {
        let word = sql.trim_start().get(..4).unwrap_or_default();
        word.eq_ignore_ascii_case("show")
            && guard::check(sql, SqlDialect::PostgreSql, None, &show).is_ok()
    };
    match guard::explained(sql) {
        Some(start) => CheckedStatementKind::Query(start),
        None if is_show() => CheckedStatementKind::Shows,
        None => CheckedStatementKind::Query(0),
    }
}

/// Checks a query that the server has parsed. Ends in a new read-only transaction.
///
/// # Errors
/// Fails if the query uses an object that is not allowed, or if the check cannot run.
pub(super) async fn judge(
    session: &mut PostgresSession,
    asker: &SessionRole,
    allowed: &JudgePolicy,
    sql: &str,
    begin_writing: &str,
) -> Result<(), DatabaseError> {
    let CheckedStatementKind::Query(start) = subject(sql) else {
        return Ok(());
    };
    let query = sql.get(start..).unwrap_or_default();
    session.meter.allow(TREE);
    // A standby rejects DDL even for temporary objects.
    let has_views = asker.may_make_views && !asker.is_standby;
    let resolved = match (allowed.judge, has_views) {
        (SecondJudge::Off, _) => return Ok(()),
        (_, true) => analyze_with_view(session, query, begin_writing).await?,
        (SecondJudge::Auto, false) => analyze_with_log(session, query).await?,
        (SecondJudge::View, false) => return Err(asker.cannot_be_judged()),
    };
    let case = JudgeCase {
        asker,
        allowed,
        // Positions count from the first byte of the query itself.
        shift: (resolved.start, start),
    };
    let nodes = tree::nodes(&resolved.tree);
    let nodes = nodes.map_err(|_| unreadable("the query"))?;
    let mut found = ReferencedObjects::default();
    let added = found.add(&nodes, resolved.own);
    added.map_err(|strange| case.unknown_node_error(&strange, None))?;
    case.follow(session, found).await
}

impl SessionRole {
    fn cannot_be_judged(&self) -> DatabaseError {
        if self.is_standby {
            unjudged(
                "cannot check the query: the server is a standby, where no temporary view can be created",
                "set sql.second_judge to auto, which makes the server print the parsed query, also to its log",
            )
        } else {
            unjudged(
                "cannot check the query: the role may not create temporary views",
                "GRANT TEMPORARY ON DATABASE … TO the role, or set sql.second_judge to auto",
            )
        }
    }
}

fn unjudged(message: &str, hint: &str) -> DatabaseError {
    DatabaseError {
        hint: Some(hint.to_owned()).filter(|hint| !hint.is_empty()),
        ..DatabaseError::new(Kind::Unjudged, message)
    }
}

fn unreadable(what: &str) -> DatabaseError {
    unjudged(
        &format!("cannot check {what}: unknown output of the server, so the query is rejected"),
        "",
    )
}

/// A query as the server resolved it.
struct AnalyzedQuery {
    tree: String,
    /// Oid of the view that the tree belongs to; 0 if there is none.
    own: u32,
    /// Byte offset of the query in the text that the server parsed.
    start: usize,
}

/// Creates a view from a query and reads its rule. The requests are sent without waiting between
/// them.
async fn analyze_with_view(
    session: &mut PostgresSession,
    query: &str,
    begin: &str,
) -> Result<AnalyzedQuery, DatabaseError> {
    const BEFORE: &str = "CREATE TEMP VIEW quillet_judge AS SELECT 1 AS one FROM (\n";
    const RULE: &str = "SELECT r.ev_class, r.ev_action::pg_catalog.text FROM pg_catalog.pg_rewrite r \
        WHERE r.ev_class = 'pg_temp.quillet_judge'::pg_catalog.regclass";
    let text = format!("{BEFORE}{}\n) AS s", without_semicolon(query));
    // CREATE VIEW needs a read-write transaction, and the current one is read-only.
    let begin = format!("ROLLBACK; {begin}");
    let (begun, made, rule, named) = tokio::join!(
        session.client.batch_execute(&begin),
        session.client.execute_typed(&text, &[]),
        session.client.query_typed(RULE, &[]),
        session.client.batch_execute(OWN_NAMES),
    );
    begun.map_err(|error| error::of(&error))?;
    made.map_err(|error| no_view(&error, &text))?;
    let rule = rule.map_err(|error| too_large(session, &error))?;
    named.map_err(|error| error::of(&error))?;
    let row = rule.first().ok_or_else(|| unreadable("the query"))?;
    let parts = || Ok((row.try_get(0)?, row.try_get(1)?));
    let (own, tree) = parts().map_err(|error| error::of(&error))?;
    Ok(AnalyzedQuery {
        tree,
        own,
        start: BEFORE.len(),
    })
}

/// Converts the error for a text that can be prepared but does not form a view, so it does more
/// than read.
fn no_view(error: &tokio_postgres::Error, text: &str) -> DatabaseError {
    let failed = error::of_query(error, text, 0);
    match failed.native_code.as_deref() {
        // The error is a syntax error, or the query uses a feature that views do not support.
        Some("42601" | "0A000") => DatabaseError {
            hint: Some("write one SELECT".to_owned()),
            position: None,
            ..DatabaseError::new(
                Kind::ReadOnly,
                format!(
                    "only queries that read may run, and the server rejects this one: {}",
                    failed.message
                ),
            )
        },
        _ => DatabaseError {
            position: None,
            ..failed
        },
    }
}

fn too_large(session: &PostgresSession, error: &tokio_postgres::Error) -> DatabaseError {
    if session.meter.is_used_up() {
        unjudged(
            "cannot check the query: its parsed form is larger than 64 MiB",
            "write a shorter query",
        )
    } else {
        error::of(error)
    }
}

/// Makes the server print the tree.
async fn analyze_with_log(
    session: &mut PostgresSession,
    query: &str,
) -> Result<AnalyzedQuery, DatabaseError> {
    const ON: &str = "SET LOCAL client_min_messages = log; SET LOCAL debug_pretty_print = off; \
        SET LOCAL debug_print_parse = on";
    const OFF: &str = "SET LOCAL debug_print_parse = off; SET LOCAL client_min_messages = warning";
    let run = |text: &'static str| session.client.batch_execute(text);
    run(ON).await.map_err(|error| error::of(&error))?;
    session.trees.begin();
    let read = session.client.prepare(without_semicolon(query)).await;
    let tree = session.trees.end();
    run(OFF).await.map_err(|error| error::of(&error))?;
    run(OWN_NAMES).await.map_err(|error| error::of(&error))?;
    read.map_err(|error| error::of_query(&error, query, 0))?;
    let tree = tree.ok_or_else(|| unreadable("the query"))?;
    // The server breaks lines at blanks, or anywhere if there are none.
    let is_torn = |line: &str| line.len() >= 78 && !line.get(1..).unwrap_or(" ").contains(' ');
    if tree.lines().any(is_torn) {
        return Err(unjudged(
            "cannot check the query: it has a name that is too long for the server to print",
            "use shorter names",
        ));
    }
    Ok(AnalyzedQuery {
        tree,
        own: 0,
        start: 0,
    })
}

/// A query being checked.
struct JudgeCase<'a> {
    asker: &'a SessionRole,
    allowed: &'a JudgePolicy,
    /// Byte offsets of the query in the text that the server parsed, and in the caller's text.
    shift: (usize, usize),
}

/// References in one text: the user's query, or the rule of a view.
struct TextReferences {
    found: ReferencedObjects,
    /// Name of the view; `None` for the user's own text.
    view: Option<String>,
}

impl JudgeCase<'_> {
    /// Checks all references, then those in the rules of the referenced views, and so on.
    async fn follow(
        &self,
        session: &PostgresSession,
        found: ReferencedObjects,
    ) -> Result<(), DatabaseError> {
        let mut matters = vec![TextReferences { found, view: None }];
        // Several views may refer to the same view. Each rule is checked once.
        let mut seen = HashSet::new();
        for _ in 0..DEEPEST {
            let asked = self.questions(&matters);
            let known = facts::ask(&session.client, &asked).await;
            let known = known.map_err(|error| too_large(session, &error))?;
            let mut next = Vec::new();
            for matter in &matters {
                self.verdict(matter, &known, &mut next)?;
            }
            for relation in &known.relations {
                let Some(rule) = relation
                    .rule
                    .as_deref()
                    .filter(|_| seen.insert(relation.oid))
                else {
                    continue;
                };
                let view = format!("{}.{}", relation.schema, relation.name);
                let nodes = tree::nodes(rule).map_err(|_| unreadable(&view))?;
                let mut found = ReferencedObjects::default();
                let added = found.add(&nodes, relation.oid);
                added.map_err(|strange| self.unknown_node_error(&strange, Some(&view)))?;
                next.push(TextReferences {
                    found,
                    view: Some(view),
                });
            }
            if next.is_empty() {
                return Ok(());
            }
            matters = next;
        }
        Err(unjudged(
            "cannot check the query: its views are nested too deeply",
            "",
        ))
    }

    /// Returns the oids to query, without those already known.
    fn questions(&self, matters: &[TextReferences]) -> FactsQuery {
        let mut asked = FactsQuery::default();
        for TextReferences { found, .. } in matters {
            let functions = found.functions.keys();
            asked.functions.extend(
                functions
                    .filter(|(oid, how)| !self.is_known(*oid, *how))
                    .map(|(oid, _)| *oid),
            );
            let operators = found.operators.keys().copied();
            asked
                .operators
                .extend(operators.filter(|oid| *oid >= BY_HAND));
            let types = found.types.keys().map(|(oid, _)| *oid);
            asked
                .types
                .extend(types.filter(|oid| !allowlist::PLAIN.contains(oid)));
            asked.relations.extend(found.relations.keys());
        }
        for oids in [
            &mut asked.functions,
            &mut asked.operators,
            &mut asked.types,
            &mut asked.relations,
        ] {
            oids.sort_unstable();
            oids.dedup();
        }
        asked
    }

    /// Returns whether a function does not need a check: built-in operators only compute.
    fn is_known(&self, oid: u32, how: FunctionUse) -> bool {
        oid < BY_HAND
            && match how {
                FunctionUse::Support => true,
                FunctionUse::Call => self.allowed.is_known(oid),
                FunctionUse::Cast | FunctionUse::Sample => false,
            }
    }

    fn verdict(
        &self,
        matter: &TextReferences,
        known: &CatalogFacts,
        next: &mut Vec<TextReferences>,
    ) -> Result<(), DatabaseError> {
        let TextReferences { found, view } = matter;
        let view = view.as_deref();
        let author = match view {
            None => Author::Asker,
            Some(_) => Author::Owner,
        };
        let listed = &self.allowed.functions;
        if let (Author::Asker, Some(place)) = (author, found.asks_user) {
            let may = ["current_user", "session_user", "user", "current_role"];
            if !listed.iter().any(|name| may.contains(&name.as_str())) {
                let message = "it reads the name of the user";
                return Err(self.refused(message, place, None, Some("current_user")));
            }
        }
        for relation in &known.relations {
            let Some(place) = found.relations.get(&relation.oid) else {
                continue;
            };
            allowlist::relation(relation, author)
                .map_err(|reason| self.refused(&reason, *place, view, None))?;
            if relation.row_security
                && self.asker.passes_row_security
                && !self.allowed.powerful_roles
            {
                return Err(self.asker.row_security_error(relation));
            }
        }
        self.verdict_on_functions(matter, author, known, next)?;
        let kinds = |root: u32| known.types.iter().filter(move |kind| kind.root == root);
        for ((oid, of), place) in &found.types {
            for kind in kinds(*oid) {
                let verdict = allowlist::kind(kind, *of, author);
                verdict.map_err(|reason| self.refused(&reason, *place, view, None))?;
            }
            if kinds(*oid).next().is_none() && !allowlist::PLAIN.contains(oid) {
                return Err(dropped_object_error());
            }
        }
        if found
            .relations
            .keys()
            .all(|oid| known.relations.iter().any(|it| it.oid == *oid))
        {
            Ok(())
        } else {
            Err(dropped_object_error())
        }
    }

    fn verdict_on_functions(
        &self,
        matter: &TextReferences,
        author: Author,
        known: &CatalogFacts,
        next: &mut Vec<TextReferences>,
    ) -> Result<(), DatabaseError> {
        let TextReferences { found, view } = matter;
        let by_oid: HashMap<(u32, u32), &facts::FunctionFacts> = known
            .functions
            .iter()
            .map(|it| ((it.oid, it.operator.unwrap_or_default()), it))
            .collect();
        let by_operator: HashMap<u32, &facts::FunctionFacts> = known
            .functions
            .iter()
            .filter_map(|it| Some((it.operator?, it)))
            .collect();
        let mut parts = ReferencedObjects::default();
        let mut judge = |function: Option<&&facts::FunctionFacts>, how, place: &Option<usize>| {
            let function = function.ok_or_else(dropped_object_error)?;
            let verdict = allowlist::function(function, how, author, &self.allowed.functions);
            let name = Some(function.name.as_str());
            verdict.map_err(|reason| self.refused(&reason, *place, view.as_deref(), name))?;
            for part in &function.parts {
                parts.functions.insert((*part, FunctionUse::Support), None);
            }
            Ok::<(), DatabaseError>(())
        };
        for ((oid, how), place) in &found.functions {
            if !self.is_known(*oid, *how) {
                judge(by_oid.get(&(*oid, 0)), *how, place)?;
            }
        }
        for (oid, place) in found.operators.iter().filter(|(oid, _)| **oid >= BY_HAND) {
            judge(by_operator.get(oid), FunctionUse::Support, place)?;
        }
        // Only calls in the query itself are cached. In views, a function may be allowed for other
        // reasons, so calls in views are not cached.
        if author == Author::Asker {
            let calls = found
                .functions
                .keys()
                .filter(|(_, how)| *how == FunctionUse::Call);
            self.allowed.remember(calls.map(|(oid, _)| *oid));
        }
        if !parts.functions.is_empty() {
            next.push(TextReferences {
                found: parts,
                view: Some(view.clone().unwrap_or_else(|| "an aggregate".to_owned())),
            });
        }
        Ok(())
    }

    fn unknown_node_error(&self, strange: &UnknownNode, view: Option<&str>) -> DatabaseError {
        let message = format!("it has {}", strange.0);
        self.refused(&message, None, view, None)
    }

    fn refused(
        &self,
        reason: &str,
        place: Option<usize>,
        view: Option<&str>,
        function: Option<&str>,
    ) -> DatabaseError {
        let message = match view {
            None => format!("rejected query: {reason}"),
            Some(view) => format!("rejected query: it reads {view}: {reason}"),
        };
        let (read, own) = self.shift;
        DatabaseError {
            position: place
                .filter(|_| view.is_none())
                .and_then(|place| place.checked_sub(read))
                .map(|place| place + own),
            hint: function.map(|name| format!("remove it, or allow {name} in sql.functions")),
            ..DatabaseError::new(Kind::Refused, message)
        }
    }
}

impl SessionRole {
    fn row_security_error(&self, relation: &facts::RelationFacts) -> DatabaseError {
        let message = format!(
            "rejected role {:?}: it bypasses row security (BYPASSRLS), which {}.{} has",
            self.role, relation.schema, relation.name
        );
        DatabaseError {
            hint: Some("ALTER ROLE … NOBYPASSRLS, or set sql.powerful_roles".to_owned()),
            ..DatabaseError::new(Kind::Role, message)
        }
    }
}

/// Returns the error for an object that was dropped during the check.
fn dropped_object_error() -> DatabaseError {
    unjudged(
        "something that the query names was dropped during the check; try again",
        "",
    )
}

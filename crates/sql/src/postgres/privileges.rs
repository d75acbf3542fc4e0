//! Privileges of a role beyond reading.

use std::sync::Arc;
use std::time::Duration;

use tokio_postgres::Row;

use super::error;
use super::server::PostgresServer;
use super::session::PostgresSession;
use crate::database::ConnectionReport;
use crate::{DatabaseError, DatabaseErrorKind as Kind};

/// Query of one row with the version and the data for the warnings. Each list has its first three
/// items, plus one more if there are others.
const RIGHTS: &str = "
WITH relations AS (
    SELECT c.oid, c.relkind, c.relowner, pg_catalog.format('%I.%I', n.nspname, c.relname) AS name
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
)
SELECT
    pg_catalog.current_setting('server_version'),
    r.rolsuper, r.rolcreaterole, r.rolcreatedb, r.rolreplication, r.rolbypassrls,
    pg_catalog.has_database_privilege(pg_catalog.current_database(), 'CREATE'),
    ARRAY(
        SELECT m.rolname::pg_catalog.text FROM pg_catalog.pg_roles m
        WHERE m.rolname IN ('pg_read_server_files', 'pg_write_server_files',
            'pg_execute_server_program', 'pg_signal_backend', 'pg_write_all_data', 'pg_maintain')
        AND pg_catalog.pg_has_role(m.oid, 'USAGE') ORDER BY 1
    ),
    ARRAY(
        SELECT n.nspname::pg_catalog.text FROM pg_catalog.pg_namespace n
        WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
        AND pg_catalog.has_schema_privilege(n.oid, 'CREATE') ORDER BY 1 LIMIT 4
    ),
    ARRAY(
        SELECT name FROM relations
        WHERE relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
        AND pg_catalog.pg_has_role(relowner, 'USAGE') ORDER BY 1 LIMIT 4
    ),
    ARRAY(
        SELECT name FROM relations
        WHERE relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT pg_catalog.pg_has_role(relowner, 'USAGE')
        AND (pg_catalog.has_table_privilege(oid, 'INSERT, UPDATE, DELETE, TRUNCATE')
            OR pg_catalog.has_any_column_privilege(oid, 'INSERT, UPDATE'))
        ORDER BY 1 LIMIT 4
    ),
    ARRAY(
        SELECT name FROM relations
        WHERE NOT pg_catalog.pg_has_role(relowner, 'USAGE')
        AND CASE relkind WHEN 'S'
            THEN pg_catalog.has_sequence_privilege(oid, 'USAGE, UPDATE') ELSE false END
        ORDER BY 1 LIMIT 4
    ),
    ARRAY(
        SELECT e.extname::pg_catalog.text FROM pg_catalog.pg_extension e
        WHERE e.extname IN ('adminpack', 'dblink', 'file_fdw', 'http', 'postgres_fdw') ORDER BY 1
    ),
    pg_catalog.format('%I', pg_catalog.current_database()),
    ARRAY(
        SELECT DISTINCT pg_catalog.format('%I', n.nspname) FROM pg_catalog.pg_namespace n
        JOIN pg_catalog.pg_class c ON c.relnamespace = n.oid
        WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
        AND c.relkind IN ('r', 'p', 'v', 'm', 'f') ORDER BY 1 LIMIT 100
    )
FROM pg_catalog.pg_roles r WHERE r.rolname = current_user";

/// Connects and reports the privileges of the role beyond reading.
pub(super) async fn check(
    server: &Arc<PostgresServer>,
    timeout: Duration,
) -> Result<ConnectionReport, DatabaseError> {
    let mut session = PostgresSession::open(server).await?;
    let work = async {
        session.run("BEGIN READ ONLY").await?;
        let row = session.client.query_one(RIGHTS, &[]).await;
        let checked = row.and_then(|row| checked(&row));
        let checked = checked.map_err(|error| error::of(&error))?;
        session.roll_back().await?;
        Ok(checked)
    };
    match tokio::time::timeout(timeout, work).await {
        Ok(result) => result,
        Err(_) => Err(DatabaseError::new(
            Kind::Timeout,
            format!("timeout: the privileges of the role were not read within {timeout:?}"),
        )),
    }
}

fn checked(row: &Row) -> Result<ConnectionReport, tokio_postgres::Error> {
    let version = row.try_get(0)?;
    let reader = reader(row.try_get(13)?, row.try_get(14)?);
    // A superuser has every privilege. The full list would hide this one important line.
    if row.try_get(1)? {
        let warning = "the role is a superuser: functions could read and write files of the server; \
            connect with a role that may only SELECT";
        return Ok(ConnectionReport {
            version,
            warnings: vec![warning.to_owned()],
            reader,
        });
    }
    let mut warnings = Vec::new();
    let attributes = [
        "may create roles",
        "may create databases",
        "may replicate the server",
        "bypasses row security",
        "may create schemas in the database",
    ];
    for (i, attribute) in attributes.into_iter().enumerate() {
        if row.try_get(i + 2)? {
            warnings.push(format!("the role {attribute}"));
        }
    }
    let lists = [
        "has the privileges of",
        "may create tables in the schemas",
        "owns",
        "may change the tables",
        "may advance the sequences",
    ];
    for (i, right) in lists.into_iter().enumerate() {
        let names: Vec<String> = row.try_get(i + 7)?;
        if !names.is_empty() {
            warnings.push(format!("the role {right} {}", some(&names)));
        }
    }
    let extensions: Vec<String> = row.try_get(12)?;
    if !extensions.is_empty() {
        let some = some(&extensions);
        warnings.push(format!(
            "functions that reach files or other servers are installed: {some}"
        ));
    }
    Ok(ConnectionReport {
        version,
        warnings,
        reader,
    })
}

/// Returns statements that create a role with read access only. The server quotes the names.
fn reader(database: &str, mut schemas: Vec<String>) -> String {
    if schemas.is_empty() {
        schemas.push("public".to_owned());
    }
    let schemas = schemas.join(", ");
    format!(
        "CREATE ROLE quillet_reader LOGIN PASSWORD 'choose a password';\n\
         GRANT CONNECT, TEMPORARY ON DATABASE {database} TO quillet_reader;\n\
         GRANT USAGE ON SCHEMA {schemas} TO quillet_reader;\n\
         GRANT SELECT ON ALL TABLES IN SCHEMA {schemas} TO quillet_reader;\n\
         ALTER DEFAULT PRIVILEGES IN SCHEMA {schemas} GRANT SELECT ON TABLES TO quillet_reader;"
    )
}

/// Formats `a, b, c and more`.
fn some(names: &[String]) -> String {
    let shown = names.iter().take(3).map(String::as_str);
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if names.len() > 3 {
        text.push_str(" and more");
    }
    text
}

//! Facts about oids from the system catalogue, queried for a whole tree in one round trip.

use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Error, Row};

/// A function.
#[derive(Clone, Debug)]
pub(super) struct FunctionFacts {
    pub(super) oid: u32,
    /// The operator that refers to the function, if any.
    pub(super) operator: Option<u32>,
    pub(super) schema: String,
    pub(super) name: String,
    /// Name and argument types, in the server's notation.
    pub(super) signature: String,
    pub(super) volatile: bool,
    /// Whether it runs with the privileges of its owner.
    pub(super) definer: bool,
    /// Extension that it belongs to.
    pub(super) extension: Option<String>,
    /// Whether a cast uses it.
    pub(super) is_cast: bool,
    /// Whether it has arguments that a query cannot write, such as pointers, or that name catalogue
    /// objects.
    pub(super) odd: bool,
    /// Whether it is part of the server.
    pub(super) built_in: bool,
    /// Functions that implement an aggregate.
    pub(super) parts: Vec<u32>,
}

/// A type, or a type that another one contains.
#[derive(Clone, Debug)]
pub(super) struct TypeFacts {
    /// The type that was queried.
    pub(super) root: u32,
    pub(super) schema: String,
    pub(super) name: String,
    /// Whether it is part of the server.
    pub(super) built_in: bool,
    /// Whether it is a row type or another composite type.
    pub(super) composite: bool,
}

/// A relation.
#[derive(Clone, Debug)]
pub(super) struct RelationFacts {
    pub(super) oid: u32,
    pub(super) schema: String,
    pub(super) name: String,
    /// Whether it is part of the server.
    pub(super) built_in: bool,
    /// Whether row security hides some rows.
    pub(super) row_security: bool,
    /// Tree of a view.
    pub(super) rule: Option<String>,
}

/// Oids to query.
#[derive(Clone, Debug, Default)]
pub(super) struct FactsQuery {
    pub(super) functions: Vec<u32>,
    pub(super) operators: Vec<u32>,
    pub(super) types: Vec<u32>,
    pub(super) relations: Vec<u32>,
}

/// Query results.
#[derive(Clone, Debug, Default)]
pub(super) struct CatalogFacts {
    pub(super) functions: Vec<FunctionFacts>,
    pub(super) types: Vec<TypeFacts>,
    pub(super) relations: Vec<RelationFacts>,
}

/// Oids below this are assigned by `initdb` (src/include/access/transam.h).
const FIRST_NORMAL: u32 = 16_384;

const FUNCTIONS: &str = "
SELECT p.oid, asked.operator, n.nspname::pg_catalog.text, p.proname::pg_catalog.text,
    p.oid::pg_catalog.regprocedure::pg_catalog.text, p.provolatile = 'v', p.prosecdef,
    e.extname::pg_catalog.text,
    EXISTS (SELECT FROM pg_catalog.pg_cast c WHERE c.castfunc = p.oid),
    p.proargtypes::pg_catalog.oid[] && ARRAY[2281, 2275, 24, 2202, 2203, 2204, 2205, 2206, 4191, 4089, 4096,
        1790]::pg_catalog.oid[],
    CASE WHEN p.prokind = 'a' AND p.oid >= 16384 THEN ARRAY(
        SELECT part FROM pg_catalog.pg_aggregate a, pg_catalog.unnest(ARRAY[a.aggtransfn, a.aggfinalfn,
            a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn, a.aggminvtransfn,
            a.aggmfinalfn]::pg_catalog.oid[]) AS part
        WHERE a.aggfnoid = p.oid AND part <> 0)
    ELSE ARRAY[]::pg_catalog.oid[] END
FROM (
    SELECT id, 0::pg_catalog.oid AS operator FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS id
    UNION ALL
    SELECT o.oprcode::pg_catalog.oid, o.oid FROM pg_catalog.pg_operator o
    WHERE o.oid = ANY ($2::pg_catalog.oid[])
) AS asked
JOIN pg_catalog.pg_proc p ON p.oid = asked.id
JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
LEFT JOIN pg_catalog.pg_depend d ON d.classid = 1255 AND d.objid = p.oid AND d.deptype = 'e'
    AND p.oid >= 16384
LEFT JOIN pg_catalog.pg_extension e ON e.oid = d.refobjid";

const TYPES: &str = "
WITH RECURSIVE inside(root, id) AS (
    SELECT id, id FROM pg_catalog.unnest($1::pg_catalog.oid[]) AS id
    UNION
    SELECT inside.root, more.id FROM inside
    JOIN pg_catalog.pg_type t ON t.oid = inside.id
    CROSS JOIN LATERAL (
        SELECT t.typelem WHERE t.typelem <> 0
        UNION ALL SELECT t.typbasetype WHERE t.typbasetype <> 0
        UNION ALL SELECT r.rngsubtype FROM pg_catalog.pg_range r
            WHERE t.typtype IN ('r', 'm') AND (r.rngtypid = t.oid
                OR (pg_catalog.to_jsonb(r) ->> 'rngmultitypid')::pg_catalog.oid = t.oid)
        UNION ALL SELECT a.atttypid FROM pg_catalog.pg_attribute a
            WHERE t.typtype = 'c' AND a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped
    ) AS more(id)
)
SELECT inside.root, n.nspname::pg_catalog.text, t.typname::pg_catalog.text, t.oid, t.typtype = 'c'
FROM inside JOIN pg_catalog.pg_type t ON t.oid = inside.id
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace";

const RELATIONS: &str = "
SELECT c.oid, n.nspname::pg_catalog.text, c.relname::pg_catalog.text, c.relrowsecurity,
    CASE WHEN c.relkind = 'v' AND c.oid >= 16384 THEN r.ev_action::pg_catalog.text END
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_rewrite r ON r.ev_class = c.oid AND r.ev_type = '1'
WHERE c.oid = ANY ($1::pg_catalog.oid[])";

/// Sends all queries at once, without waiting between them.
pub(super) async fn ask(client: &Client, asked: &FactsQuery) -> Result<CatalogFacts, Error> {
    // Built-in types that are not row types are known by their oids.
    let functions: [(&(dyn ToSql + Sync), Type); 2] = [
        (&asked.functions, Type::OID_ARRAY),
        (&asked.operators, Type::OID_ARRAY),
    ];
    let types: [(&(dyn ToSql + Sync), Type); 1] = [(&asked.types, Type::OID_ARRAY)];
    let relations: [(&(dyn ToSql + Sync), Type); 1] = [(&asked.relations, Type::OID_ARRAY)];
    let (functions, types, relations) = tokio::try_join!(
        rows(
            client,
            FUNCTIONS,
            &functions,
            asked.functions.len() + asked.operators.len()
        ),
        rows(client, TYPES, &types, asked.types.len()),
        rows(client, RELATIONS, &relations, asked.relations.len()),
    )?;
    Ok(CatalogFacts {
        functions: functions.iter().map(function).collect::<Result<_, _>>()?,
        types: types.iter().map(kind).collect::<Result<_, _>>()?,
        relations: relations.iter().map(relation).collect::<Result<_, _>>()?,
    })
}

async fn rows(
    client: &Client,
    statement: &str,
    parameters: &[(&(dyn ToSql + Sync), Type)],
    asked: usize,
) -> Result<Vec<Row>, Error> {
    match asked {
        0 => Ok(Vec::new()),
        _ => client.query_typed(statement, parameters).await,
    }
}

fn function(row: &Row) -> Result<FunctionFacts, Error> {
    let oid: u32 = row.try_get(0)?;
    let operator: u32 = row.try_get(1)?;
    Ok(FunctionFacts {
        oid,
        operator: (operator != 0).then_some(operator),
        schema: row.try_get(2)?,
        name: row.try_get(3)?,
        signature: row.try_get(4)?,
        volatile: row.try_get(5)?,
        definer: row.try_get(6)?,
        extension: row.try_get(7)?,
        is_cast: row.try_get(8)?,
        odd: row.try_get(9)?,
        built_in: oid < FIRST_NORMAL,
        parts: row.try_get(10)?,
    })
}

fn kind(row: &Row) -> Result<TypeFacts, Error> {
    let oid: u32 = row.try_get(3)?;
    Ok(TypeFacts {
        root: row.try_get(0)?,
        schema: row.try_get(1)?,
        name: row.try_get(2)?,
        built_in: oid < FIRST_NORMAL,
        composite: row.try_get(4)?,
    })
}

fn relation(row: &Row) -> Result<RelationFacts, Error> {
    let oid: u32 = row.try_get(0)?;
    Ok(RelationFacts {
        oid,
        schema: row.try_get(1)?,
        name: row.try_get(2)?,
        built_in: oid < FIRST_NORMAL,
        row_security: row.try_get(3)?,
        rule: row.try_get(4)?,
    })
}

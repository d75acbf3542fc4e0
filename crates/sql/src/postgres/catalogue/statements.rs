//! The catalogue queries. All system names are qualified with `pg_catalog`, so that objects on the
//! search path cannot shadow them. The search path itself is unchanged, so that types are printed
//! as the user would write them.
//!
//! The queries return tables, partitioned tables, views, materialized views and foreign tables with
//! at least one readable column. Partitions are omitted, because their table represents them.

/// Version and effective search path.
pub(super) const SERVER: &str = "
SELECT pg_catalog.current_setting('server_version'),
    pg_catalog.current_schemas(false)::pg_catalog.text[]";

/// Relations with the planner's row estimates. The estimate of a partitioned table is the sum of
/// its partitions.
pub(super) const RELATIONS: &str = "
SELECT c.oid, n.nspname, c.relname, c.relkind,
    CASE c.relkind
        WHEN 'v' THEN NULL
        WHEN 'p' THEN (
            SELECT CASE WHEN pg_catalog.min(l.reltuples) >= 0
                THEN pg_catalog.sum(l.reltuples)::pg_catalog.float8 END
            FROM pg_catalog.pg_partition_tree(c.oid) t
            JOIN pg_catalog.pg_class l ON l.oid = t.relid WHERE t.isleaf
        )
        ELSE NULLIF(c.reltuples, -1)::pg_catalog.float8
    END
FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
AND pg_catalog.has_schema_privilege(n.oid, 'USAGE')
AND (pg_catalog.has_table_privilege(c.oid, 'SELECT')
    OR pg_catalog.has_any_column_privilege(c.oid, 'SELECT'))";

/// Columns that the role may read. If it may read the whole table, privileges are not checked for
/// each column.
pub(super) const COLUMNS: &str = "
WITH relations AS MATERIALIZED (
    SELECT c.oid, pg_catalog.has_table_privilege(c.oid, 'SELECT') AS whole
    FROM pg_catalog.pg_class c
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT c.relispartition
    AND n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
)
SELECT a.attrelid, a.attnum, a.attname, a.atttypid, a.atttypmod, a.attnotnull, a.attidentity,
    a.attgenerated,
    CASE WHEN a.atthasdef AND a.attgenerated = '' THEN (
        SELECT pg_catalog.pg_get_expr(d.adbin, d.adrelid) FROM pg_catalog.pg_attrdef d
        WHERE d.adrelid = a.attrelid AND d.adnum = a.attnum
    ) END
FROM pg_catalog.pg_attribute a
JOIN relations r ON r.oid = a.attrelid
WHERE a.attnum > 0 AND NOT a.attisdropped
AND (r.whole OR pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT'))";

/// Type names, once for each type instead of for each column.
pub(super) const TYPES: &str = "
SELECT t.atttypid, t.atttypmod, pg_catalog.format_type(t.atttypid, t.atttypmod)
FROM (
    SELECT DISTINCT a.atttypid, a.atttypmod FROM pg_catalog.pg_attribute a
    WHERE a.attnum > 0 AND NOT a.attisdropped
) t";

/// Base types of domains, and element types of enum arrays: type, base type, and the domain's
/// definition.
pub(super) const BASES: &str = "
SELECT t.oid,
    CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.typelem END,
    CASE t.typtype WHEN 'd' THEN pg_catalog.format_type(t.typbasetype, t.typtypmod) END
FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname <> 'information_schema'
AND (t.typtype = 'd' OR t.typelem IN (SELECT e.enumtypid FROM pg_catalog.pg_enum e))";

/// Enum labels, in order.
pub(super) const LABELS: &str = "
SELECT e.enumtypid, e.enumlabel FROM pg_catalog.pg_enum e ORDER BY e.enumtypid, e.enumsortorder";

/// Comments on relations (number 0) and on their columns.
pub(super) const NOTES: &str = "
SELECT d.objoid, d.objsubid, d.description FROM pg_catalog.pg_description d
WHERE d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass";

/// Keys, without those that partitions inherit from their table.
pub(super) const KEYS: &str = "
SELECT k.conrelid, k.contype, k.conkey, k.confrelid, k.confkey
FROM pg_catalog.pg_constraint k
WHERE k.contype IN ('p', 'u', 'f') AND k.conparentid = 0
ORDER BY k.conrelid, k.conkey, k.oid";

/// CHECK constraints of single columns, and those of domains, which do not belong to a relation.
pub(super) const CHECKS: &str = "
SELECT k.conrelid, k.conkey, k.contypid, pg_catalog.pg_get_expr(k.conbin, k.conrelid)
FROM pg_catalog.pg_constraint k
WHERE k.contype = 'c' AND k.convalidated AND (k.conrelid = 0 OR pg_catalog.array_length(k.conkey, 1) = 1)
AND pg_catalog.pg_column_size(k.conbin) < 100000
ORDER BY k.oid";

/// A fingerprint that changes with tables, columns, comments, keys, enums, defaults and privileges.
///
/// Each row of a system table contains the transaction that last wrote it. The fingerprint adds
/// hashes of these, so order does not matter. Statistics are updated in place and do not change it.
/// Temporary tables are ignored.
pub(super) const FINGERPRINT: &str = "
WITH namespaces AS MATERIALIZED (
    SELECT n.oid, n.xmin FROM pg_catalog.pg_namespace n
    WHERE n.nspname <> 'information_schema' AND n.nspname !~ '^pg_'
), relations AS MATERIALIZED (
    SELECT c.oid, c.xmin FROM pg_catalog.pg_class c
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND c.relnamespace IN (SELECT oid FROM namespaces)
), rows AS (
    SELECT oid::pg_catalog.int8 AS id, xmin FROM namespaces
    UNION ALL
    SELECT oid::pg_catalog.int8, xmin FROM relations
    UNION ALL
    SELECT a.attrelid::pg_catalog.int8 * 2048 + a.attnum, a.xmin FROM pg_catalog.pg_attribute a
    JOIN relations r ON r.oid = a.attrelid WHERE a.attnum > 0
    UNION ALL
    SELECT d.objoid::pg_catalog.int8 * 2048 + d.objsubid, d.xmin FROM pg_catalog.pg_description d
    JOIN relations r ON r.oid = d.objoid
    WHERE d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass
    UNION ALL
    SELECT k.oid::pg_catalog.int8, k.xmin FROM pg_catalog.pg_constraint k
    JOIN relations r ON r.oid = k.conrelid
    UNION ALL
    SELECT d.oid::pg_catalog.int8, d.xmin FROM pg_catalog.pg_attrdef d
    JOIN relations r ON r.oid = d.adrelid
    UNION ALL
    SELECT e.oid::pg_catalog.int8, e.xmin FROM pg_catalog.pg_enum e
    UNION ALL
    SELECT m.roleid::pg_catalog.int8 * 4294967296 + m.member::pg_catalog.int8, m.xmin
    FROM pg_catalog.pg_auth_members m
)
SELECT pg_catalog.concat_ws('-', pg_catalog.count(*), pg_catalog.sum(
    pg_catalog.hashint8extended(id, xmin::pg_catalog.text::pg_catalog.int8)
)) FROM rows";

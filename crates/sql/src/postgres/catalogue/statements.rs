//! The questions. All names of the system are written with `pg_catalog`, so that nothing on a
//! search path takes their place; the search path itself stays as it is, so that types are written
//! as its user would write them.
//!
//! Seen are tables, partitioned tables, views, materialized views and foreign tables of which the
//! role may read at least one column. Partitions are left out: their table stands for them.

/// Version and effective search path.
pub(super) const SERVER: &str = "
SELECT pg_catalog.current_setting('server_version'),
    pg_catalog.current_schemas(false)::pg_catalog.text[]";

/// Relations, with the planner's estimate of rows. Of a partitioned table the partitions know it.
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

/// Columns that the role may read. Where it may read the whole table, its columns are not
/// asked about one by one.
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

/// Types of columns as they are written: once for each, not for each column.
pub(super) const TYPES: &str = "
SELECT t.atttypid, t.atttypmod, pg_catalog.format_type(t.atttypid, t.atttypmod)
FROM (
    SELECT DISTINCT a.atttypid, a.atttypmod FROM pg_catalog.pg_attribute a
    WHERE a.attnum > 0 AND NOT a.attisdropped
) t";

/// What domains are of, and arrays of enums: type, the type below, and a domain's own words.
pub(super) const BASES: &str = "
SELECT t.oid,
    CASE t.typtype WHEN 'd' THEN t.typbasetype ELSE t.typelem END,
    CASE t.typtype WHEN 'd' THEN pg_catalog.format_type(t.typbasetype, t.typtypmod) END
FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname <> 'information_schema'
AND (t.typtype = 'd' OR t.typelem IN (SELECT e.enumtypid FROM pg_catalog.pg_enum e))";

/// Labels of enums, in their order.
pub(super) const LABELS: &str = "
SELECT e.enumtypid, e.enumlabel FROM pg_catalog.pg_enum e ORDER BY e.enumtypid, e.enumsortorder";

/// Comments on relations (number 0) and their columns.
pub(super) const NOTES: &str = "
SELECT d.objoid, d.objsubid, d.description FROM pg_catalog.pg_description d
WHERE d.classoid = 'pg_catalog.pg_class'::pg_catalog.regclass";

/// Keys. What a partition has from its table is said by the table.
pub(super) const KEYS: &str = "
SELECT k.conrelid, k.contype, k.conkey, k.confrelid, k.confkey
FROM pg_catalog.pg_constraint k
WHERE k.contype IN ('p', 'u', 'f') AND k.conparentid = 0
ORDER BY k.conrelid, k.conkey, k.oid";

/// What CHECK constraints of one column say, and those of domains, which have no relation.
pub(super) const CHECKS: &str = "
SELECT k.conrelid, k.conkey, k.contypid, pg_catalog.pg_get_expr(k.conbin, k.conrelid)
FROM pg_catalog.pg_constraint k
WHERE k.contype = 'c' AND k.convalidated AND (k.conrelid = 0 OR pg_catalog.array_length(k.conkey, 1) = 1)
AND pg_catalog.pg_column_size(k.conbin) < 100000
ORDER BY k.oid";

/// One text that changes when a table, a column, a comment, a key, an enum, a default or a right
/// does.
///
/// Each row of the system's tables carries the transaction that wrote it last. Hashes of these are
/// added up, so that no order is needed. Statistics are written in place and
/// change nothing here; temporary tables are left out, as they come and go.
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

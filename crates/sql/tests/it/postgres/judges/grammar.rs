//! Generates queries from names, scopes and calls. Most are attacks, and some are valid.

/// A random number generator with a seed (SplitMix64).
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Dice(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn one_of<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }

    fn is(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

/// Single-argument functions that do more than compute, and functions that take such a function.
const HARMFUL: &[&str] = &[
    "pg_read_file",
    "pg_read_binary_file",
    "pg_ls_dir",
    "pg_stat_file",
    "current_setting",
    "pg_sleep",
    "pg_terminate_backend",
    "pg_cancel_backend",
    "pg_advisory_lock",
    "pg_try_advisory_lock",
    "ts_stat",
    "lo_create",
    "lo_unlink",
    "lo_get",
    "lo_creat",
    "pg_relation_filepath",
    "pg_get_viewdef",
    "nextval",
    "currval",
    "pg_create_physical_replication_slot",
    "pg_drop_replication_slot",
    "pg_switch_wal",
    "pg_rotate_logfile",
    "pg_reload_conf",
    "pg_stat_reset",
    "pg_log_backend_memory_contexts",
    "txid_current",
    "pg_current_xact_id",
    "setseed",
    "to_regclass",
    "to_regrole",
    "pg_get_userbyid",
    "pg_total_relation_size",
    "pg_relation_size",
    "pg_database_size",
    "pg_ls_waldir",
    "pg_ls_logdir",
    "pg_notification_queue_usage",
    "inet_server_addr",
    "pg_backend_pid",
    "pg_postmaster_start_time",
    "pg_create_restore_point",
    "pg_export_snapshot",
    "pg_get_functiondef",
    "pg_get_constraintdef",
    "has_table_privilege",
    "pg_has_role",
    "pg_conf_load_time",
    "pg_stat_get_activity",
    "pg_blocking_pids",
    "evil",
    "evil_stable",
    "app_evil",
    "dblink_connect",
    "dblink_get_connections",
    "dblink_disconnect",
    "int4um",
    "textout",
    "int4out",
    "regclassout",
    "textin",
    "int4abs",
    "pg_client_encoding",
    "oid",
];

/// Allowed functions, and names that users also gave to their own functions.
const LISTED: &[&str] = &[
    "lower",
    "upper",
    "length",
    "md5",
    "reverse",
    "abs",
    "initcap",
    "to_json",
    "row_to_json",
    "cardinality",
    "array_to_string",
    "count",
    "max",
    "min",
    "pg_typeof",
    "format",
    "concat",
    "quote_ident",
    "to_jsonb",
    "num_nulls",
    "float8",
    "text",
    "json",
    "date",
    "numeric",
    "isfinite",
    "ascii",
    "sum",
];

const WORDS: &[&str] = &[
    "id",
    "name",
    "x",
    "u",
    "s",
    "value",
    "key",
    "f1",
    "ordinality",
    "t",
];

/// The server truncates names to 63 bytes; these names differ only after that.
const LONG: &[&str] = &[
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaX",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaY",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "订订订订订订订订订订订订订订订订订订订订订单",
    "订订订订订订订订订订订订订订订订订订订订订货",
    "a订订订订订订订订订订订订订订订订订订订订订单",
    "a订订订订订订订订订订订订订订订订订订订订",
];

const QUOTED: &[&str] = &[
    "\":funcid\"",
    "\":funcid 2803\"",
    "\"}\"",
    "\"{FUNCEXPR :funcid 1}\"",
    "\"(\"",
    "\"a b\"",
    "\"\\\"",
    "\"Pg_Read_File\"",
    "\"pg_read_file\"",
    "\"<>\"",
    "\"[ 1\"",
    "\"x \"\" y\"",
];

const TYPES: &[&str] = &[
    "text",
    "int",
    "name",
    "bigint",
    "json",
    "jsonb",
    "date",
    "text[]",
    "regclass",
    "_regclass",
    "regrole",
    "_regrole",
    "regproc[]",
    "regtype",
    "oid",
    "pg_authid",
    "pg_class",
    "_pg_authid",
    "users",
    "pair",
    "cls",
    "clsdom",
    "pg_catalog.regclass",
    "\"regclass\"",
    "regnamespace",
    "regprocedure",
    "\"char\"",
    "record",
    "xml",
    "aclitem",
    "refcursor",
    "regconfig",
    "bytea",
    "uuid",
    "pg_catalog.pg_shadow",
    "information_schema.sql_identifier",
    "evil_dom",
    "mood",
    "tsvector",
    "pg_node_tree",
    "void",
    "cstring",
];

const VALUES: &[&str] = &[
    "'/etc/passwd'",
    "'data_directory'",
    "'PG_VERSION'",
    "1",
    "0",
    "'1'",
    "'users'",
    "'{users}'",
    "'{postgres}'",
    "'select 1'",
    "NULL",
    "'s1'",
    "'{\"a\":\"users\"}'",
    "ARRAY['/etc/passwd']",
    "ARRAY[1,2]",
    "'users'::text",
    "'dbname=postgres'",
    "0.001",
    "true",
    "current_date",
    "'slot'::name",
    "(1)::oid",
    "ROW(1,'PG_VERSION')",
    "'PG_VERSION'::text",
    "'x'::name",
];

const TABLES: &[&str] = &[
    "users",
    "public.users",
    "orders",
    "v_ok",
    "v_evil",
    "v_deep",
    "v_definer",
    "v_stat",
    "v_catalogue",
    "information_schema.tables",
    "information_schema.columns",
    "pg_class",
    "pg_catalog.pg_authid",
    "pg_stat_activity",
    "pg_user",
    "pg_roles",
    "info",
    "secured",
    "\"订单\"",
];

pub(super) struct Grammar {
    pub(super) dice: Dice,
    /// Remaining depth.
    depth: usize,
    /// Names defined in FROM so far.
    aliases: Vec<String>,
}

impl Grammar {
    pub(super) fn new(seed: u64) -> Self {
        Grammar {
            dice: Dice::new(seed),
            depth: 0,
            aliases: Vec::new(),
        }
    }

    pub(super) fn query(&mut self) -> String {
        self.depth = 1 + self.dice.below(3);
        self.aliases.clear();
        let with = if self.dice.is(12) {
            let name = self.name();
            let columns = self.columns(30);
            let inner = self.select();
            self.aliases.push(name.clone());
            format!("WITH {name}{columns} AS ({inner}) ")
        } else {
            String::new()
        };
        let mut text = with + &self.select();
        if self.dice.is(6) {
            let other = self.select();
            text = format!("{text} UNION ALL {other}");
        }
        if self.dice.is(30) {
            text += " LIMIT 3";
        }
        text
    }

    fn select(&mut self) -> String {
        let kept = self.aliases.len();
        // FROM is generated first, so that the select list can use its names.
        let from = if self.dice.is(90) {
            format!(" FROM {}", self.from())
        } else {
            String::new()
        };
        let mut items = vec![self.item()];
        if self.dice.is(12) {
            items.push(self.item());
        }
        let mut text = format!("SELECT {}{from}", items.join(", "));
        if self.dice.is(9) {
            text += &format!(" WHERE {} IS NOT NULL", self.expression());
        }
        if self.dice.is(5) {
            text += &format!(" ORDER BY {}", self.expression());
        }
        self.aliases.truncate(kept);
        text
    }

    fn item(&mut self) -> String {
        let expression = self.expression();
        if self.dice.is(20) {
            format!("{expression} AS {}", self.name())
        } else {
            expression
        }
    }

    fn name(&mut self) -> String {
        let pool = match self.dice.below(10) {
            0..4 => HARMFUL,
            4 => LISTED,
            5..8 => WORDS,
            8 => LONG,
            _ => QUOTED,
        };
        self.dice.one_of(pool).to_owned()
    }

    fn alias(&mut self) -> String {
        if self.aliases.is_empty() || self.dice.is(3) {
            self.name()
        } else {
            self.aliases[self.dice.below(self.aliases.len())].clone()
        }
    }

    fn function(&mut self) -> String {
        let pool = if self.dice.is(65) { HARMFUL } else { LISTED };
        let name = self.dice.one_of(pool);
        match self.dice.below(12) {
            0 => format!("pg_catalog.{name}"),
            1 => format!("public.{name}"),
            2 => format!("\"{name}\""),
            3 => format!("app.{name}"),
            4 => name.to_uppercase(),
            _ => name.to_owned(),
        }
    }

    fn columns(&mut self, percent: usize) -> String {
        if !self.dice.is(percent) {
            String::new()
        } else {
            if self.dice.is(95) {
                format!("({})", self.name())
            } else {
                format!("({}, {})", self.name(), self.name())
            }
        }
    }

    fn from(&mut self) -> String {
        let mut text = self.source();
        if self.dice.is(25) {
            let join = self
                .dice
                .one_of(&[", ", " CROSS JOIN ", ", LATERAL ", " NATURAL JOIN "]);
            let lateral = join.contains("LATERAL");
            let source = if lateral {
                self.derived()
            } else {
                self.source()
            };
            text = format!("{text}{join}{source}");
        }
        text
    }

    fn derived(&mut self) -> String {
        self.depth = self.depth.saturating_sub(1);
        let inner = self.select();
        self.depth += 1;
        let alias = self.name();
        let columns = self.columns(40);
        self.aliases.push(alias.clone());
        format!("({inner}) AS {alias}{columns}")
    }

    fn source(&mut self) -> String {
        let text = match self.dice.below(if self.depth > 0 { 13 } else { 9 }) {
            0 | 1 => self.dice.one_of(TABLES).to_owned(),
            2 | 3 => {
                const TEXTS: [&str; 5] = [
                    "'PG_VERSION'",
                    "'data_directory'",
                    "'select 1'",
                    "1",
                    "'s1'",
                ];
                format!("unnest(ARRAY[{}])", self.dice.one_of(&TEXTS))
            }
            4 => format!("{}({})", self.function(), self.dice.one_of(VALUES)),
            5 => "generate_series(1, 2)".to_owned(),
            6 => {
                let alias = self.name();
                self.aliases.push(alias.clone());
                let function =
                    self.dice
                        .one_of(&["json_to_record", "jsonb_to_record", "json_to_recordset"]);
                let (column, kind) = (self.name(), self.dice.one_of(TYPES));
                return format!("{function}('{{\"a\":\"users\"}}') AS {alias}({column} {kind})");
            }
            7 => {
                let alias = self.name();
                self.aliases.push(alias.clone());
                let kind = self.dice.one_of(TYPES);
                return format!(
                    "XMLTABLE('/r' PASSING XMLPARSE(DOCUMENT '<r>users</r>') COLUMNS c {kind} PATH '.') AS {alias}"
                );
            }
            8 => r#"json_each_text('{"PG_VERSION":"PG_VERSION"}')"#.to_owned(),
            9 | 10 => return self.derived(),
            11 => format!("(VALUES ({}))", self.expression()),
            _ => {
                let mut name = self.dice.one_of(TABLES).to_owned();
                if self.dice.is(30) {
                    name += " TABLESAMPLE system (10)";
                }
                return name;
            }
        };
        let alias = self.name();
        let columns = self.columns(45);
        self.aliases.push(alias.clone());
        format!("{text} AS {alias}{columns}")
    }

    fn expression(&mut self) -> String {
        if self.depth == 0 {
            return self.leaf();
        }
        self.depth -= 1;
        let text = match self.dice.below(24) {
            0..5 => format!("{}.{}", self.alias(), self.name()),
            5 => format!("({}).{}", self.alias(), self.name()),
            6 => format!("({}).{}", self.expression(), self.name()),
            7 => format!(
                "({}::{}).{}",
                self.leaf(),
                self.dice.one_of(TYPES),
                self.name()
            ),
            8 => format!("{}({})", self.function(), self.expression()),
            9 => format!("{}::{}", self.leaf(), self.dice.one_of(TYPES)),
            10 => format!("CAST({} AS {})", self.expression(), self.dice.one_of(TYPES)),
            11 => format!("({})", self.select()),
            12 => format!("(SELECT {} LIMIT 1).{}", self.alias(), self.name()),
            13 => format!("{} {} {}", self.leaf(), self.operator(), self.leaf()),
            18..21 => {
                let function = self.function();
                format!("{function}({})", self.alias())
            }
            21..24 => format!("{}.*", self.alias()),
            14 => format!(
                "CASE WHEN {} IS NULL THEN {} END",
                self.leaf(),
                self.expression()
            ),
            15 => format!("{}({}) OVER ()", self.function(), self.leaf()),
            16 => format!("({}.*).{}", self.alias(), self.name()),
            _ => format!("{} '{}'", self.dice.one_of(TYPES), "users"),
        };
        self.depth += 1;
        text
    }

    fn operator(&mut self) -> &'static str {
        const OPERATORS: [&str; 9] = ["||", "=", "<", "+", "@@", "~", "###", "->>", "<->"];
        OPERATORS[self.dice.below(OPERATORS.len())]
    }

    fn leaf(&mut self) -> String {
        match self.dice.below(20) {
            0 => self.name(),
            1..7 => self.alias(),
            _ => self.dice.one_of(VALUES).to_owned(),
        }
    }
}

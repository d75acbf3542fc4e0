//! Collects the objects that a query's tree names by oid: functions, operators, types, relations.
//!
//! Nodes and labels are those of PostgreSQL 12 to 18 (src/include/nodes/primnodes.h and
//! parsenodes.h). An unlisted kind of node is rejected. So is an unlisted label that looks like it
//! names a function, an operator or a type. New versions may add new kinds of calls, and unknown
//! ones must not pass.

use std::collections::BTreeMap;

use super::tree::PlanNode;

/// How a query refers to a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FunctionUse {
    /// By its name.
    Call,
    /// By a cast.
    Cast,
    /// By an operator, or implicitly by sorting or a window frame.
    Support,
    /// By TABLESAMPLE.
    Sample,
}

/// How a query refers to a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TypeUse {
    /// The query creates a value of the type, from text or from another value.
    Made,
    /// The query only reads an existing value.
    Seen,
}

/// All objects to check, each with its first position: a byte offset in the text that the server
/// parsed.
#[derive(Clone, Debug, Default)]
pub(super) struct ReferencedObjects {
    pub(super) functions: BTreeMap<(u32, FunctionUse), Option<usize>>,
    pub(super) operators: BTreeMap<u32, Option<usize>>,
    pub(super) types: BTreeMap<(u32, TypeUse), Option<usize>>,
    pub(super) relations: BTreeMap<u32, Option<usize>>,
    /// Position of `CURRENT_USER` or a similar keyword, if there is one.
    pub(super) asks_user: Option<Option<usize>>,
}

/// Node that is not allowed in a query, or unknown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct UnknownNode(pub(super) String);

/// Kinds of nodes in a query that reads, under the names of all versions.
const KINDS: &[&str] = &[
    "AGGREF",
    "ALIAS",
    "ARRAY",
    "ARRAYCOERCEEXPR",
    "ARRAYEXPR",
    "ARRAYREF",
    "BOOLEANTEST",
    "BOOLEXPR",
    "CASE",
    "CASEEXPR",
    "CASETESTEXPR",
    "CASEWHEN",
    "COALESCE",
    "COALESCEEXPR",
    "COERCETODOMAIN",
    "COERCETODOMAINVALUE",
    "COERCEVIAIO",
    "COLLATE",
    "COLLATEEXPR",
    "COMMONTABLEEXPR",
    "CONST",
    "CONVERTROWTYPEEXPR",
    "CTECYCLECLAUSE",
    "CTESEARCHCLAUSE",
    "DISTINCTEXPR",
    "FIELDSELECT",
    "FROMEXPR",
    "FUNCEXPR",
    "GROUPINGFUNC",
    "GROUPINGSET",
    "JOINEXPR",
    "JSONBEHAVIOR",
    "JSONCONSTRUCTOREXPR",
    "JSONEXPR",
    "JSONFORMAT",
    "JSONISPREDICATE",
    "JSONRETURNING",
    "JSONTABLEPATH",
    "JSONTABLEPATHSCAN",
    "JSONTABLESIBLINGJOIN",
    "JSONVALUEEXPR",
    "MINMAX",
    "MINMAXEXPR",
    "NAMEDARGEXPR",
    "NULLIFEXPR",
    "NULLTEST",
    "OPEXPR",
    "PARAM",
    "QUERY",
    "RANGETBLENTRY",
    "RANGETBLFUNCTION",
    "RANGETBLREF",
    "RELABELTYPE",
    "ROW",
    "ROWCOMPARE",
    "ROWCOMPAREEXPR",
    "ROWEXPR",
    "RTE",
    "RTEPERMISSIONINFO",
    "SCALARARRAYOPEXPR",
    "SETOPERATIONSTMT",
    "SORTGROUPCLAUSE",
    "SQLVALUEFUNCTION",
    "SUBLINK",
    "SUBSCRIPTINGREF",
    "TABLEFUNC",
    "TABLESAMPLECLAUSE",
    "TARGETENTRY",
    "VAR",
    "WHEN",
    "WINDOWCLAUSE",
    "WINDOWFUNC",
    "XMLEXPR",
];

/// Labels that look like oids but are not, or that do not refer to a call: numeric enum values,
/// positions in the tree, collations, operator families.
const HARMLESS: &[&str] = &[
    "aggcollid",
    "array_collid",
    "boolop",
    "booltesttype",
    "btype",
    "casecollid",
    "coalescecollid",
    "collOid",
    "commandType",
    "constcollid",
    "format_type",
    "funccollid",
    "functype",
    "inputcollid",
    "item_type",
    "jointype",
    "minmaxcollid",
    "msccollid",
    "nulltesttype",
    "op",
    "opcollid",
    "paramcollid",
    "paramid",
    "planType",
    "rctype",
    "refcollid",
    "resultcollid",
    "subLinkId",
    "subLinkType",
    "varcollid",
    "varreturningtype",
    "wincollid",
];

/// Suffixes of labels that name an object.
const TELLING: [&str; 14] = [
    "func",
    "functions",
    "fn",
    "fnoid",
    "handler",
    "id",
    "ids",
    "oid",
    "oids",
    "op",
    "opno",
    "ops",
    "proc",
    "type",
];

/// The server's markers before a list of numbers.
const MARKERS: [&str; 4] = ["b", "i", "o", "x"];

impl ReferencedObjects {
    /// Adds the references in the nodes of one tree, except to the relation `own`, which is the
    /// tree's own view.
    pub(super) fn add(&mut self, nodes: &[PlanNode<'_>], own: u32) -> Result<(), UnknownNode> {
        for node in nodes {
            // Unknown kinds are errors, because a new version of PostgreSQL may add a kind that
            // calls functions.
            if !KINDS.contains(&node.kind) {
                let message = format!("a node that a query must not contain ({})", node.kind);
                return Err(UnknownNode(message));
            }
            self.check_kind(node)?;
            let mut labels: Vec<&str> = node.values.iter().map(|(label, _)| *label).collect();
            labels.dedup();
            for label in labels {
                self.label(node, label, own)?;
            }
        }
        Ok(())
    }

    /// Checks fields of nodes that are not oids.
    fn check_kind(&mut self, node: &PlanNode<'_>) -> Result<(), UnknownNode> {
        let is_not = |label: &str, expected: &str| node.value(label) != Some(expected);
        match node.kind {
            "QUERY"
                if is_not("commandType", "1") || node.value("hasModifyingCTE") == Some("true") =>
            {
                return Err(UnknownNode("a statement that changes data".to_owned()));
            }
            // The server passes the values that a subquery is compared with as internal parameters.
            "PARAM" if is_not("paramkind", "2") => {
                return Err(UnknownNode("a parameter".to_owned()));
            }
            "SQLVALUEFUNCTION" => {
                // Dates and times, and the names of the database and the schema, are allowed. The
                // other values reveal users.
                let op: Option<u32> = node.numbers("op").next();
                if !op.is_some_and(|op| op <= 8 || op == 13 || op == 14) {
                    self.asks_user.get_or_insert(location(node));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn label(&mut self, node: &PlanNode<'_>, label: &str, own: u32) -> Result<(), UnknownNode> {
        let place = location(node);
        let is_cast = matches!(node.value("funcformat"), Some("1" | "2"));
        match (node.kind, label) {
            (_, "funcid" | "aggfnoid" | "winfnoid") => {
                let how = if is_cast {
                    FunctionUse::Cast
                } else {
                    FunctionUse::Call
                };
                for oid in oids(node, label)? {
                    self.functions.entry((oid, how)).or_insert(place);
                }
            }
            (
                _,
                "opfuncid" | "startInRangeFunc" | "endInRangeFunc" | "hashfuncid" | "negfuncid"
                | "elemfuncid",
            ) => {
                for oid in oids(node, label)? {
                    self.functions
                        .entry((oid, FunctionUse::Support))
                        .or_insert(place);
                }
            }
            (_, "tsmhandler") => {
                for oid in oids(node, label)? {
                    self.functions
                        .entry((oid, FunctionUse::Sample))
                        .or_insert(place);
                }
            }
            (_, "opno" | "eqop" | "sortop" | "opnos" | "cycle_mark_neop") => {
                for oid in oids(node, label)? {
                    self.operators.entry(oid).or_insert(place);
                }
            }
            (_, "relid") => {
                for oid in oids(node, label)?.into_iter().filter(|oid| *oid != own) {
                    self.relations.entry(oid).or_insert(place);
                }
            }
            // The value is the number of an enum variant.
            ("JSONCONSTRUCTOREXPR", "type") => {}
            (
                "CONST" | "COERCEVIAIO" | "RELABELTYPE" | "ARRAYCOERCEEXPR" | "COERCETODOMAIN"
                | "CONVERTROWTYPEEXPR",
                "consttype" | "resulttype",
            )
            | ("TABLEFUNC", "coltypes")
            | ("JSONRETURNING", "typid")
            | (_, "row_typeid" | "array_typeid" | "element_typeid" | "funccoltypes") => {
                self.types_of(node, label, TypeUse::Made, place)?;
            }
            ("FUNCEXPR", "funcresulttype") if is_cast => {
                self.types_of(node, label, TypeUse::Made, place)?;
            }
            (_, label) if is_type(label) => self.types_of(node, label, TypeUse::Seen, place)?,
            (_, label) if HARMLESS.contains(&label) => {}
            (_, label) if names_an_object(label) => {
                let message = format!("an unknown node ({} of {})", label, node.kind);
                return Err(UnknownNode(message));
            }
            _ => {}
        }
        Ok(())
    }

    fn types_of(
        &mut self,
        node: &PlanNode<'_>,
        label: &str,
        of: TypeUse,
        place: Option<usize>,
    ) -> Result<(), UnknownNode> {
        for oid in oids(node, label)? {
            self.types.entry((oid, of)).or_insert(place);
        }
        Ok(())
    }
}

/// Returns whether a label is the type of an existing value.
fn is_type(label: &str) -> bool {
    const TYPES: [&str; 27] = [
        "aggargtypes",
        "aggtranstype",
        "aggtype",
        "casetype",
        "coalescetype",
        "colTypes",
        "coltypes",
        "colvaltypes",
        "consttype",
        "ctecoltypes",
        "cycle_mark_type",
        "funcresulttype",
        "minmaxtype",
        "opresulttype",
        "paramtype",
        "refassgntype",
        "refarraytype",
        "refcontainertype",
        "refelemtype",
        "refrestype",
        "resulttype",
        "type",
        "typeId",
        "typid",
        "vartype",
        "wintype",
        "typeid",
    ];
    TYPES.contains(&label)
}

fn names_an_object(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    TELLING.iter().any(|ending| label.ends_with(ending)) || label.ends_with("types")
}

/// Returns the oids of a label; any other value is an error.
fn oids(node: &PlanNode<'_>, label: &str) -> Result<Vec<u32>, UnknownNode> {
    let mut oids = Vec::new();
    for (_, value) in node.values.iter().filter(|(name, _)| *name == label) {
        match value.parse::<u32>() {
            Ok(0) => {}
            Ok(oid) => oids.push(oid),
            Err(_) if MARKERS.contains(value) => {}
            Err(_) => {
                let message = format!("an unreadable node ({label} of {})", node.kind);
                return Err(UnknownNode(message));
            }
        }
    }
    Ok(oids)
}

/// Returns the byte offset of a node in the text that the server parsed.
fn location(node: &PlanNode<'_>) -> Option<usize> {
    node.numbers::<usize>("location").next()
}

#[cfg(test)]
mod tests {
    use super::super::tree::nodes;
    use super::*;

    fn found(text: &str) -> Result<ReferencedObjects, UnknownNode> {
        let mut found = ReferencedObjects::default();
        found.add(&nodes(text).unwrap(), 99)?;
        Ok(found)
    }

    #[test]
    fn what_is_named_is_found() {
        let text = "{QUERY :commandType 1 :hasModifyingCTE false :rtable ({RTE :relid 99} {RTE :relid 7}) \
            :targetList ({FUNCEXPR :funcid 12 :funcformat 0 :funcresulttype 25 :args ({OPEXPR :opno 3 \
            :opfuncid 4 :location 31} {CONST :consttype 24 :constvalue 4 [ 1 2 ]}) :location 8} \
            {FUNCEXPR :funcid 13 :funcformat 2 :funcresulttype 20 :location -1})}";
        let found = found(text).unwrap();
        let functions: Vec<_> = found.functions.keys().copied().collect();
        assert_eq!(
            functions,
            [
                (4, FunctionUse::Support),
                (12, FunctionUse::Call),
                (13, FunctionUse::Cast)
            ]
        );
        assert_eq!(found.functions[&(12, FunctionUse::Call)], Some(8));
        assert_eq!(found.operators.get(&3), Some(&Some(31)));
        assert_eq!(found.relations.keys().copied().collect::<Vec<_>>(), [7]);
        let types: Vec<_> = found.types.keys().copied().collect();
        assert_eq!(
            types,
            [
                (20, TypeUse::Made),
                (24, TypeUse::Made),
                (25, TypeUse::Seen)
            ]
        );
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for text in [
            "{QUERY :commandType 3}",
            "{QUERY :commandType 1 :hasModifyingCTE true}",
            "{NEXTVALUEEXPR :seqid 5}",
            "{ROWMARKCLAUSE :rti 1}",
            "{PARAM :paramkind 0}",
            "{VAR :newfuncid 5}",
            "{VAR :somehandler 5}",
            "{OPEXPR :opno y}",
        ] {
            assert!(found(text).is_err(), "{text}");
        }
    }
}

//! Writes a plan as SQL. The prompt already quotes names for the dialect, so they are copied
//! unchanged.

use super::intent::{Aggregate, Intent};
use super::plan::{ColumnRef, QueryPlan};

/// Options parsed from the system prompt.
pub(super) struct WriteOptions {
    /// Maximum number of rows in a list.
    limit: u64,
}

impl WriteOptions {
    /// Parses the requested limit from the system prompt: `Add LIMIT 100`.
    pub(super) fn of(system: &str) -> Self {
        let digits = system.split("LIMIT ").skip(1).map(|rest| {
            let end = rest.find(|c: char| !c.is_ascii_digit());
            rest.get(..end.unwrap_or(rest.len())).unwrap_or_default()
        });
        let limit = digits.filter_map(|digits| digits.parse().ok()).next();
        WriteOptions {
            limit: limit.unwrap_or(100),
        }
    }
}

/// Returns the query and its explanation in the language of the question.
pub(super) fn write(
    plan: &QueryPlan<'_>,
    intent: &Intent,
    style: &WriteOptions,
) -> (String, String) {
    let writer = QueryWriter { plan };
    let worked_out = plan.sum.map(|sum| writer.worked_out(sum));
    let mut columns: Vec<String> = plan.group.iter().map(|at| writer.name(at)).collect();
    match &worked_out {
        Some((formula, name)) => columns.push(format!("{formula} AS {name}")),
        None => columns.extend(writer.listed()),
    }
    let mut sql = format!("SELECT {}\nFROM {}", columns.join(", "), writer.from());
    sql.push_str(&writer.conditions());
    if let Some(group) = &plan.group {
        sql.push_str(&format!("\nGROUP BY {}", writer.name(group)));
    }
    let order = match (&worked_out, &plan.measure) {
        (Some((_, name)), _) => plan.group.map(|_| name.clone()),
        (None, measure) => measure
            .filter(|_| intent.greatest_first.is_some())
            .map(|at| writer.name(&at)),
    };
    if let Some(order) = order {
        let direction = if intent.greatest_first == Some(false) {
            ""
        } else {
            " DESC"
        };
        sql.push_str(&format!("\nORDER BY {order}{direction}"));
    }
    if worked_out.is_none() || plan.group.is_some() {
        let most = intent.most.unwrap_or(style.limit).min(style.limit);
        sql.push_str(&format!("\nLIMIT {most}"));
    }
    (sql, explanation(plan, intent))
}

struct QueryWriter<'p, 'a> {
    plan: &'p QueryPlan<'a>,
}

impl QueryWriter<'_, '_> {
    fn table(&self, place: usize) -> (&str, &str) {
        let table = self.plan.tables.get(place);
        table.map_or(("", ""), |table| (table.name.as_str(), table.bare.as_str()))
    }

    /// Returns a column name, qualified if the query reads several tables.
    fn name(&self, at: &ColumnRef<'_>) -> String {
        if self.plan.joins.is_empty() {
            at.column.name.clone()
        } else {
            format!("{}.{}", self.table(at.table).1, at.column.name)
        }
    }

    /// Returns the aggregate expression and its column alias.
    fn worked_out(&self, sum: Aggregate) -> (String, String) {
        let named = |function: &str, name: &str| {
            let column = self
                .plan
                .measure
                .map(|at| self.name(&at))
                .unwrap_or_default();
            (format!("{function}({column})"), name.to_owned())
        };
        match sum {
            Aggregate::Count => (self.count(), "row_count".to_owned()),
            Aggregate::Total => named("sum", "total_value"),
            Aggregate::Average => named("avg", "average_value"),
            Aggregate::Greatest => named("max", "greatest_value"),
            Aggregate::Least => named("min", "least_value"),
        }
    }

    /// Counts rows of the first table, each once.
    fn count(&self) -> String {
        let table = self.plan.tables.get(self.plan.from);
        let mut keys = table
            .into_iter()
            .flat_map(|table| table.columns.iter().filter(|column| column.is_key));
        let is_many = self.plan.joins.iter().any(|step| step.is_many);
        match (keys.next(), keys.next()) {
            (Some(column), None) if is_many => {
                let at = ColumnRef {
                    table: self.plan.from,
                    column,
                };
                format!("count(DISTINCT {})", self.name(&at))
            }
            _ => "count(*)".to_owned(),
        }
    }

    /// Returns the columns of a list: the named columns with the label and the order column, or all
    /// columns.
    fn listed(&self) -> Vec<String> {
        let plan = self.plan;
        let mut columns: Vec<String> = Vec::new();
        if !plan.listed.is_empty() || plan.measure.is_some() {
            let label = plan.tables.get(plan.from).and_then(|table| table.label());
            let label = label.map(|column| ColumnRef {
                table: plan.from,
                column,
            });
            for at in label.iter().chain(&plan.listed).chain(&plan.measure) {
                let name = self.name(at);
                if !columns.contains(&name) {
                    columns.push(name);
                }
            }
        }
        match (columns.len(), plan.joins.is_empty()) {
            (2.., _) => columns,
            (_, true) => vec!["*".to_owned()],
            (_, false) => vec![format!("{}.*", self.table(plan.from).1)],
        }
    }

    fn from(&self) -> String {
        let mut text = self.table(self.plan.from).0.to_owned();
        for step in &self.plan.joins {
            let ((name, there), (_, here)) = (self.table(step.to), self.table(step.from));
            let on = format!("{there}.{} = {here}.{}", step.target, step.column);
            text.push_str(&format!("\nJOIN {name} ON {on}"));
        }
        text
    }

    fn conditions(&self) -> String {
        let equal = |(at, value): &(ColumnRef<'_>, String)| {
            format!("{} = '{}'", self.name(at), value.replace('\'', "''"))
        };
        let conditions: Vec<String> = self.plan.filters.iter().map(equal).collect();
        if conditions.is_empty() {
            String::new()
        } else {
            format!("\nWHERE {}", conditions.join(" AND "))
        }
    }
}

fn explanation(plan: &QueryPlan<'_>, intent: &Intent) -> String {
    let table = plan
        .tables
        .get(plan.from)
        .map_or("", |table| table.bare.as_str());
    let measure = plan.measure.map_or("", |at| at.column.name.as_str());
    let group = plan.group.map_or("", |at| at.column.name.as_str());
    let (what, by) = if intent.is_chinese {
        (
            chinese(plan.sum, table, measure),
            format!("，按 {group} 分组"),
        )
    } else {
        (english(plan.sum, table, measure), format!(", by {group}"))
    };
    let by = if group.is_empty() { String::new() } else { by };
    if intent.is_chinese {
        format!("内置模拟模型只按词语匹配：{what}{by}。")
    } else {
        format!("The built-in mock model matched words only: {what}{by}.")
    }
}

fn english(sum: Option<Aggregate>, table: &str, measure: &str) -> String {
    match sum {
        None => format!("rows of {table}"),
        Some(Aggregate::Count) => format!("the number of rows of {table}"),
        Some(Aggregate::Total) => format!("the sum of {measure} in {table}"),
        Some(Aggregate::Average) => format!("the average of {measure} in {table}"),
        Some(Aggregate::Greatest) => format!("the greatest {measure} in {table}"),
        Some(Aggregate::Least) => format!("the least {measure} in {table}"),
    }
}

fn chinese(sum: Option<Aggregate>, table: &str, measure: &str) -> String {
    match sum {
        None => format!("{table} 的行"),
        Some(Aggregate::Count) => format!("{table} 的行数"),
        Some(Aggregate::Total) => format!("{table} 中 {measure} 的合计"),
        Some(Aggregate::Average) => format!("{table} 中 {measure} 的平均值"),
        Some(Aggregate::Greatest) => format!("{table} 中 {measure} 的最大值"),
        Some(Aggregate::Least) => format!("{table} 中 {measure} 的最小值"),
    }
}

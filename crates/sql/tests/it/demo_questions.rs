//! Tests the recorded answers on the demo shop, through the whole pipeline, the guard and SQLite.

use std::sync::Arc;

use quillet_core::BoxFuture;
use quillet_core::chat::Bytes4;
use quillet_sql::chain::{
    AcceptedQuery, BuiltIn, GeneratedQuery, Judge, PreparedCatalogue, QueryChain,
};
use quillet_sql::guard::{self, Policy};
use quillet_sql::rank::Glossary;
use quillet_sql::rows::Cell;
use quillet_sql::{
    Catalogue, ChainMode, Database, QueryLimits, RowSet, SqlConfig, SqlDialect, SqlError, demo,
};

/// The demo shop with its database.
struct Shop {
    database: Arc<dyn Database>,
    catalogue: Arc<Catalogue>,
    path: std::path::PathBuf,
}

impl Drop for Shop {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

impl Shop {
    async fn open(name: &str) -> Self {
        let name = format!("quillet-mock-{name}-{}.db", std::process::id());
        let path = std::env::temp_dir().join(name);
        let database = demo::open(&path).unwrap();
        let catalogue = database.catalogue(&|_, _, _| {}).await.unwrap();
        Shop {
            database,
            catalogue: Arc::new(catalogue),
            path,
        }
    }

    /// Returns the report on a question, and the rows.
    async fn ask(
        &self,
        chain: ChainMode,
        question: &str,
    ) -> Result<(GeneratedQuery, RowSet), SqlError> {
        let config = SqlConfig {
            chain,
            ..SqlConfig::default()
        };
        let prepared =
            PreparedCatalogue::new(self.catalogue.clone(), &Glossary::default(), &Bytes4);
        let chain = QueryChain {
            examples: &[],
            model: &demo::RecordedModel,
            prompts: &BuiltIn::new().unwrap(),
            tokens: &Bytes4,
            embedder: None,
            config: &config,
            prepared: &prepared,
            name: "shop",
            description: demo::DESCRIPTION,
            previous: &[],
        };
        chain.run(question, self).await
    }
}

impl Judge for Shop {
    type Outcome = RowSet;

    fn judge<'a>(&'a self, sql: &'a str) -> BoxFuture<'a, Result<AcceptedQuery<RowSet>, SqlError>> {
        Box::pin(async move {
            let policy = Policy::default();
            let approved = guard::check(sql, SqlDialect::Sqlite, Some(&self.catalogue), &policy)
                .unwrap_or_else(|error| panic!("{sql}: {error}"));
            let outcome = self
                .database
                .query(&approved.sql, &QueryLimits::default())
                .await?;
            Ok(AcceptedQuery {
                sql: sql.to_owned(),
                outcome,
            })
        })
    }
}

/// Returns the first row as text.
fn first(rows: &RowSet) -> String {
    let cell = |cell: &Cell| match cell {
        Cell::Null => "-".to_owned(),
        Cell::Int(number) => number.to_string(),
        Cell::Float(number) => format!("{number:.2}"),
        Cell::Text(text) => text.clone(),
        other => format!("{other:?}"),
    };
    let row = rows
        .rows
        .first()
        .map(|row| row.iter().map(cell).collect::<Vec<_>>());
    row.unwrap_or_default().join(" | ")
}

/// All recorded questions, with the number of rows and the start of the first row.
const QUESTIONS: [(&str, usize, &str); 38] = [
    ("How many customers are there?", 1, "36"),
    ("How many orders were cancelled?", 1, "9"),
    (
        "Show the total order amount by status",
        5,
        "completed | 134090.56",
    ),
    (
        "What are the top 5 products by price?",
        5,
        "头戴耳机 Studio Headphones | 899",
    ),
    ("How many orders does each city have?", 15, "上海 | 34"),
    ("Number of products per category", 6, ""),
    (
        "What is the average salary per department?",
        4,
        "管理 Management | 42000.00",
    ),
    ("List all suppliers", 6, "1 | 云岭茶业"),
    ("Which products have the highest rating?", 10, ""),
    ("How many gold customers are there?", 1, "4"),
    ("What is the average price of products?", 1, "230.96"),
    ("Sum of payments by method", 4, "wechat | 42387.36"),
    (
        "Show the employees with the highest salary",
        8,
        "沈清 | 42000",
    ),
    ("How many customers are in London?", 1, "4"),
    (
        "What is the total shipping fee by carrier?",
        3,
        "顺丰 SF Express | 745",
    ),
    (
        "How many reviews does each product have?",
        12,
        "保温杯 Thermos | 12",
    ),
    (
        "Show the cheapest products",
        10,
        "海苔 Seaweed Chips | 15.90",
    ),
    ("Which products are low in stock?", 6, ""),
    ("每个付款方式的付款金额是多少?", 4, "wechat | 42387.36"),
    ("有多少个供应商?", 1, "6"),
    ("评分最高的商品是哪些?", 10, ""),
    ("列出所有退货记录", 12, "1 | 5 | 七天无理由"),
    ("每个城市有多少客户？", 20, "上海 | 4"),
    ("各部门的平均月薪", 4, "管理 Management | 42000.00"),
    ("单价最高的前3个商品", 3, "头戴耳机 Studio Headphones | 899"),
    ("每个分类有多少商品", 6, ""),
    ("退款金额合计", 1, "5069.09"),
    ("每月销售额", 12, ""),
    ("各仓库的库存数量", 2, "上海 Shanghai | 1230"),
    ("城市是“上海”的客户有多少", 1, "4"),
    ("How many orders per city?", 15, "上海 | 34"),
    ("How many customers per city?", 20, "上海 | 4"),
    ("How many orders are there?", 1, "180"),
    ("How many orders?", 1, "180"),
    ("and by status?", 5, "completed | "),
    ("How many orders has each customer?", 21, "郭雪 | 9"),
    ("Which customers are from Berlin?", 4, "22 | Ben Carter"),
    ("How many products are there?", 1, ""),
];

#[tokio::test]
async fn every_recorded_answer_runs_on_the_shop_by_both_chains() {
    let recorded = include_str!("../../src/demo/answers.sql").lines();
    let mut recorded: Vec<&str> = recorded.filter_map(|it| it.strip_prefix("-- ")).collect();
    let mut listed = QUESTIONS.map(|(question, ..)| question);
    recorded.sort_unstable();
    listed.sort_unstable();
    assert_eq!(recorded, listed);
    let shop = Shop::open("table").await;
    let mut wrong = Vec::new();
    for (question, rows, start) in QUESTIONS {
        for chain in [ChainMode::Budget, ChainMode::Seed] {
            let answered = shop.ask(chain, question).await;
            let (generated, found) = answered.unwrap_or_else(|it| panic!("{question}: {it:?}"));
            assert!(!generated.fallback_used, "{question}");
            assert!(generated.repairs.is_empty(), "{question}");
            assert!(generated.explanation.unwrap().contains("mock"));
            let row = first(&found);
            if found.rows.len() != rows || !row.starts_with(start) {
                let sql = generated.generated_sql;
                let count = found.rows.len();
                wrong.push(format!("{question}\n{sql}\n= {count} rows: {row}\n"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[tokio::test]
async fn questions_match_apart_from_case_white_space_and_final_punctuation() {
    let shop = Shop::open("words").await;
    for question in [
        "how  many\tORDERS are there",
        "每个城市有多少客户?",
        "列出所有退货记录。",
    ] {
        let answered = shop.ask(ChainMode::Budget, question).await;
        assert!(answered.is_ok(), "{question}: {answered:?}");
    }
}

#[tokio::test]
async fn the_answer_to_an_unknown_question_names_close_ones() {
    let shop = Shop::open("unknown").await;
    for (question, close) in [
        (
            "How many customers are in Paris?",
            "How many customers are in London?",
        ),
        ("每个城市有多少订单?", "每个城市有多少客户？"),
    ] {
        match shop.ask(ChainMode::Seed, question).await {
            Err(SqlError::Answer { answer, .. }) => {
                assert!(answer.contains(close), "{question}: {answer}");
                assert!(answer.contains("38 questions"), "{answer}");
            }
            other => panic!("{question}: {other:?}"),
        }
    }
}

//! Tests Chinese questions, which do not have spaces between words.

use std::sync::Arc;

use quillet_sql::Catalogue;

use super::{best, catalogue, index, table};

/// Creates a shop whose tables nearly all have a status and an order number.
fn shop() -> Arc<Catalogue> {
    let lines = [
        "oms_order | 订单表 | id, order_sn 订单编号, member_id 会员id, total_amount 总金额, status 状态",
        "oms_order_item | 订单商品明细 | id, order_id 订单id, order_sn 订单编号, sku_name 规格, status 订单状态, number 数量",
        "oms_order_log | 订单状态变更记录 | id, order_id 订单id, order_status 订单状态, old_status 原状态, new_status 新状态",
        "oms_return | 售后申请单 | id, order_id 订单id, order_sn 订单编号, status 申请状态, order_status 订单状态",
        "pay_record | 支付流水 | id, order_sn 订单编号, order_status 订单状态, status 支付状态, order_count 订单数",
        "dms_delivery | 物流配送单 | id, order_sn 订单编号, order_id 订单id, order_status 订单状态, status 配送状态",
        "ums_member | 会员表 | id, nickname 昵称, status 状态, order_count 订单数",
        "ums_member_level | 会员等级表 | id, name 等级名称, status 状态",
        "ums_address | 会员收货地址 | id, member_id 会员id, city 城市",
        "rpt_daily | 每日统计 | id, order_count 订单数, order_status 订单状态, member_count 会员数, day 日期",
        "rpt_state | 状态字典 | id, code 编码, name 名称",
        "pms_stock | 库存表 | id, sku_id 规格id, number 数量, status 状态",
    ];
    catalogue(lines.into_iter().map(table).collect())
}

#[test]
fn a_comment_that_is_the_word_comes_first() {
    let catalogue = shop();
    let index = index(&catalogue);
    for (question, wanted) in [
        ("每个状态的订单数", "oms_order"),
        ("各状态订单数量", "oms_order"),
        ("订单有多少", "oms_order"),
        ("会员人数", "ums_member"),
        ("各等级的会员数", "ums_member_level"),
        ("会员的收货地址", "ums_address"),
        ("订单状态变更了几次", "oms_order_log"),
        ("库存数量", "pms_stock"),
    ] {
        let found = best(&index, &catalogue, question, 3);
        assert_eq!(found[0], wanted, "{question}: {found:?}");
    }
}

#[test]
fn words_are_found_in_chinese_names() {
    let catalogue = catalogue(vec![
        table("订单 | | 编号, 状态, 金额"),
        table("订单明细 | | 编号, 订单编号, 订单状态, 数量"),
        table("退货单 | | 编号, 订单编号, 订单状态, 订单数"),
        table("客户 | | 编号, 名称, 订单数"),
    ]);
    let index = index(&catalogue);
    assert_eq!(best(&index, &catalogue, "每个状态的订单数", 1), ["订单"]);
    assert_eq!(best(&index, &catalogue, "各客户的退货情况", 2).len(), 2);
    let found = best(&index, &catalogue, "各客户的退货情况", 2);
    assert!(
        found.contains(&"退货单".to_owned()) && found.contains(&"客户".to_owned()),
        "{found:?}"
    );
}

-- Rows of the shop: the same in each file, since every number comes from a row's own number.

INSERT INTO categories (id, name, parent_id) VALUES
  (1, '食品 Food', NULL), (2, '家居 Home', NULL), (3, '数码 Electronics', NULL),
  (4, '茶叶 Tea', 1), (5, '零食 Snacks', 1), (6, '厨房 Kitchen', 2), (7, '灯具 Lamps', 2),
  (8, '耳机 Headphones', 3), (9, '键盘 Keyboards', 3);

INSERT INTO suppliers (id, name, country, phone) VALUES
  (1, '云岭茶业', 'China', '0871-5550101'), (2, '海风食品', 'China', '0592-5550102'),
  (3, 'Nordlys Home', 'Denmark', '+45 5550103'), (4, 'Takumi Kitchen', 'Japan', '+81 5550104'),
  (5, '声动科技', 'China', '0755-5550105'), (6, 'Keystone Works', 'Germany', '+49 5550106');

INSERT INTO products (id, name, category_id, supplier_id, price, launched_on, is_active) VALUES
  (1, '普洱茶 Pu-erh', 4, 1, 168, '2024-03-01', 1), (2, '龙井茶 Longjing', 4, 1, 238, '2024-03-01', 1),
  (3, '茉莉花茶 Jasmine Tea', 4, 1, 68.5, '2024-04-10', 1), (4, '海苔 Seaweed Chips', 5, 2, 15.9, '2024-04-10', 1),
  (5, '坚果礼盒 Nut Box', 5, 2, 99, '2024-05-20', 1), (6, '芒果干 Dried Mango', 5, 2, 22.8, '2024-05-20', 1),
  (7, '铸铁锅 Iron Pot', 6, 4, 459, '2024-06-01', 1), (8, '菜刀 Chef Knife', 6, 4, 329, '2024-06-01', 1),
  (9, '砧板 Cutting Board', 6, 3, 89, '2024-06-15', 1), (10, '保温杯 Thermos', 6, 3, 119, '2024-07-01', 1),
  (11, '台灯 Desk Lamp', 7, 3, 199, '2024-07-01', 1), (12, '落地灯 Floor Lamp', 7, 3, 549, '2024-08-08', 1),
  (13, '灯泡 Light Bulb', 7, 3, 19.9, '2024-08-08', 1), (14, '蓝牙耳机 Wireless Earbuds', 8, 5, 299, '2024-09-01', 1),
  (15, '头戴耳机 Studio Headphones', 8, 5, 899, '2024-09-01', 1), (16, '有线耳机 Wired Earphones', 8, 5, 49, '2023-01-15', 0),
  (17, '机械键盘 Mechanical Keyboard', 9, 6, 529, '2024-10-01', 1), (18, '静音键盘 Quiet Keyboard', 9, 6, 259, '2024-10-01', 1),
  (19, '数字键盘 Number Pad', 9, 6, 129, '2024-11-11', 1), (20, '键帽 Keycap Set', 9, 6, 79, '2024-11-11', 1);

INSERT INTO stock (product_id, warehouse, quantity)
  SELECT id, '上海 Shanghai', (id * 37) % 120 + 3 FROM products UNION ALL
  SELECT id, '深圳 Shenzhen', (id * 53) % 90 FROM products WHERE id % 3 <> 0;

INSERT INTO customers (id, name, email, city, level, registered_on)
  SELECT column1, column2, 'customer' || column1 || '@example.com', column3,
    CASE WHEN column1 % 9 = 0 THEN 'gold' WHEN column1 % 4 = 0 THEN 'silver' ELSE 'normal' END,
    date('2024-01-05', '+' || ((column1 * 17) % 350) || ' days')
  FROM (VALUES
  (1, '王芳', '上海'), (2, '李伟', '北京'), (3, '张敏', '广州'), (4, '刘洋', '深圳'), (5, '陈静', '杭州'),
  (6, '杨磊', '成都'), (7, '赵娜', '上海'), (8, '黄强', '北京'), (9, '周婷', '上海'), (10, '吴昊', '武汉'),
  (11, '徐丽', '南京'), (12, '孙鹏', '深圳'), (13, '马超', '西安'), (14, '朱琳', '杭州'), (15, '胡军', '成都'),
  (16, '郭雪', '广州'), (17, '林涛', '厦门'), (18, '何洁', '上海'), (19, '高峰', '北京'), (20, '罗兰', '深圳'),
  (21, 'Ann Miller', 'London'), (22, 'Ben Carter', 'Berlin'), (23, 'Clara Rossi', 'Milan'), (24, 'David Kim', 'Seoul'),
  (25, 'Eva Novak', 'Prague'), (26, 'Finn Olsen', 'Oslo'), (27, 'Grace Lee', 'Singapore'), (28, 'Hugo Martin', 'Paris'),
  (29, 'Iris Bauer', 'Berlin'), (30, 'Jack Wilson', 'London'), (31, 'Kate Brown', 'London'), (32, 'Leo Sato', 'Tokyo'),
  (33, 'Mia Silva', 'Lisbon'), (34, 'Noah Evans', 'London'), (35, 'Olga Petrova', 'Berlin'), (36, 'Paul Weber', 'Berlin'));

INSERT INTO employees (id, name, title, department, manager_id, salary, hired_on) VALUES
  (1, '沈清', '总经理 General Manager', '管理 Management', NULL, 42000, '2019-02-01'),
  (2, '唐明', '销售经理 Sales Manager', '销售 Sales', 1, 26000, '2020-05-11'),
  (3, '许静', '销售员 Salesperson', '销售 Sales', 2, 12500, '2022-03-07'),
  (4, 'Tom Baker', '销售员 Salesperson', '销售 Sales', 2, 12800, '2022-08-15'),
  (5, '冯雷', '销售员 Salesperson', '销售 Sales', 2, 11900, '2023-06-19'),
  (6, '曹颖', '仓库主管 Warehouse Lead', '仓储 Warehouse', 1, 15500, '2021-09-01'),
  (7, '邓强', '仓管员 Storekeeper', '仓储 Warehouse', 6, 8800, '2023-01-09'),
  (8, 'Sara Lind', '客服 Support Agent', '客服 Support', 1, 10200, '2023-04-03');

INSERT INTO coupons (code, discount, valid_until) VALUES
  ('WELCOME10', 10, '2026-12-31'), ('SPRING15', 15, '2025-05-31'), ('SINGLES20', 20, '2025-11-12'), ('VIP25', 25, '2026-06-30');

INSERT INTO orders (id, customer_id, employee_id, coupon_code, status, ordered_at)
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 180)
  SELECT i, (i * 29 + i / 7) % 36 + 1, CASE WHEN i % 5 = 0 THEN NULL ELSE i % 3 + 3 END,
    CASE i % 12 WHEN 3 THEN 'WELCOME10' WHEN 7 THEN 'SPRING15' WHEN 11 THEN 'SINGLES20' END,
    CASE WHEN i > 174 THEN 'pending' WHEN i > 168 THEN 'paid' WHEN i > 160 THEN 'shipped'
      WHEN i % 17 = 0 THEN 'cancelled' ELSE 'completed' END,
    datetime('2025-01-03 08:00:00', '+' || (i * 2) || ' days', '+' || ((i * 131) % 720) || ' minutes')
  FROM n;

INSERT INTO order_items (order_id, line, product_id, quantity, unit_price)
  SELECT o.id, l.line, p.id, (o.id + l.line) % 3 + 1, p.price
  FROM orders AS o JOIN (SELECT 1 AS line UNION ALL SELECT 2 UNION ALL SELECT 3) AS l ON l.line <= o.id % 3 + 1
    JOIN products AS p ON p.id = (o.id * 11 + l.line * 7 + o.id / 9) % 20 + 1;

UPDATE orders SET total = (SELECT round(sum(i.amount) * (100 - coalesce(c.discount, 0)) / 100, 2)
  FROM order_items AS i LEFT JOIN coupons AS c ON c.code = orders.coupon_code WHERE i.order_id = orders.id);

INSERT INTO payments (order_id, method, amount, paid_at)
  SELECT id, CASE id % 7 WHEN 0 THEN 'cash' WHEN 1 THEN 'card' WHEN 2 THEN 'card' WHEN 3 THEN 'wechat' WHEN 4 THEN 'wechat' ELSE 'alipay' END,
    total, datetime(ordered_at, '+' || (id % 50) || ' minutes')
  FROM orders WHERE status NOT IN ('pending', 'cancelled');

INSERT INTO shipments (order_id, carrier, fee, shipped_on, delivered_on)
  SELECT id, CASE id % 3 WHEN 0 THEN '顺丰 SF Express' WHEN 1 THEN '京东 JD Logistics' ELSE 'DHL' END,
    8 + id % 5 * 3, date(ordered_at, '+1 day'),
    CASE WHEN status = 'completed' THEN date(ordered_at, '+' || (id % 4 + 2) || ' days') END
  FROM orders WHERE status IN ('shipped', 'completed');

INSERT INTO reviews (product_id, customer_id, rating, comment, written_on)
  SELECT i.product_id, o.customer_id, CASE WHEN o.id % 11 = 0 THEN 2 WHEN i.product_id % 4 = 0 THEN 3 ELSE 4 + o.id % 2 END,
    CASE o.id % 4 WHEN 0 THEN '质量很好，会再买' WHEN 1 THEN 'As described, fast delivery' WHEN 2 THEN '包装不错' END,
    date(o.ordered_at, '+9 days')
  FROM orders AS o JOIN order_items AS i ON i.order_id = o.id WHERE o.status = 'completed' AND (o.id + i.line) % 4 = 0;

INSERT INTO 退货 (订单号, 原因, 退款金额, 退货日期)
  SELECT id, CASE id % 3 WHEN 0 THEN '尺寸不合适' WHEN 1 THEN '商品损坏' ELSE '七天无理由' END, round(total / 2, 2), date(ordered_at, '+8 days')
  FROM orders WHERE status = 'completed' AND id % 14 = 5;

INSERT INTO "Price History"
  SELECT id, date('2025-03-01', '+' || (id * 3) || ' days'), round(price * 1.1, 2), price FROM products WHERE id % 2 = 1;

ANALYZE;

-- A small shop. Comments are in Chinese and English, as in companies where both are spoken.

CREATE TABLE categories ( -- 商品分类 product categories
  id INTEGER PRIMARY KEY, -- 分类编号 category number
  name TEXT NOT NULL, -- 分类名称 category name
  parent_id INTEGER REFERENCES categories (id) -- 上级分类 parent category
);

CREATE TABLE suppliers ( -- 供应商 companies that we buy products from
  id INTEGER PRIMARY KEY, -- 供应商编号 supplier number
  name TEXT NOT NULL, -- 供应商名称 supplier name
  country TEXT NOT NULL, -- 国家 country
  phone TEXT -- 电话 phone
);

CREATE TABLE products ( -- 商品 products that we sell
  id INTEGER PRIMARY KEY, -- 商品编号 product number
  name TEXT NOT NULL, -- 商品名称 product name
  category_id INTEGER NOT NULL REFERENCES categories (id), -- 分类 category
  supplier_id INTEGER NOT NULL REFERENCES suppliers (id), -- 供应商 supplier
  price DECIMAL(10, 2) NOT NULL, -- 单价 price in yuan
  launched_on DATE NOT NULL, -- 上架日期 day of launch
  is_active BOOLEAN NOT NULL DEFAULT 1 -- 是否在售 whether it is sold now
);

CREATE TABLE stock ( -- 库存 what lies in the warehouses
  product_id INTEGER NOT NULL REFERENCES products (id), -- 商品 product
  warehouse TEXT NOT NULL, -- 仓库 warehouse
  quantity INTEGER NOT NULL, -- 库存数量 pieces in stock
  reorder_level INTEGER NOT NULL DEFAULT 20, -- 补货线 below this many pieces we order more
  PRIMARY KEY (product_id, warehouse)
) WITHOUT ROWID;

CREATE TABLE customers ( -- 客户 customers, one row for each person
  id INTEGER PRIMARY KEY, -- 客户编号 customer number
  name TEXT NOT NULL, -- 客户姓名 customer name
  email TEXT UNIQUE, -- 邮箱 email address
  city TEXT NOT NULL, -- 城市 city
  level TEXT NOT NULL DEFAULT 'normal' CHECK (level IN ('normal', 'silver', 'gold')), -- 会员等级 membership level
  registered_on DATE NOT NULL -- 注册日期 day of registration
);

CREATE TABLE employees ( -- 员工 employees
  id INTEGER PRIMARY KEY, -- 员工编号 employee number
  name TEXT NOT NULL, -- 员工姓名 employee name
  title TEXT NOT NULL, -- 职位 job title
  department TEXT NOT NULL, -- 部门 department
  manager_id INTEGER REFERENCES employees (id), -- 经理 manager
  salary INTEGER NOT NULL, -- 月薪 monthly salary in yuan
  hired_on DATE NOT NULL -- 入职日期 day of hire
);

CREATE TABLE coupons ( -- 优惠券 coupons
  code TEXT PRIMARY KEY, -- 券码 coupon code
  discount INTEGER NOT NULL, -- 折扣百分比 discount in percent
  valid_until DATE NOT NULL -- 有效期 last day
);

CREATE TABLE orders ( -- 订单 orders, one row for each purchase
  id INTEGER PRIMARY KEY, -- 订单编号 order number
  customer_id INTEGER NOT NULL REFERENCES customers (id), -- 客户 customer
  employee_id INTEGER REFERENCES employees (id), -- 负责员工 employee in charge
  coupon_code TEXT REFERENCES coupons (code), -- 优惠券 coupon
  status TEXT NOT NULL CHECK (status IN ('pending', 'paid', 'shipped', 'completed', 'cancelled')), -- 订单状态 order status
  total DECIMAL(10, 2) NOT NULL DEFAULT 0, -- 订单金额 order total in yuan
  ordered_at TIMESTAMP NOT NULL -- 下单时间 time of the order
);

CREATE TABLE order_items ( -- 订单明细 products within an order
  order_id INTEGER NOT NULL REFERENCES orders (id), -- 订单 order
  line INTEGER NOT NULL, -- 行号 line number
  product_id INTEGER NOT NULL REFERENCES products (id), -- 商品 product
  quantity INTEGER NOT NULL, -- 购买数量 pieces bought
  unit_price DECIMAL(10, 2) NOT NULL, -- 成交单价 price paid for one piece
  amount DECIMAL(12, 2) GENERATED ALWAYS AS (quantity * unit_price) STORED, -- 小计 quantity times price
  PRIMARY KEY (order_id, line)
) WITHOUT ROWID;

CREATE TABLE payments ( -- 付款记录 payments
  id INTEGER PRIMARY KEY, -- 付款编号 payment number
  order_id INTEGER NOT NULL REFERENCES orders (id), -- 订单 order
  method TEXT NOT NULL CHECK (method IN ('alipay', 'wechat', 'card', 'cash')), -- 付款方式 payment method
  amount DECIMAL(10, 2) NOT NULL, -- 付款金额 amount paid
  paid_at TIMESTAMP NOT NULL -- 付款时间 time of payment
);

CREATE TABLE shipments ( -- 物流 shipments
  id INTEGER PRIMARY KEY, -- 运单编号 shipment number
  order_id INTEGER NOT NULL REFERENCES orders (id), -- 订单 order
  carrier TEXT NOT NULL, -- 快递公司 carrier
  fee DECIMAL(8, 2) NOT NULL, -- 运费 shipping fee
  shipped_on DATE NOT NULL, -- 发货日期 day of dispatch
  delivered_on DATE -- 签收日期 day of delivery, empty while it travels
);

CREATE TABLE reviews ( -- 商品评价 reviews of products
  id INTEGER PRIMARY KEY, -- 评价编号 review number
  product_id INTEGER NOT NULL REFERENCES products (id), -- 商品 product
  customer_id INTEGER NOT NULL REFERENCES customers (id), -- 客户 customer
  rating INTEGER NOT NULL CHECK (rating BETWEEN 1 AND 5), -- 评分 rating in stars, 1 to 5
  comment TEXT, -- 评价内容 what the customer wrote
  written_on DATE NOT NULL -- 评价日期 day of the review
);

CREATE TABLE 退货 ( -- 退货记录 returns: goods that came back
  退货号 INTEGER PRIMARY KEY, -- return number
  订单号 INTEGER NOT NULL REFERENCES orders (id), -- order
  原因 TEXT NOT NULL, -- reason
  退款金额 DECIMAL(10, 2) NOT NULL, -- refund in yuan
  退货日期 DATE NOT NULL -- day of the return
);

CREATE TABLE "Price History" ( -- 调价记录 changes of prices
  "Product Id" INTEGER NOT NULL REFERENCES products (id), -- 商品 product
  "Changed On" DATE NOT NULL, -- 调价日期 day of the change
  "Old Price" DECIMAL(10, 2) NOT NULL, -- 原价 price before
  "New Price" DECIMAL(10, 2) NOT NULL, -- 新价 price after
  PRIMARY KEY ("Product Id", "Changed On")
);

CREATE VIEW monthly_sales AS -- 每月销售额 sales by month, cancelled orders left out
  SELECT substr(ordered_at, 1, 7) AS month, count(*) AS order_count, round(sum(total), 2) AS sales
  FROM orders WHERE status <> 'cancelled' GROUP BY month;

CREATE VIEW low_stock AS -- 缺货预警 products of which more should be ordered
  SELECT p.id AS product_id, p.name AS product_name, s.warehouse, s.quantity, s.reorder_level
  FROM stock AS s JOIN products AS p ON p.id = s.product_id WHERE s.quantity < s.reorder_level;

CREATE INDEX orders_by_customer ON orders (customer_id);
CREATE INDEX items_by_product ON order_items (product_id);

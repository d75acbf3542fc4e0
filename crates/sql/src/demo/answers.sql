-- How many customers are there?
SELECT count(*) AS row_count
FROM main.customers;

-- How many orders were cancelled?
SELECT count(*) AS row_count
FROM main.orders
WHERE status = 'cancelled';

-- Show the total order amount by status
SELECT status, sum(total) AS total_value
FROM main.orders
GROUP BY status
ORDER BY total_value DESC
LIMIT 100;

-- What are the top 5 products by price?
SELECT name, price
FROM main.products
ORDER BY price DESC
LIMIT 5;

-- How many orders does each city have?
-- How many orders per city?
SELECT customers.city, count(*) AS row_count
FROM main.orders
JOIN main.customers ON customers.id = orders.customer_id
GROUP BY customers.city
ORDER BY row_count DESC
LIMIT 100;

-- Number of products per category
-- 每个分类有多少商品
SELECT categories.name, count(*) AS row_count
FROM main.products
JOIN main.categories ON categories.id = products.category_id
GROUP BY categories.name
ORDER BY row_count DESC
LIMIT 100;

-- What is the average salary per department?
-- 各部门的平均月薪
SELECT department, avg(salary) AS average_value
FROM main.employees
GROUP BY department
ORDER BY average_value DESC
LIMIT 100;

-- List all suppliers
SELECT *
FROM main.suppliers
LIMIT 100;

-- Which products have the highest rating?
-- 评分最高的商品是哪些?
SELECT products.name, avg(reviews.rating) AS average_value
FROM main.reviews
JOIN main.products ON products.id = reviews.product_id
GROUP BY products.name
ORDER BY average_value DESC
LIMIT 10;

-- How many gold customers are there?
SELECT count(*) AS row_count
FROM main.customers
WHERE level = 'gold';

-- What is the average price of products?
SELECT avg(price) AS average_value
FROM main.products;

-- Sum of payments by method
-- 每个付款方式的付款金额是多少?
SELECT method, sum(amount) AS total_value
FROM main.payments
GROUP BY method
ORDER BY total_value DESC
LIMIT 100;

-- Show the employees with the highest salary
SELECT name, salary
FROM main.employees
ORDER BY salary DESC
LIMIT 10;

-- How many customers are in London?
SELECT count(*) AS row_count
FROM main.customers
WHERE city = 'London';

-- What is the total shipping fee by carrier?
SELECT carrier, sum(fee) AS total_value
FROM main.shipments
GROUP BY carrier
ORDER BY total_value DESC
LIMIT 100;

-- How many reviews does each product have?
SELECT products.name, count(*) AS row_count
FROM main.reviews
JOIN main.products ON products.id = reviews.product_id
GROUP BY products.name
ORDER BY row_count DESC
LIMIT 100;

-- Show the cheapest products
SELECT name, price
FROM main.products
ORDER BY price
LIMIT 10;

-- Which products are low in stock?
SELECT product_name, product_id
FROM main.low_stock
LIMIT 100;

-- 有多少个供应商?
SELECT count(*) AS row_count
FROM main.suppliers;

-- 列出所有退货记录
SELECT *
FROM main.退货
LIMIT 100;

-- 每个城市有多少客户？
-- How many customers per city?
SELECT city, count(*) AS row_count
FROM main.customers
GROUP BY city
ORDER BY row_count DESC
LIMIT 100;

-- 单价最高的前3个商品
SELECT name, price
FROM main.products
ORDER BY price DESC
LIMIT 3;

-- 退款金额合计
SELECT sum(退款金额) AS total_value
FROM main.退货;

-- 每月销售额
SELECT month, count(*) AS row_count
FROM main.monthly_sales
GROUP BY month
ORDER BY row_count DESC
LIMIT 100;

-- 各仓库的库存数量
SELECT warehouse, sum(quantity) AS total_value
FROM main.stock
GROUP BY warehouse
ORDER BY total_value DESC
LIMIT 100;

-- 城市是“上海”的客户有多少
SELECT count(*) AS row_count
FROM main.customers
WHERE city = '上海';

-- How many orders are there?
-- How many orders?
SELECT count(*) AS row_count
FROM main.orders;

-- and by status?
SELECT status, count(*) AS row_count
FROM main.orders
GROUP BY status
ORDER BY row_count DESC
LIMIT 100;

-- How many orders has each customer?
SELECT customers.name, count(*) AS row_count
FROM main.orders
JOIN main.customers ON customers.id = orders.customer_id
GROUP BY customers.name
ORDER BY row_count DESC
LIMIT 100;

-- Which customers are from Berlin?
SELECT *
FROM main.customers
WHERE city = 'Berlin'
LIMIT 100;

-- How many products are there?
SELECT count(*) AS row_count
FROM main.products;

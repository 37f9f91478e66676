"""The queries of TPC-H as tables: without ORDER BY and LIMIT, with the group or the row as key."""

from __future__ import annotations

TABLES = {
    "region": {"r_regionkey": "int", "r_name": "string"},
    "nation": {"n_nationkey": "int", "n_name": "string", "n_regionkey": "int"},
    "supplier": {"s_suppkey": "int", "s_name": "string", "s_nationkey": "int", "s_acctbal": "int"},
    "customer": {
        "c_custkey": "int", "c_name": "string", "c_nationkey": "int", "c_phone": "string", "c_acctbal": "int",
        "c_mktsegment": "string",
    },
    "part": {
        "p_partkey": "int", "p_name": "string", "p_brand": "string", "p_type": "string", "p_size": "int",
        "p_container": "string",
    },
    "partsupp": {"ps_partkey": "int", "ps_suppkey": "int", "ps_availqty": "int", "ps_supplycost": "int"},
    "orders": {
        "o_orderkey": "int", "o_custkey": "int", "o_orderstatus": "string", "o_totalprice": "int", "o_year": "int",
        "o_orderpriority": "string",
    },
    "lineitem": {
        "l_orderkey": "int", "l_linenumber": "int", "l_partkey": "int", "l_suppkey": "int", "l_quantity": "int",
        "l_extendedprice": "int", "l_discount": "int", "l_year": "int", "l_late": "int", "l_shipmode": "string",
        "l_returnflag": "string",
    },
}  # fmt: skip
"""What the queries need of the tables; years stand for dates, `l_late` for a receipt after the commit date."""

QUERIES = {
    1: "SELECT l_returnflag, l_late, sum(l_quantity) AS q, sum(l_extendedprice * (1 - l_discount)) AS p, count(*) AS n "
    "FROM lineitem WHERE l_year <= 2 GROUP BY l_returnflag, l_late",
    2: "SELECT p_partkey, s_suppkey, s_acctbal, n_name FROM part, supplier, partsupp, nation, region "
    "WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND p_size = 1 AND s_nationkey = n_nationkey "
    "AND n_regionkey = r_regionkey AND r_name = 'x' AND ps_supplycost = (SELECT min(ps_supplycost) FROM partsupp, "
    "supplier, nation, region WHERE p_partkey = ps_partkey AND s_suppkey = ps_suppkey AND s_nationkey = n_nationkey "
    "AND n_regionkey = r_regionkey AND r_name = 'x')",
    3: "SELECT l_orderkey, o_year, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM customer, orders, lineitem "
    "WHERE c_mktsegment = 'x' AND c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_year < 2 AND l_year > 0 "
    "GROUP BY l_orderkey, o_year",
    4: "SELECT o_orderpriority, count(*) AS n FROM orders WHERE o_year = 1 AND EXISTS (SELECT * FROM lineitem "
    "WHERE l_orderkey = o_orderkey AND l_late = 1) GROUP BY o_orderpriority",
    5: "SELECT n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM customer, orders, lineitem, supplier, "
    "nation, region WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey "
    "AND c_nationkey = s_nationkey AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'x' "
    "GROUP BY n_name",
    6: "SELECT sum(l_extendedprice * l_discount) AS revenue FROM lineitem WHERE l_year = 1 AND l_quantity < 2",
    7: "SELECT supp_nation, cust_nation, l_year, sum(volume) AS revenue FROM (SELECT n1.n_name AS supp_nation, "
    "n2.n_name AS cust_nation, l_year, l_extendedprice * (1 - l_discount) AS volume FROM supplier, lineitem, orders, "
    "customer, nation n1, nation n2 WHERE s_suppkey = l_suppkey AND o_orderkey = l_orderkey AND c_custkey = o_custkey "
    "AND s_nationkey = n1.n_nationkey AND c_nationkey = n2.n_nationkey AND n1.n_name <> n2.n_name) shipping "
    "GROUP BY supp_nation, cust_nation, l_year",
    8: "SELECT o_year, sum(CASE WHEN nation = 'x' THEN volume ELSE 0 END) AS share FROM (SELECT o_year, "
    "l_extendedprice * (1 - l_discount) AS volume, n2.n_name AS nation FROM part, supplier, lineitem, orders, "
    "customer, nation n1, nation n2, region WHERE p_partkey = l_partkey AND s_suppkey = l_suppkey "
    "AND l_orderkey = o_orderkey AND o_custkey = c_custkey AND c_nationkey = n1.n_nationkey "
    "AND n1.n_regionkey = r_regionkey AND r_name = 'x' AND s_nationkey = n2.n_nationkey AND p_type = 'y') all_nations "
    "GROUP BY o_year",
    9: "SELECT nation, o_year, sum(amount) AS profit FROM (SELECT n_name AS nation, o_year, l_extendedprice * "
    "(1 - l_discount) - ps_supplycost * l_quantity AS amount FROM part, supplier, lineitem, partsupp, orders, nation "
    "WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey "
    "AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%x%') profit GROUP BY nation, o_year",
    10: "SELECT c_custkey, c_name, c_acctbal, n_name, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM "
    "customer, orders, lineitem, nation WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_year = 1 "
    "AND l_returnflag = 'x' AND c_nationkey = n_nationkey GROUP BY c_custkey, c_name, c_acctbal, n_name",
    11: "SELECT ps_partkey, sum(ps_supplycost * ps_availqty) AS value FROM partsupp, supplier, nation "
    "WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'x' GROUP BY ps_partkey "
    "HAVING sum(ps_supplycost * ps_availqty) > (SELECT sum(ps_supplycost * ps_availqty) / 10 FROM partsupp, supplier, "
    "nation WHERE ps_suppkey = s_suppkey AND s_nationkey = n_nationkey AND n_name = 'x')",
    12: "SELECT l_shipmode, sum(CASE WHEN o_orderpriority = 'x' THEN 1 ELSE 0 END) AS high FROM orders, lineitem "
    "WHERE o_orderkey = l_orderkey AND l_shipmode IN ('x', 'y') AND l_late = 1 GROUP BY l_shipmode",
    13: "SELECT c_count, count(*) AS custdist FROM (SELECT c_custkey, count(o_orderkey) AS c_count FROM customer "
    "LEFT JOIN orders ON c_custkey = o_custkey AND o_orderstatus <> 'x' GROUP BY c_custkey) c_orders GROUP BY c_count",
    14: "SELECT sum(CASE WHEN p_type LIKE 'x%' THEN l_extendedprice ELSE 0 END) AS promo, "
    "sum(l_extendedprice) AS total FROM lineitem, part WHERE l_partkey = p_partkey AND l_year = 1",
    15: "WITH revenue AS (SELECT l_suppkey AS supplier_no, sum(l_extendedprice * (1 - l_discount)) AS total FROM "
    "lineitem WHERE l_year = 1 GROUP BY l_suppkey) SELECT s_suppkey, s_name, total FROM supplier, revenue "
    "WHERE s_suppkey = supplier_no AND total = (SELECT max(total) FROM revenue)",
    16: "SELECT p_brand, p_type, p_size, count(DISTINCT ps_suppkey) AS suppliers FROM partsupp, part "
    "WHERE p_partkey = ps_partkey AND p_brand <> 'x' AND ps_suppkey NOT IN (SELECT s_suppkey FROM supplier "
    "WHERE s_acctbal < 1) GROUP BY p_brand, p_type, p_size",
    17: "SELECT sum(l_extendedprice) AS total FROM lineitem, part WHERE p_partkey = l_partkey AND p_brand = 'x' "
    "AND l_quantity < (SELECT avg(l_quantity) FROM lineitem WHERE l_partkey = p_partkey)",
    18: "SELECT c_name, c_custkey, o_orderkey, o_year, o_totalprice, sum(l_quantity) AS q FROM customer, orders, "
    "lineitem WHERE o_orderkey IN (SELECT l_orderkey FROM lineitem GROUP BY l_orderkey HAVING sum(l_quantity) > 3) "
    "AND c_custkey = o_custkey AND o_orderkey = l_orderkey GROUP BY c_name, c_custkey, o_orderkey, o_year, "
    "o_totalprice",
    19: "SELECT sum(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem, part WHERE p_partkey = l_partkey "
    "AND ((p_brand = 'x' AND l_quantity < 2) OR (p_brand = 'y' AND l_quantity > 1))",
    20: "SELECT s_suppkey, s_name FROM supplier, nation WHERE s_suppkey IN (SELECT ps_suppkey FROM partsupp "
    "WHERE ps_partkey IN (SELECT p_partkey FROM part WHERE p_name LIKE 'x%') AND ps_availqty > (SELECT sum(l_quantity) "
    "FROM lineitem WHERE l_partkey = ps_partkey AND l_suppkey = ps_suppkey)) AND s_nationkey = n_nationkey "
    "AND n_name = 'x'",
    21: "SELECT s_suppkey, count(*) AS waits FROM supplier, lineitem l1, orders, nation WHERE s_suppkey = l1.l_suppkey "
    "AND o_orderkey = l1.l_orderkey AND o_orderstatus = 'x' AND l1.l_late = 1 AND EXISTS (SELECT * FROM lineitem l2 "
    "WHERE l2.l_orderkey = l1.l_orderkey AND l2.l_suppkey <> l1.l_suppkey) AND NOT EXISTS (SELECT * FROM lineitem l3 "
    "WHERE l3.l_orderkey = l1.l_orderkey AND l3.l_suppkey <> l1.l_suppkey AND l3.l_late = 1) "
    "AND s_nationkey = n_nationkey AND n_name = 'x' GROUP BY s_suppkey",
    22: "SELECT cntrycode, count(*) AS customers, sum(c_acctbal) AS balance FROM (SELECT substring(c_phone, 1, 1) AS "
    "cntrycode, c_acctbal FROM customer WHERE c_acctbal > (SELECT avg(c_acctbal) FROM customer WHERE c_acctbal > 0) "
    "AND NOT EXISTS (SELECT * FROM orders WHERE o_custkey = c_custkey)) custsale GROUP BY cntrycode",
}

UNFOLLOWED: dict[int, tuple[str, ...]] = {
    6: ("lineitem",),
    11: ("nation", "partsupp", "supplier"),
    13: ("customer", "orders"),
    14: ("lineitem", "part"),
    15: ("lineitem",),
    16: ("supplier",),
    17: ("lineitem", "part"),
    19: ("lineitem", "part"),
    22: ("customer",),
}
"""Query -> the inputs whose changes have everything computed; all others follow every input."""

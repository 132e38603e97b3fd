"""mysqlclient and MySQL's own connector, over TLS that they verify, packed and not.

Arguments: port, the authority's certificate.
"""
import sys

import MySQLdb
import mysql.connector

port, ca = int(sys.argv[1]), sys.argv[2]
STATUS = ("SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME IN "
          "('Compression', 'Compression_algorithm', 'Ssl_version') ORDER BY VARIABLE_NAME")


def talk(name, c, marker):
    """What every driver does; one line of what came of it."""
    cur = c.cursor()
    cur.execute(STATUS)
    how = [value for (value,) in cur.fetchall()]
    cur.execute("CREATE DATABASE IF NOT EXISTS drivers")
    cur.execute("USE drivers")
    cur.execute("DROP TABLE IF EXISTS t")
    cur.execute("CREATE TABLE t (a INT PRIMARY KEY, b LONGTEXT)")
    cur.executemany(f"INSERT INTO t VALUES ({marker}, {marker})", [(n, "x" * n) for n in range(500)])
    long = "0123456789" * 400_000
    cur.execute(f"INSERT INTO t VALUES (1000, {marker})", (long,))
    c.commit()
    cur.execute("SELECT b FROM t WHERE a = 1000")
    same = cur.fetchall()[0][0] == long
    cur.execute("SELECT a, b FROM t WHERE a < 500 ORDER BY a")
    rows = cur.fetchall()
    good = all(b == "x" * a for a, b in rows)
    try:
        cur.execute("SELECT nosuch")
        error = 0
    except Exception as e:
        error = e.args[0]
    print(name, *[word or "-" for word in how], len(rows), good, same, error)
    c.close()


SECURED = dict(ssl_ca=ca, ssl_verify_cert=True, ssl_verify_identity=True)
# The word is enough for mysqlclient, whatever its value.
for packed in ({}, {"compress": True}):
    talk("mysqlclient", MySQLdb.connect(
        host="127.0.0.1", port=port, user="root", charset="utf8mb4",
        ssl_mode="VERIFY_IDENTITY", ssl={"ca": ca}, **packed), "%s")
    talk("connector", mysql.connector.connect(
        host="127.0.0.1", port=port, user="root", use_pure=True, **SECURED, **packed), "%s")
# Another user by the same connection: in full, and by what is cached then.
c = MySQLdb.connect(host="127.0.0.1", port=port, user="root",
                    ssl_mode="VERIFY_IDENTITY", ssl={"ca": ca})
cur = c.cursor()
cur.execute("CREATE USER other IDENTIFIED BY 'secret' REQUIRE SSL")
cur.execute("GRANT ALL ON drivers.* TO other")
for _ in range(2):
    c.change_user("other", "secret", "drivers")
    cur = c.cursor()
    cur.execute("SELECT CURRENT_USER(), DATABASE()")
    print("mysqlclient", *cur.fetchone())
# MySQL's own connector asks for TLS without being told to.
c = mysql.connector.connect(host="127.0.0.1", port=port, user="root", use_pure=True)
for _ in range(2):
    c.cmd_change_user("other", "secret", "drivers")
    cur = c.cursor()
    cur.execute("SELECT CURRENT_USER(), DATABASE()")
    print("connector", *cur.fetchone())
cur.execute("SHOW STATUS LIKE 'Ssl_version'")
print(*cur.fetchone())
# Attributes of statements, and a statement of the protocol that is prepared.
c = mysql.connector.connect(host="127.0.0.1", port=port, user="root", use_pure=True, **SECURED)
for prepared in (False, True):
    cur = c.cursor(prepared=prepared)
    cur.add_attribute("trace", "0123")
    cur.add_attribute("n", 7)
    cur.execute("SELECT %s + 1, %s", (41, "text"))
    print("attributes", *[str(v) for v in cur.fetchall()[0]])

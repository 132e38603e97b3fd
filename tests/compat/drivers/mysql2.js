// mysql2 over TLS that it verifies, packed and not. Arguments: the folder of modules, port, the authority's certificate.
const [modules, port, ca] = process.argv.slice(2);
const mysql = require(modules + '/mysql2/promise');
const fs = require('fs');

async function talk(name, options) {
  const c = await mysql.createConnection({ host: '127.0.0.1', port: Number(port), user: 'root', ...options });
  const [how] = await c.query({ sql: "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME IN " +
    "('Compression', 'Compression_algorithm', 'Ssl_version') ORDER BY VARIABLE_NAME", rowsAsArray: true });
  await c.query('CREATE DATABASE IF NOT EXISTS drivers');
  await c.query('USE drivers');
  await c.query('DROP TABLE IF EXISTS t');
  await c.query('CREATE TABLE t (a INT PRIMARY KEY, b LONGTEXT)');
  const rows = Array.from({ length: 500 }, (_, n) => [n, 'x'.repeat(n)]);
  await c.query('INSERT INTO t VALUES ?', [rows]);
  const long = '0123456789'.repeat(400000);
  await c.execute('INSERT INTO t VALUES (?, ?)', [1000, long]);
  const [[{ b }]] = await c.execute('SELECT b FROM t WHERE a = ?', [1000]);
  const [back] = await c.query('SELECT a, b FROM t WHERE a < 500 ORDER BY a');
  const good = back.every((row) => row.b === 'x'.repeat(row.a));
  const error = await c.query('SELECT nosuch').then(() => 0, (e) => e.errno);
  console.log(name, ...how.map(([word]) => word || '-'), back.length, good, b === long, error);
  await c.end();
}

(async () => {
  const ssl = { ca: fs.readFileSync(ca), rejectUnauthorized: true, verifyIdentity: true };
  await talk('clear', {});
  await talk('packed', { compress: true });
  await talk('secured', { ssl });
  await talk('both', { ssl, compress: true });
})().catch((e) => { console.error(e); process.exit(1); });

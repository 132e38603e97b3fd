// Connector/J over TLS that it verifies, packed and not, with cursors and batches.
// Arguments: port, a store of the authority's certificate, its password.

import java.sql.*;
import java.util.Properties;

public class Connector {
    static void talk(String name, String port, Properties more) throws SQLException {
        more.setProperty("user", "root");
        more.setProperty("createDatabaseIfNotExist", "true");
        try (Connection c = DriverManager.getConnection("jdbc:mysql://127.0.0.1:" + port + "/drivers", more);
                Statement s = c.createStatement()) {
            StringBuilder how = new StringBuilder();
            try (ResultSet r = s.executeQuery("SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE "
                    + "VARIABLE_NAME IN ('Compression', 'Compression_algorithm', 'Ssl_version') ORDER BY VARIABLE_NAME")) {
                while (r.next()) how.append(r.getString(1).isEmpty() ? "-" : r.getString(1)).append(' ');
            }
            s.execute("DROP TABLE IF EXISTS t");
            s.execute("CREATE TABLE t (a INT PRIMARY KEY, b LONGTEXT)");
            c.setAutoCommit(false);
            try (PreparedStatement p = c.prepareStatement("INSERT INTO t VALUES (?, ?)")) {
                for (int n = 0; n < 500; n++) {
                    p.setInt(1, n);
                    p.setString(2, "x".repeat(n));
                    p.addBatch();
                }
                p.executeBatch();
                p.setInt(1, 1000);
                p.setString(2, "0123456789".repeat(400_000));
                p.executeUpdate();
            }
            c.commit();
            int rows = 0;
            boolean good = true, same;
            try (PreparedStatement p = c.prepareStatement("SELECT a, b FROM t WHERE a < ? ORDER BY a")) {
                p.setFetchSize(50);
                p.setInt(1, 500);
                try (ResultSet r = p.executeQuery()) {
                    for (; r.next(); rows++) good &= r.getString(2).equals("x".repeat(r.getInt(1)));
                }
            }
            try (ResultSet r = s.executeQuery("SELECT b FROM t WHERE a = 1000")) {
                r.next();
                same = r.getString(1).equals("0123456789".repeat(400_000));
            }
            int error = 0;
            try {
                s.executeQuery("SELECT nosuch");
            } catch (SQLException e) {
                error = e.getErrorCode();
            }
            ((com.mysql.cj.jdbc.JdbcStatement) s).setAttribute("trace", "0123");
            try (ResultSet r = s.executeQuery("SELECT 42")) {
                r.next();
                System.out.println(name + " " + how + rows + " " + good + " " + same + " " + error + " " + r.getInt(1));
            }
        }
    }

    static Properties of(String... pairs) {
        Properties all = new Properties();
        for (int i = 0; i < pairs.length; i += 2) all.setProperty(pairs[i], pairs[i + 1]);
        return all;
    }

    public static void main(String[] args) throws SQLException {
        talk("clear", args[0], of("sslMode", "DISABLED"));
        talk("packed", args[0], of("sslMode", "DISABLED", "useCompression", "true"));
        String[] secured = {"sslMode", "VERIFY_IDENTITY", "trustCertificateKeyStoreUrl", "file:" + args[1],
            "trustCertificateKeyStorePassword", args[2]};
        talk("secured", args[0], of(secured));
        Properties all = of(secured);
        all.putAll(of("useCompression", "true", "useServerPrepStmts", "true", "useCursorFetch", "true",
            "rewriteBatchedStatements", "true", "trackSessionState", "true"));
        talk("all", args[0], all);
    }
}

// An application over Connector/J: transfers as prepared statements, every fifth taken back.
// Arguments: the address's port, whether statements are prepared by the server, the number of the first transfer.

import java.sql.*;

public class App {
    static void run(PreparedStatement statement, long... values) throws SQLException {
        for (int n = 0; n < values.length; n++) statement.setLong(n + 1, values[n]);
        if (statement.executeUpdate() != 1) throw new SQLException("one row was to change");
    }

    static long number(Connection c, String text) throws SQLException {
        try (Statement s = c.createStatement(); ResultSet r = s.executeQuery(text)) {
            r.next();
            return r.getLong(1);
        }
    }

    public static void main(String[] args) throws SQLException {
        String url = "jdbc:mysql://127.0.0.1:" + args[0]
            + "/shop?sslMode=DISABLED&allowPublicKeyRetrieval=true&useServerPrepStmts=" + args[1];
        long first = Long.parseLong(args[2]);
        try (Connection c = DriverManager.getConnection(url, "root", "root")) {
            c.setAutoCommit(false);
            try (PreparedStatement change = c.prepareStatement("UPDATE accounts SET balance = balance + ? WHERE id = ?");
                    PreparedStatement line = c.prepareStatement("INSERT INTO transfers (id, payer, payee, amount) VALUES (?, ?, ?, ?)");
                    PreparedStatement look = c.prepareStatement("SELECT id, balance FROM accounts WHERE id IN (?, ?) ORDER BY id")) {
                for (int n = 1; n <= 50; n++) {
                    run(change, -n, n);
                    run(change, n, n + 1);
                    run(line, first + n, n, n + 1, n);
                    look.setLong(1, n);
                    look.setLong(2, n + 1);
                    try (ResultSet r = look.executeQuery()) {
                        int rows = 0;
                        for (; r.next(); rows++) if (r.getLong(1) != n + rows) throw new SQLException("account " + r.getLong(1));
                        if (rows != 2) throw new SQLException(rows + " rows");
                    }
                    if (n % 5 == 0) c.rollback();
                    else c.commit();
                }
            }
            System.out.println(number(c, "SELECT SUM(balance) FROM accounts") + " " + number(c, "SELECT COUNT(*) FROM transfers"));
        }
    }
}

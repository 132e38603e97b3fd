// Atomikos as a manager of transactions over two servers; it dies before and after it has decided, and comes back.
// Arguments: the ports of two servers, the manager's folder, what to do: work, undecided, decided, recovered.

import com.atomikos.datasource.xa.XATransactionalResource;
import com.atomikos.icatch.config.Configuration;
import com.atomikos.icatch.config.UserTransactionServiceImp;
import com.atomikos.icatch.jta.UserTransactionManager;
import com.atomikos.jdbc.AtomikosDataSourceBean;
import java.sql.*;
import java.util.Properties;
import javax.transaction.xa.*;

public class Manager {
    static AtomikosDataSourceBean source(String name, String port) {
        AtomikosDataSourceBean bean = new AtomikosDataSourceBean();
        bean.setUniqueResourceName(name);
        bean.setXaDataSourceClassName("com.mysql.cj.jdbc.MysqlXADataSource");
        Properties more = new Properties();
        more.setProperty("url", "jdbc:mysql://127.0.0.1:" + port
            + "/managed?createDatabaseIfNotExist=true&sslMode=DISABLED&allowPublicKeyRetrieval=true");
        more.setProperty("user", "root");
        bean.setXaProperties(more);
        bean.setPoolSize(3);
        return bean;
    }

    static int number(AtomikosDataSourceBean source, String text) throws SQLException {
        try (Connection c = source.getConnection(); Statement s = c.createStatement(); ResultSet r = s.executeQuery(text)) {
            r.next();
            return r.getInt(1);
        }
    }

    static void change(AtomikosDataSourceBean source, int by) throws SQLException {
        try (Connection c = source.getConnection(); Statement s = c.createStatement()) {
            s.executeUpdate("UPDATE a SET v = v + " + by + " WHERE id = 1");
        }
    }

    /** A part of a transaction that ends the process when it is asked to prepare, or to commit. */
    record Deadly(boolean atPrepare) implements XAResource {
        static void die() {
            Runtime.getRuntime().halt(9);
        }
        public int prepare(Xid xid) {
            if (atPrepare) die();
            return XA_OK;
        }
        public void commit(Xid xid, boolean onePhase) { die(); }
        public void rollback(Xid xid) { }
        public void start(Xid xid, int flags) { }
        public void end(Xid xid, int flags) { }
        public void forget(Xid xid) { }
        public Xid[] recover(int flag) { return new Xid[0]; }
        public boolean isSameRM(XAResource other) { return other == this; }
        public int getTransactionTimeout() { return 0; }
        public boolean setTransactionTimeout(int seconds) { return false; }
    }

    public static void main(String[] args) throws Exception {
        Properties settings = new Properties();
        String name = "com.atomikos.icatch.";
        settings.setProperty(name + "tm_unique_name", "manager");
        settings.setProperty(name + "log_base_dir", args[2]);
        settings.setProperty(name + "recovery_delay", "1000");
        settings.setProperty(name + "max_timeout", "5000");
        settings.setProperty(name + "default_jta_timeout", "5000");
        UserTransactionServiceImp service = new UserTransactionServiceImp(settings);
        service.init();
        AtomikosDataSourceBean one = source("one", args[0]), two = source("two", args[1]);
        UserTransactionManager manager = new UserTransactionManager();
        manager.setStartupTransactionService(false);
        manager.init();
        String what = args[3];
        if (what.equals("work")) {
            for (AtomikosDataSourceBean each : new AtomikosDataSourceBean[] {one, two}) {
                try (Connection c = each.getConnection(); Statement s = c.createStatement()) {
                    s.execute("DROP TABLE IF EXISTS a");
                    s.execute("CREATE TABLE a (id INT PRIMARY KEY, v INT)");
                    s.execute("INSERT INTO a VALUES (1, 1000)");
                }
            }
            for (int n = 1; n <= 30; n++) {
                manager.begin();
                change(one, -n);
                change(two, n);
                if (n % 3 == 0) manager.rollback();
                else manager.commit();
            }
        } else if (what.equals("recovered")) {
            // Looks for branches in doubt are a second apart; one without a decision is given five.
            for (int n = 0; n < 60; n++) {
                int left = 0;
                for (AtomikosDataSourceBean each : new AtomikosDataSourceBean[] {one, two})
                    try (Connection c = each.getConnection(); Statement s = c.createStatement(); ResultSet r = s.executeQuery("XA RECOVER")) {
                        while (r.next()) left++;
                    }
                if (left == 0) break;
                Thread.sleep(500);
            }
        } else {
            int amount = what.equals("decided") ? 100 : 7;
            Deadly deadly = new Deadly(what.equals("undecided"));
            Configuration.addResource(new XATransactionalResource("deadly") {
                protected XAResource refreshXAConnection() {
                    return deadly;
                }
            });
            manager.begin();
            change(one, -amount);
            manager.getTransaction().enlistResource(deadly);
            change(two, amount);
            manager.commit();
        }
        System.out.println(what + " " + number(one, "SELECT v FROM a") + " " + number(two, "SELECT v FROM a"));
        one.close();
        two.close();
        manager.close();
        service.shutdown(false);
    }
}

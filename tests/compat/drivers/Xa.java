// Branches of transactions over two servers by Connector/J's MysqlXADataSource, without a manager.
// Arguments: the ports of two servers. One line for each thing that is tried.

import com.mysql.cj.jdbc.MysqlXADataSource;
import com.mysql.cj.jdbc.MysqlXid;
import java.sql.*;
import java.util.*;
import java.util.concurrent.CyclicBarrier;
import javax.sql.XAConnection;
import javax.transaction.xa.*;

public class Xa {
    /** A connection of a server, as a manager sees it. */
    static class Branch implements AutoCloseable {
        final XAConnection xa;
        final XAResource resource;
        final Connection sql;

        Branch(int server) throws SQLException {
            MysqlXADataSource source = new MysqlXADataSource();
            source.setUrl("jdbc:mysql://127.0.0.1:" + ports[server]
                + "/xa?createDatabaseIfNotExist=true&sslMode=DISABLED&allowPublicKeyRetrieval=true");
            source.setUser("root");
            xa = source.getXAConnection();
            resource = xa.getXAResource();
            sql = xa.getConnection();
        }

        int run(String text) throws SQLException {
            try (Statement s = sql.createStatement()) {
                return s.executeUpdate(text);
            }
        }

        int number(String text) throws SQLException {
            try (Statement s = sql.createStatement(); ResultSet r = s.executeQuery(text)) {
                r.next();
                return r.getInt(1);
            }
        }

        /** A branch that has done its work and is prepared. */
        void prepared(Xid xid, String work) throws Exception {
            resource.start(xid, XAResource.TMNOFLAGS);
            run(work);
            resource.end(xid, XAResource.TMSUCCESS);
            resource.prepare(xid);
        }

        public void close() throws SQLException {
            xa.close();
        }
    }

    interface Step { Object run() throws Exception; }

    static String[] ports;
    static int transactions;

    static Xid xid(int transaction, int branch) {
        return new MysqlXid(("t" + transaction).getBytes(), ("b" + branch).getBytes(), 7);
    }

    /** What a step gives, or how it fails: XA's code and the server's number. */
    static String of(Step step) {
        try {
            return String.valueOf(step.run());
        } catch (XAException e) {
            Throwable cause = e.getCause();
            for (; cause != null && !(cause instanceof SQLException); cause = cause.getCause());
            String by = cause == null ? "" : "/" + ((SQLException) cause).getErrorCode();
            String number = e.getMessage() == null ? "" : e.getMessage().replaceAll("(?s).*?(XA\\w+).*", "$1");
            return "xa" + e.errorCode + by + " " + number;
        } catch (SQLException e) {
            return "sql" + e.getErrorCode() + "/" + e.getSQLState();
        } catch (Exception e) {
            return e.toString();
        }
    }

    static Step quiet(Action action) {
        return () -> {
            action.run();
            return "ok";
        };
    }

    interface Action { void run() throws Exception; }

    static void tell(String name, Object... what) {
        StringJoiner all = new StringJoiner(", ");
        for (Object one : what) all.add(String.valueOf(one));
        System.out.println(name + ": " + all);
    }

    static List<String> inDoubt(Branch branch) throws XAException {
        List<String> all = new ArrayList<>();
        for (Xid x : branch.resource.recover(XAResource.TMSTARTRSCAN | XAResource.TMENDRSCAN))
            all.add(x.getFormatId() + "/" + new String(x.getGlobalTransactionId()) + "/" + new String(x.getBranchQualifier()));
        Collections.sort(all);
        return all;
    }

    static final String PAYS = "UPDATE a SET v = v - 10 WHERE id = 1", GETS = "UPDATE a SET v = v + 10 WHERE id = 1";
    static final String VALUE = "SELECT v FROM a WHERE id = 1";

    static void twoServers() throws Exception {
        try (Branch one = new Branch(0); Branch two = new Branch(1)) {
            for (Branch each : List.of(one, two)) {
                each.run("DROP TABLE IF EXISTS a");
                each.run("CREATE TABLE a (id INT PRIMARY KEY, v INT)");
                each.run("INSERT INTO a VALUES (1, 100), (2, 100), (3, 100)");
            }
            tell("same server", one.resource.isSameRM(one.resource), one.resource.isSameRM(two.resource));
            for (boolean commits : new boolean[] {true, false}) {
                int t = ++transactions;
                one.prepared(xid(t, 1), PAYS);
                two.prepared(xid(t, 2), GETS);
                tell("in doubt", inDoubt(one), inDoubt(two));
                for (Branch each : List.of(one, two)) {
                    Xid x = xid(t, each == one ? 1 : 2);
                    if (commits) each.resource.commit(x, false);
                    else each.resource.rollback(x);
                }
                tell(commits ? "committed" : "rolled back", one.number(VALUE), two.number(VALUE), inDoubt(one), inDoubt(two));
            }
        }
    }

    static void oneServer() throws Exception {
        try (Branch one = new Branch(0); Branch other = new Branch(0)) {
            int t = ++transactions;
            one.resource.start(xid(t, 1), XAResource.TMNOFLAGS);
            one.run(PAYS);
            one.resource.end(xid(t, 1), XAResource.TMSUCCESS);
            one.resource.rollback(xid(t, 1));
            tell("rolled back before it is prepared", one.number(VALUE));
            one.resource.start(xid(t, 2), XAResource.TMNOFLAGS);
            one.run(PAYS);
            one.resource.end(xid(t, 2), XAResource.TMSUCCESS);
            one.resource.commit(xid(t, 2), true);
            tell("one phase", one.number(VALUE));
            one.prepared(xid(t, 3), GETS);
            // Servers leave a prepared branch to any connection and do not look at how many phases it had.
            tell("one phase after it is prepared", of(quiet(() -> one.resource.commit(xid(t, 3), true))), one.number(VALUE));
            one.prepared(xid(t, 3), PAYS);
            other.run("SET innodb_lock_wait_timeout = 1");
            tell("prepared", other.number(VALUE), of(() -> other.run(GETS)), other.run("UPDATE a SET v = v WHERE id = 2"));
            one.resource.commit(xid(t, 3), false);
            tell("then committed", other.number(VALUE), other.run("UPDATE a SET v = v WHERE id = 1"));
            // Two branches of one transaction on one server are two to it.
            one.prepared(xid(t, 4), "UPDATE a SET v = v + 1 WHERE id = 2");
            other.prepared(xid(t, 5), "UPDATE a SET v = v + 1 WHERE id = 3");
            tell("branches of one transaction", inDoubt(one));
            one.resource.commit(xid(t, 5), false);
            other.resource.rollback(xid(t, 4));
            tell("each by the other's connection", one.number("SELECT SUM(v) FROM a WHERE id > 1"));
            one.prepared(xid(t, 6), "DO 0");
            one.resource.commit(xid(t, 6), false);
            tell("nothing to do", inDoubt(one));
        }
    }

    static void lostConnection() throws Exception {
        int t = ++transactions;
        int before;
        try (Branch one = new Branch(0)) {
            before = one.number(VALUE);
            one.prepared(xid(t, 1), PAYS);
        }
        byte[] gtrid = new byte[64], bqual = new byte[64];
        for (int i = 0; i < 64; i++) {
            gtrid[i] = (byte) (i * 4);
            bqual[i] = (byte) (255 - i);
        }
        Xid longest = new MysqlXid(gtrid, bqual, Integer.MAX_VALUE);
        try (Branch one = new Branch(0)) {
            one.prepared(longest, "UPDATE a SET v = 0 WHERE id = 3");
            // Not ended: the server rolls it back with the connection.
            try (Branch two = new Branch(0)) {
                two.resource.start(xid(t, 2), XAResource.TMNOFLAGS);
                two.run("UPDATE a SET v = 0 WHERE id = 2");
            }
        }
        try (Branch one = new Branch(0)) {
            boolean same = false;
            for (Xid x : one.resource.recover(XAResource.TMSTARTRSCAN))
                same |= x.getFormatId() == Integer.MAX_VALUE && Arrays.equals(x.getGlobalTransactionId(), gtrid)
                    && Arrays.equals(x.getBranchQualifier(), bqual);
            tell("longest name comes back", same, one.resource.recover(XAResource.TMNOFLAGS).length);
            one.resource.rollback(longest);
            tell("outlives its connection", inDoubt(one), one.number(VALUE) == before);
            one.resource.commit(xid(t, 1), false);
            tell("committed by another", one.number(VALUE) == before - 10, one.number("SELECT COUNT(*) FROM a WHERE v = 0"));
        }
    }

    static void errors() throws Exception {
        int t = ++transactions;
        try (Branch one = new Branch(0); Branch two = new Branch(0)) {
            XAResource r = one.resource;
            tell("unknown", of(quiet(() -> r.commit(xid(t, 9), false))), of(quiet(() -> r.rollback(xid(t, 9)))),
                of(() -> r.prepare(xid(t, 9))), of(quiet(() -> r.end(xid(t, 9), XAResource.TMSUCCESS))));
            r.start(xid(t, 1), XAResource.TMNOFLAGS);
            tell("active", of(quiet(() -> r.start(xid(t, 2), XAResource.TMNOFLAGS))),
                of(quiet(() -> two.resource.start(xid(t, 1), XAResource.TMNOFLAGS))),
                of(() -> r.prepare(xid(t, 1))), of(quiet(() -> r.commit(xid(t, 1), true))), of(quiet(() -> r.rollback(xid(t, 1)))),
                of(quiet(() -> r.end(xid(t, 2), XAResource.TMSUCCESS))));
            tell("statements that commit", of(() -> one.run("CREATE TABLE b (a INT)")), of(() -> one.run("BEGIN")),
                of(() -> one.run("COMMIT")), of(() -> one.run("ROLLBACK")), of(() -> one.run("SET autocommit = 1")),
                of(quiet(one.sql::commit)), of(quiet(one.sql::rollback)), of(quiet(() -> one.sql.setAutoCommit(true))));
            one.run("UPDATE a SET v = 7 WHERE id = 3");
            tell("suspended", of(quiet(() -> r.end(xid(t, 1), XAResource.TMSUSPEND))));
            tell("failed", of(quiet(() -> r.end(xid(t, 1), XAResource.TMFAIL))));
            tell("idle", of(() -> one.run(PAYS)), of(() -> one.number(VALUE)),
                of(quiet(() -> r.start(xid(t, 1), XAResource.TMRESUME))), of(quiet(() -> r.start(xid(t, 1), XAResource.TMJOIN))),
                of(quiet(() -> two.resource.start(xid(t, 1), XAResource.TMJOIN))),
                of(quiet(() -> two.resource.commit(xid(t, 1), true))), of(quiet(() -> r.end(xid(t, 1), XAResource.TMSUCCESS))));
            tell("prepared", of(() -> r.prepare(xid(t, 1))), of(() -> r.prepare(xid(t, 1))),
                of(quiet(() -> two.resource.start(xid(t, 1), XAResource.TMNOFLAGS))), of(() -> one.run("UPDATE a SET v = v WHERE id = 2")));
            two.resource.rollback(xid(t, 1));
            tell("rolled back by another", of(quiet(() -> r.rollback(xid(t, 1)))), one.number("SELECT v FROM a WHERE id = 3"),
                of(() -> one.run("UPDATE a SET v = v WHERE id = 2")));
            one.sql.setAutoCommit(false);
            one.run("UPDATE a SET v = v + 1 WHERE id = 2");
            tell("after other work", of(quiet(() -> r.start(xid(t, 3), XAResource.TMNOFLAGS))));
            one.sql.rollback();
        }
    }

    /** Each of two branches waits for the other: one of them is rolled back by the server. */
    static void deadlock() throws Exception {
        int t = ++transactions;
        CyclicBarrier both = new CyclicBarrier(2);
        List<String> said = Collections.synchronizedList(new ArrayList<>());
        Thread[] threads = new Thread[2];
        for (int n = 0; n < 2; n++) {
            int branch = n;
            threads[n] = new Thread(() -> {
                try (Branch one = new Branch(0)) {
                    Xid x = xid(t, branch);
                    one.resource.start(x, XAResource.TMNOFLAGS);
                    one.run("UPDATE a SET v = v WHERE id = " + (2 + branch));
                    both.await();
                    String update = of(() -> one.run("UPDATE a SET v = v WHERE id = " + (3 - branch)));
                    String end = of(quiet(() -> one.resource.end(x, XAResource.TMSUCCESS)));
                    String prepare = of(() -> one.resource.prepare(x));
                    said.add(update + " " + end + " " + prepare + " " + of(quiet(() -> one.resource.rollback(x))));
                } catch (Exception e) {
                    said.add(e.toString());
                }
            });
            threads[n].start();
        }
        for (Thread each : threads) each.join();
        Collections.sort(said);
        tell("deadlock", said.toArray());
    }

    public static void main(String[] args) throws Exception {
        ports = args;
        twoServers();
        oneServer();
        lostConnection();
        errors();
        deadlock();
        try (Branch one = new Branch(0); Branch two = new Branch(1)) {
            tell("left in doubt", inDoubt(one), inDoubt(two));
        }
    }
}

//! What is done to a fresh server before others may reach it: the steps of `mysql_secure_installation`.

use super::logins::{run, try_as, value, values};
use testkit::{Server, TempDir, TextClient};

/// A schema that everybody may write, and accounts that nobody wants, as servers of long ago had from the start.
const OLD: [&str; 7] = [
    "CREATE DATABASE test",
    "CREATE USER ''@localhost, root@'%', guest",
    "GRANT ALL ON test.* TO ''@localhost",
    r"GRANT ALL ON `test\_%`.* TO ''@localhost",
    "GRANT ALL ON test.* TO guest",
    r"GRANT ALL ON `test\_%`.* TO guest",
    "GRANT ALL ON *.* TO root@'%'",
];

/// In the order of MySQL 8.4's program, which goes on where a step fails.
#[test]
fn the_steps_of_mysql_secure_installation_make_a_server_safe() {
    const PASSWORD: &str = "Zf8!kqLm2x";
    let data = TempDir::new();
    let server = Server::start(data.path());
    let mut root = TextClient::connect(server.socket());
    run(&mut root, &OLD);
    assert!(try_as(&server, "anybody", "").is_ok());

    let component = "SELECT COUNT(*) FROM mysql.component \
                     WHERE component_urn = 'file://component_validate_password'";
    assert_eq!(value(&mut root, component), "0");
    run(&mut root, &["INSTALL COMPONENT 'file://component_validate_password'"]);
    assert_eq!(value(&mut root, component), "1");
    run(&mut root, &["SET GLOBAL validate_password.policy = 1"]);
    let strength = format!("SELECT VALIDATE_PASSWORD_STRENGTH('{PASSWORD}')");
    assert_eq!(value(&mut root, &strength), "100");
    for sql in ["ALTER USER USER() IDENTIFIED BY 'weak'", "SET PASSWORD = 'weak'"] {
        assert_eq!(root.code(sql), 1819, "{sql}");
    }
    run(&mut root, &[&format!("ALTER USER USER() IDENTIFIED BY '{PASSWORD}'")]);

    let nobody = "SELECT USER, HOST FROM mysql.user WHERE USER = ''";
    assert_eq!(values(&mut root, nobody, "HOST"), ["localhost"]);
    run(&mut root, &["DROP USER ''@'localhost'"]);
    assert!(values(&mut root, nobody, "HOST").is_empty());
    let far = "SELECT USER, HOST FROM mysql.user WHERE USER = 'root' \
               AND HOST NOT IN ('localhost', '127.0.0.1', '::1')";
    assert_eq!(values(&mut root, far, "HOST"), ["%"]);
    run(&mut root, &["DROP USER 'root'@'%'", "DROP DATABASE IF EXISTS test"]);

    // The one step that is refused, as grant tables only show what there is; what was granted is taken by REVOKE.
    let granted = r"SELECT Db FROM mysql.db WHERE Db = 'test' OR Db = 'test\_%' ORDER BY Db";
    let granted = |root: &mut TextClient| values(root, granted, "Db");
    assert_eq!(granted(&mut root), ["test", r"test\_%"]);
    assert_eq!(root.code(r"DELETE FROM mysql.db WHERE Db = 'test' OR Db = 'test\_%'"), 1142);
    run(&mut root, &["REVOKE ALL ON test.* FROM guest", r"REVOKE ALL ON `test\_%`.* FROM guest"]);
    assert!(granted(&mut root).is_empty());
    run(&mut root, &["FLUSH PRIVILEGES"]);

    for (user, password) in [("anybody", ""), ("root", ""), ("root", "weak")] {
        let refused = try_as(&server, user, password).unwrap_err();
        assert!(refused.starts_with("1045 "), "{user}: {refused}");
    }
    let mut root = try_as(&server, "root", PASSWORD).unwrap();
    assert_eq!(
        values(&mut root, "SELECT User FROM mysql.user ORDER BY 1", "User"),
        ["guest", "root"]
    );
}

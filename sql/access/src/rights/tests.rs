use super::*;
use crate::need::{ColumnNeed, Definer};
use crate::{ColumnGrant, Need, Needs, TableGrant};

fn name(user: &str) -> AccountName {
    AccountName::new(user, "%")
}

fn rights(change: impl FnOnce(&mut Grants)) -> (Rights, Accounts) {
    let mut account = Account::new(name("u"), "p");
    change(&mut account.grants);
    let accounts = Accounts::new([Arc::new(account.clone())], 1);
    let client = Client { host: "localhost", address: None };
    (Rights::new(&accounts, &account, "u", client), accounts)
}

#[test]
fn each_level_adds_to_the_one_above() {
    let (rights, _) = rights(|g| {
        g.global = Privileges::INSERT;
        g.add_schema("s%", Privileges::UPDATE);
        g.add_schema("s", Privileges::DELETE);
        let mut table = TableGrant { privileges: Privileges::DROP, ..TableGrant::default() };
        let column = ColumnGrant { name: "A".into(), privileges: Privileges::SELECT };
        table.columns.insert("a".into(), column);
        g.tables.insert(("s".into(), "t".into()), table);
    });
    let (insert, delete, drop) = (Privileges::INSERT, Privileges::DELETE, Privileges::DROP);
    assert_eq!(rights.of_schema("s"), insert | delete, "the exact pattern alone");
    assert_eq!(rights.of_schema("sx"), insert | Privileges::UPDATE);
    assert_eq!(rights.of_table("s", "t"), insert | delete | drop);
    assert_eq!(rights.of_column("s", "t", "a"), insert | delete | drop | Privileges::SELECT);
    assert!(rights.check_table("s", "t", Privileges::SELECT).is_ok(), "some column has it");
    let denied = rights.check_table("s", "t", Privileges::ALTER | Privileges::INDEX).unwrap_err();
    let text = "INDEX, ALTER command denied to user 'u'@'localhost' for table 't'";
    assert_eq!(denied.to_string(), text);
    assert!(rights.sees_schema("s") && rights.check_schema("s", drop).is_err());
}

#[test]
fn patterns_of_schemas_are_names_where_parts_can_be_revoked() {
    let (mut rights, accounts) = rights(|g| {
        g.add_schema("s_", Privileges::SELECT);
    });
    assert_eq!(rights.of_schema("s1"), Privileges::SELECT);
    rights.take(&accounts.with_exact_schemas(true));
    assert_eq!(rights.of_schema("s1"), Privileges::NONE);
    assert_eq!(rights.of_schema("s_"), Privileges::SELECT);
    let kept = accounts.with_exact_schemas(true).changed(&[], &[]);
    assert!(kept.have_exact_schemas() && kept.version() == 3);
}

#[test]
fn a_need_of_a_column_is_met_by_it_or_its_table() {
    let (rights, accounts) = rights(|g| {
        let mut table = TableGrant::default();
        let column = ColumnGrant { name: "a".into(), privileges: Privileges::SELECT };
        table.columns.insert("a".into(), column);
        g.tables.insert(("s".into(), "t".into()), table);
    });
    let need = |column: &str, by_star| Need {
        definer: None,
        schema: "s".into(),
        table: "t".into(),
        privileges: Privileges::SELECT,
        or_read: false,
        columns: vec![ColumnNeed { name: column.into(), privileges: Privileges::SELECT, by_star }],
        locks: false,
    };
    let check = |need: Need| Needs(vec![need]).check(&rights, &accounts).map_err(|d| d.code().0);
    assert_eq!(check(need("A", false)), Ok(()));
    assert_eq!(check(need("b", false)), Err(1143));
    assert_eq!(check(need("b", true)), Err(1142));
    assert_eq!(
        check(Need {
            definer: Some(Definer { account: Some(name("gone")), view: "s.v".into() }),
            ..need("a", false)
        }),
        Err(1356)
    );
    let update = Need { privileges: Privileges::UPDATE, ..need("a", false) };
    assert_eq!(check(update.clone()), Err(1142));
    assert_eq!(check(Need { or_read: true, ..update }), Ok(()), "it is read");
    // What is missing inside of a view does not tell of the view's tables.
    let of_invoker = |column| Need {
        definer: Some(Definer { account: None, view: "s.v".into() }),
        ..need(column, false)
    };
    assert_eq!(check(of_invoker("a")), Ok(()));
    assert_eq!(check(of_invoker("b")), Err(1356));
}

#[test]
fn global_privileges_are_those_of_the_connect() {
    let (mut rights, accounts) = rights(|g| g.global = Privileges::SELECT);
    let mut other = Account::clone(accounts.find(&name("u")).unwrap());
    other.grants.global = Privileges::NONE;
    other.grants.add_schema("s", Privileges::INSERT);
    rights.use_schema(Some("now"));
    rights.take(&accounts.changed(&[other], &[]));
    assert_eq!(rights.of_schema("s"), Privileges::SELECT | Privileges::INSERT);
    rights.take(&accounts.changed(&[], &[name("u")]));
    assert_eq!(rights.of_schema("s"), Privileges::SELECT, "the account is gone");
}

#[test]
fn a_restriction_takes_of_the_global_privileges() {
    let (rights, _) = rights(|g| {
        g.global = Privileges::ALL;
        g.restrictions.insert("mysql".into(), Privileges::SELECT);
    });
    assert!(!rights.are_all());
    assert!(rights.check_table("mysql", "user", Privileges::SELECT).is_err());
    assert!(rights.check_table("s", "t", Privileges::SELECT).is_ok());
}

#[test]
fn of_the_current_schema_counts_what_was_granted_at_its_use() {
    let mut role = Account::new(name("r"), "p");
    role.grants.global = Privileges::INSERT;
    role.grants.add_schema("s", Privileges::SELECT);
    let mut account = Account::new(name("u"), "p");
    account.roles.insert(name("r"), false);
    let accounts = Accounts::new([Arc::new(role), Arc::new(account.clone())], 1);
    let client = Client { host: "localhost", address: None };
    let mut rights = Rights::new(&accounts, &account, "u", client);
    rights.activate(&accounts, [name("r")].into());
    rights.use_schema(Some("s"));
    assert_eq!(rights.of_schema("s"), Privileges::SELECT | Privileges::INSERT);
    rights.take(&accounts.changed(&[account], &[name("r")]));
    assert_eq!(rights.of_schema("s"), Privileges::SELECT, "a global one goes with its role");
    rights.use_schema(Some("s"));
    assert_eq!(rights.of_schema("s"), Privileges::NONE);
}

#[test]
fn who_has_everything_may_not_hand_it_on() {
    let (rights, _) = rights(|g| g.global = Privileges::ALL);
    assert!(rights.are_all() && !rights.are_unlimited());
    let handed = Privileges::SELECT | Privileges::GRANT;
    assert_eq!(rights.check_schema("s", handed).unwrap_err().code().0, 1044);
    let denied = rights.check_table("s", "t", handed).unwrap_err();
    assert_eq!(denied.to_string(), "GRANT command denied to user 'u'@'localhost' for table 't'");
    assert!(rights.check_table("s", "t", Privileges::ALL).is_ok());
    assert!(rights.check_schema("s", Privileges::ALL).is_ok());
}

#[test]
fn anything_of_a_table_counts_where_its_schema_lacks_it() {
    let (rights, _) = rights(|g| {
        g.add_schema("s", Privileges::INSERT);
        let table = TableGrant { privileges: Privileges::DELETE, ..TableGrant::default() };
        g.tables.insert(("s".into(), "t".into()), table);
    });
    assert!(rights.check_any("s", "t", Privileges::SELECT).is_ok());
    assert!(rights.check_any("s", "u", Privileges::INSERT).is_ok());
    assert_eq!(rights.check_any("s", "u", Privileges::SELECT).unwrap_err().code().0, 1142);
}

#[test]
fn what_no_role_makes_up_for_is_handed_on() {
    let mut role = Account::new(name("r"), "p");
    role.grants.global = Privileges::INSERT;
    role.grants.add_schema("s", Privileges::SELECT);
    let mut account = Account::new(name("u"), "p");
    account.grants.global = Privileges::SELECT | Privileges::INSERT;
    account.grants.restrictions.insert("s".into(), account.grants.global);
    let accounts = Accounts::new([Arc::new(role), Arc::new(account.clone())], 1);
    let alone = Rights::with_roles(&accounts, &account, BTreeSet::new()).restrictions();
    assert_eq!(alone["s"], Privileges::SELECT | Privileges::INSERT);
    let taken = Rights::with_roles(&accounts, &account, [name("r")].into()).restrictions();
    assert_eq!(taken["s"], Privileges::SELECT, "of a schema alone is no global privilege");

    let mut to = Grants::default();
    to.add_global_but(Privileges::SELECT | Privileges::UPDATE, &taken);
    assert_eq!(to.restrictions, taken);
    to.add_global_but(Privileges::SELECT, &taken);
    assert_eq!(to.restrictions, taken, "nobody gives it back");
    to.add_global(Privileges::SELECT);
    to.add_global_but(Privileges::SELECT, &taken);
    assert!(to.restrictions.is_empty(), "what was had is kept");
}

#[test]
fn roles_count_while_they_are_active() {
    let mut role = Account::new(name("r"), "p");
    role.grants.add_schema("s", Privileges::SELECT);
    let mut account = Account::new(name("u"), "p");
    account.roles.insert(name("r"), false);
    let accounts = Accounts::new([Arc::new(role), Arc::new(account.clone())], 1);
    let client = Client { host: "localhost", address: None };
    let mut rights = Rights::new(&accounts, &account, "u", client);
    assert!(!rights.sees_schema("s"));
    rights.activate(&accounts, [name("r")].into());
    assert!(rights.sees_table("s", "t"));
    rights.take(&accounts.changed(&[], &[name("r")]));
    assert!(!rights.sees_table("s", "t"));
}

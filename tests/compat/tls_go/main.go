// Connects by go-sql-driver in every way that it knows, and tells what secures the connection; with a third argument, what packs
// it and whether what it sends and gets is whole.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/go-sql-driver/mysql"
)

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// One connection that is packed.
func packed(at, how string) {
	db, err := sql.Open("mysql", "root@tcp("+at+")/?compress=true&maxAllowedPacket=0&tls="+how)
	check(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	said := map[string]string{}
	rows, err := db.Query("SHOW STATUS WHERE Variable_name IN ('Compression', 'Compression_algorithm', 'Ssl_version')")
	check(err)
	for rows.Next() {
		var name, value string
		check(rows.Scan(&name, &value))
		said[name] = value
	}
	check(rows.Err())
	for _, text := range []string{"CREATE DATABASE IF NOT EXISTS drivers", "USE drivers", "DROP TABLE IF EXISTS t",
		"CREATE TABLE t (a INT PRIMARY KEY, b LONGTEXT)"} {
		_, err = db.Exec(text)
		check(err)
	}
	insert, err := db.Prepare("INSERT INTO t VALUES (?, ?)")
	check(err)
	for n := 0; n < 500; n++ {
		_, err = insert.Exec(n, strings.Repeat("x", n))
		check(err)
	}
	long := strings.Repeat("0123456789", 400000)
	_, err = insert.Exec(1000, long)
	check(err)
	var back string
	check(db.QueryRow("SELECT b FROM t WHERE a = ?", 1000).Scan(&back))
	count, good := 0, true
	rows, err = db.Query("SELECT a, b FROM t WHERE a < 500 ORDER BY a")
	check(err)
	for rows.Next() {
		var a int
		var b string
		check(rows.Scan(&a, &b))
		good = good && b == strings.Repeat("x", a)
		count++
	}
	check(rows.Err())
	_, err = db.Exec("SELECT nosuch")
	var refused *mysql.MySQLError
	errors.As(err, &refused)
	fmt.Printf("%s %q %q %q %d %v %v %d\n", how, said["Compression"], said["Compression_algorithm"], said["Ssl_version"],
		count, good, back == long, refused.Number)
}

func main() {
	pem, err := os.ReadFile(os.Args[2])
	check(err)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	mysql.RegisterTLSConfig("own", &tls.Config{RootCAs: roots})
	if len(os.Args) > 3 {
		packed(os.Args[1], "false")
		packed(os.Args[1], "own")
		return
	}
	for _, how := range []string{"own", "true", "skip-verify", "preferred", "false"} {
		db, err := sql.Open("mysql", "root@tcp("+os.Args[1]+")/?tls="+how)
		check(err)
		var name, version string
		err = db.QueryRow("SHOW STATUS LIKE 'Ssl_version'").Scan(&name, &version)
		fmt.Printf("%s %q %v\n", how, version, err != nil)
		db.Close()
	}
}

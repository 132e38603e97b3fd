// Connects by go-sql-driver in every way that it knows, and tells what secures the connection.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"fmt"
	"os"

	"github.com/go-sql-driver/mysql"
)

func main() {
	pem, err := os.ReadFile(os.Args[2])
	if err != nil {
		panic(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	mysql.RegisterTLSConfig("own", &tls.Config{RootCAs: roots})
	for _, how := range []string{"own", "true", "skip-verify", "preferred", "false"} {
		db, err := sql.Open("mysql", "root@tcp("+os.Args[1]+")/?tls="+how)
		if err != nil {
			panic(err)
		}
		var name, version string
		err = db.QueryRow("SHOW STATUS LIKE 'Ssl_version'").Scan(&name, &version)
		fmt.Printf("%s %q %v\n", how, version, err != nil)
		db.Close()
	}
}

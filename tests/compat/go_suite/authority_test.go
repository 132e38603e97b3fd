// Beside the sources of go-sql-driver's suite: what `tls=own` in a DSN trusts is the authority of one server, and no other one.
package mysql

import (
	"crypto/tls"
	"crypto/x509"
	"os"
)

func init() {
	pem, err := os.ReadFile(os.Getenv("LIMPID_TEST_CA"))
	if err != nil {
		return
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	if err := RegisterTLSConfig("own", &tls.Config{RootCAs: roots}); err != nil {
		panic(err)
	}
}

// Go's dialer as its users get it (net.Dialer: Happy Eyeballs, 300 ms between families), timed by itself.
//
//	dial HOST PORT TIMEOUT_S
//
// Prints the seconds until the connection stood, until the first byte of an answer came, and the peer's address.
package main

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"time"
)

func main() {
	limit, err := strconv.ParseFloat(os.Args[3], 64)
	if err != nil {
		fail(err)
	}
	began := time.Now()
	dialer := net.Dialer{Timeout: time.Duration(limit * float64(time.Second))}
	connection, err := dialer.Dial("tcp", net.JoinHostPort(os.Args[1], os.Args[2]))
	if err != nil {
		fail(err)
	}
	connected := time.Since(began)
	fmt.Printf("%f ", connected.Seconds())
	connection.SetDeadline(began.Add(dialer.Timeout))
	fmt.Fprintf(connection, "GET / HTTP/1.0\r\nHost: %s\r\n\r\n", os.Args[1])
	_, err = connection.Read(make([]byte, 1))
	address, _, _ := net.SplitHostPort(connection.RemoteAddr().String())
	fmt.Printf("%f %s", time.Since(began).Seconds(), address)
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

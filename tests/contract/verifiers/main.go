// Prints whether the delivery on standard input is genuine: secret, now, then names and values.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"time"

	"hooks/hooks"
)

func main() {
	header := http.Header{}
	for index := 3; index < len(os.Args); index += 2 {
		header.Set(os.Args[index], os.Args[index+1])
	}
	seconds, _ := strconv.ParseInt(os.Args[2], 10, 64)
	body, _ := io.ReadAll(os.Stdin)
	fmt.Println(hooks.Verify(os.Args[1], header, body, time.Unix(seconds, 0)))
}

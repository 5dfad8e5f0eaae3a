package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

// askGatewayMain makes a request: ask-gateway URLFILE TOKENFILE METHOD PATH [BODY].
// It prints the status and the body, on one line.
func askGatewayMain() {
	read := func(file string) string {
		b, err := os.ReadFile(file)
		if err != nil {
			panic(err)
		}
		return strings.TrimSpace(string(b))
	}
	body := ""
	if len(os.Args) > 5 {
		body = os.Args[5]
	}
	r, err := http.NewRequest(os.Args[3], read(os.Args[1])+os.Args[4], strings.NewReader(body))
	if err != nil {
		panic(err)
	}
	r.Header.Set("Authorization", "Bearer "+read(os.Args[2]))
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		panic(err)
	}
	fmt.Println(resp.StatusCode, strings.ReplaceAll(string(b), "\n", " "))
}

// Each message in one call, with one client: what is sent again is left to net/http.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"time"
)

type message struct {
	Intent string `json:"intent"`
	To     string `json:"to"`
	Body   string `json:"body"`
}

func send(client *http.Client, m message) string {
	body, err := json.Marshal(map[string]string{"to": m.To, "body": m.Body})
	if err != nil {
		panic(err)
	}
	url := os.Getenv("SMS_API_BASE") + "/v1/messages"
	request, err := http.NewRequest("POST", url, bytes.NewReader(body))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if os.Getenv("KEY") == "yes" {
		request.Header.Set("Idempotency-Key", m.Intent)
	}
	answer, err := client.Do(request)
	if err != nil {
		return "unknown"
	}
	defer answer.Body.Close()
	if _, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != 201 {
		return "unknown"
	}
	return "sent"
}

func main() {
	timeout, err := time.ParseDuration(os.Getenv("CALL_TIMEOUT") + "s")
	if err != nil {
		panic(err)
	}
	client := &http.Client{Timeout: timeout}
	results, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var m message
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			panic(err)
		}
		result := map[string]any{"intent": m.Intent, "outcome": send(client, m), "attempts": 1}
		if err := json.NewEncoder(results).Encode(result); err != nil {
			panic(err)
		}
	}
}

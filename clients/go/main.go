// Command sms sends each SMS exactly once, from a spool directory.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

const usage = `usage: sms enqueue INTENT TO BODY [CUSTOMER] [KEY] [EXPIRES_AT]
       sms work      send what is there, until stopped
       sms status    every message, as JSON lines`

func main() {
	err := run(os.Args[1:])
	if err == nil {
		return
	}
	fmt.Fprintln(os.Stderr, "sms:", err)
	if errors.Is(err, errConflict) {
		os.Exit(65)
	}
	os.Exit(1)
}

func run(args []string) error {
	spool, err := openSpool(os.Getenv("SMS_SPOOL"))
	if err != nil {
		return fmt.Errorf("SMS_SPOOL: %w", err)
	}
	switch {
	case len(args) >= 4 && len(args) <= 7 && args[0] == "enqueue":
		return enqueue(spool, append(args[1:], "", "", "")[:6])
	case len(args) == 1 && args[0] == "work":
		return work(spool)
	case len(args) == 1 && args[0] == "status":
		return status(spool)
	}
	return errors.New(usage)
}

func enqueue(spool Spool, args []string) (err error) {
	m := Message{Intent: args[0], Customer: args[3], Key: args[4], Outcome: "pending"}
	if m.Request, err = requestBytes(args[1], args[2]); err != nil {
		return err
	}
	if m.Customer == "" {
		m.Customer = "default"
	}
	if m.Key == "" {
		m.Key = m.Intent // the business's own name for the message never changes
	}
	if args[5] != "" {
		at, err := time.Parse(time.RFC3339, args[5])
		if err != nil {
			return err
		}
		m.ExpiresAt = &at
	}
	return spool.Enqueue(m)
}

func work(spool Spool) error {
	base, err := url.Parse(os.Getenv("SMS_API_BASE"))
	if err != nil || base.Host == "" {
		return errors.New("SMS_API_BASE must be the provider's URL")
	}
	e := environment{}
	connect := e.duration("SMS_CONNECT_TIMEOUT", "3s")
	policy := Policy{
		ReadTimeout:   e.duration("SMS_READ_TIMEOUT", "10s"),
		Base:          e.duration("SMS_BACKOFF_BASE", "500ms"),
		Cap:           e.duration("SMS_BACKOFF_CAP", "60s"),
		RetryAfterMax: e.duration("SMS_RETRY_AFTER_MAX", "15m"),
		KeyRetention:  e.duration("SMS_KEY_RETENTION", "24h"),
		ExpiryMargin:  e.duration("SMS_EXPIRY_MARGIN", "100ms"),
		MaxAttempts:   5,
	}
	poll := e.duration("SMS_POLL", "500ms")
	if e.err != nil {
		return e.err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	worker := Worker{spool, newProvider(base, connect, policy.ReadTimeout), policy, poll, make(chan struct{}, 16)}
	worker.Run(ctx)
	return nil
}

func status(spool Spool) error {
	names, err := spool.Names()
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, name := range names {
		m, err := spool.Load(name)
		if err != nil {
			return err
		}
		line := map[string]any{"intent": m.Intent, "outcome": m.Outcome, "attempts": m.Attempts}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}

// environment reads durations and keeps the first error.
type environment struct{ err error }

func (e *environment) duration(name, otherwise string) time.Duration {
	text := os.Getenv(name)
	if text == "" {
		text = otherwise
	}
	d, err := time.ParseDuration(strings.ReplaceAll(text, " ", ""))
	if err != nil && e.err == nil {
		e.err = fmt.Errorf("%s: %w", name, err)
	}
	return d
}

package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// Answer is what came back of one attempt. Status 0: nothing whole did.
type Answer struct {
	Status     int
	Connected  bool
	MessageID  string
	RetryAfter time.Duration
	Err        error
}

// Provider sends: one call is one request, or one for each hop of a redirect.
type Provider struct {
	base *url.URL
	http *http.Client
}

func newProvider(base *url.URL, connect, read time.Duration) *Provider {
	transport := &http.Transport{
		DialContext:         (&net.Dialer{Timeout: connect}).DialContext,
		MaxIdleConnsPerHost: 16,
	}
	return &Provider{base, &http.Client{
		Transport: transport,
		Timeout:   read, // from the dial to the last byte
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// Submit makes one attempt.
func (p *Provider) Submit(m Message) Answer {
	target := p.base.JoinPath("/v1/messages")
	for hops := 0; ; hops++ {
		answer, location := p.post(m, target)
		if location == nil || hops == 3 ||
			location.Scheme != target.Scheme || location.Host != target.Host {
			return answer
		}
		// To the same origin only: the text, the number and the credential go along.
		target = location
	}
}

func (p *Provider) post(m Message, target *url.URL) (answer Answer, location *url.URL) {
	request, err := http.NewRequest(http.MethodPost, target.String(), strings.NewReader(m.Request))
	if err != nil {
		return Answer{Err: err}, nil
	}
	// On a kept-alive connection that breaks, net/http sends a request with an Idempotency-Key
	// again by itself if it can get its body again. Then nobody could count.
	request.GetBody = nil
	request.Header.Set("Idempotency-Key", m.Key)
	request.Header.Set("Authorization", "Bearer "+m.Customer)
	request.Header.Set("Content-Type", "application/json")
	var connected atomic.Bool
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { connected.Store(true) }}
	request = request.WithContext(httptrace.WithClientTrace(request.Context(), trace))

	response, err := p.http.Do(request)
	if err != nil {
		return Answer{Connected: connected.Load(), Err: err}, nil
	}
	defer response.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err != nil {
		return Answer{Connected: true, Err: err}, nil
	}
	answer = Answer{
		Status:     response.StatusCode,
		Connected:  true,
		RetryAfter: retryAfter(response.Header.Get("Retry-After"), time.Now()),
	}
	switch {
	case answer.Status >= 200 && answer.Status < 300:
		// Half an answer is no success: the JSON must be whole and name the message.
		var found struct {
			ID string `json:"id"`
		}
		if answer.Err = json.Unmarshal(raw, &found); answer.Err == nil {
			answer.MessageID = found.ID
		}
	case answer.Status == 307 || answer.Status == 308:
		location, _ = response.Location() // without one, it leads nowhere
	}
	return answer, location
}

// retryAfter reads whole seconds or an HTTP-date. What is past, negative or cannot be read asks
// for nothing.
func retryAfter(value string, now time.Time) time.Duration {
	value = strings.TrimSpace(value)
	if value != "" && strings.Trim(value, "0123456789") == "" {
		seconds, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			seconds = 1<<31 - 1 // too many digits are still a number: a huge one
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(value)
	if err != nil || at.Before(now) {
		return 0
	}
	return at.Sub(now)
}

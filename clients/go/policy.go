package main

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Policy says what an answer means and what is done about it.
type Policy struct {
	ReadTimeout   time.Duration
	Base, Cap     time.Duration
	RetryAfterMax time.Duration
	KeyRetention  time.Duration
	ExpiryMargin  time.Duration
	MaxAttempts   int
}

// Forbids names the rule that forbids an attempt at that time, if one does.
func (p Policy) Forbids(m Message, at time.Time) string {
	switch {
	case m.Attempts >= p.MaxAttempts:
		return "attempts"
	case m.ExpiresAt != nil && !at.Add(p.ExpiryMargin).Before(*m.ExpiresAt):
		return "expired"
	case m.Attempts > 0 && at.Add(p.ReadTimeout).Sub(m.First) > p.KeyRetention:
		// A provider that has forgotten the key would send a second message.
		return "retention"
	}
	return ""
}

// Settle writes into m what follows from an answer.
//
// The one question is whether the phone may buzz because of this attempt. Only a whole 2xx that
// names the message says yes, only a refusal says no; a lost answer says that nobody knows, and a
// later refusal does not change that.
func (p Policy) Settle(m *Message, a Answer, now time.Time) {
	m.Sending = false
	switch {
	case a.MessageID != "":
		m.Outcome, m.Reason = "sent", ""
		return
	case a.Status == 0 && !a.Connected: // nothing has left
	case a.Status == 408, a.Status == 425, a.Status == 429, a.Status == 503: // it has not begun
	case a.Status >= 300 && a.Status < 500 && a.Status != 409:
		p.giveUp(m, fmt.Sprintf("refused with %d", a.Status))
		return
	default: // lost, in flight (409), a broken 2xx, a server error with the request in hand
		m.MaybeAccepted = true
	}
	if a.RetryAfter > p.RetryAfterMax {
		p.giveUp(m, "retry-after")
		return
	}
	// Retry-After is a hard bound, and the jitter comes on top.
	m.Due = now.Add(a.RetryAfter + p.pause(m.Attempts))
	if rule := p.Forbids(*m, m.Due); rule != "" {
		p.giveUp(m, rule)
	}
}

func (p Policy) giveUp(m *Message, reason string) {
	m.Reason = reason
	if m.Outcome = "dead"; m.MaybeAccepted {
		m.Outcome = "unknown"
	}
}

// pause is equal jitter: half of the limit for certain, so that the attempts outlast a short
// outage, and half drawn, so that those who failed together do not come back together.
func (p Policy) pause(attempt int) time.Duration {
	limit := p.Cap
	if shift := attempt - 1; shift < 16 {
		limit = min(limit, p.Base<<shift)
	}
	return limit/2 + rand.N(limit/2+1)
}

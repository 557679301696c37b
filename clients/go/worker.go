package main

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Worker sends what is in the spool, each message in a goroutine of its own.
type Worker struct {
	spool    Spool
	provider *Provider
	policy   Policy
	poll     time.Duration
	atOnce   chan struct{} // one slot for each request that may be in flight
}

// Run works until ctx is done; attempts that have begun by then are brought to their end.
func (w *Worker) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	seen := map[string]bool{}
	for ctx.Err() == nil {
		names, err := w.spool.Names()
		if err != nil {
			slog.Warn("the spool cannot be read", "error", err)
		}
		for _, name := range names {
			if !seen[name] {
				seen[name] = true
				running.Add(1)
				go func() {
					defer running.Done()
					w.deliver(ctx, name)
				}()
			}
		}
		sleep(ctx, w.poll)
	}
}

// deliver takes one message to its end.
func (w *Worker) deliver(ctx context.Context, name string) {
	for ctx.Err() == nil {
		unlock, taken, err := w.spool.TryLock(name)
		if err != nil {
			slog.Warn("cannot be locked", "name", name, "error", err)
		}
		if taken {
			defer unlock()
			break
		}
		sleep(ctx, w.poll) // another worker has it; should that die, it is ours
	}
	for ctx.Err() == nil {
		done, err := w.step(ctx, name)
		if done {
			return
		}
		if err != nil {
			slog.Warn("trying again", "name", name, "error", err)
			sleep(ctx, w.poll)
		}
	}
}

// step makes one attempt, when it is due. The file says so before the first byte leaves.
func (w *Worker) step(ctx context.Context, name string) (done bool, err error) {
	m, err := w.spool.Load(name)
	if err != nil {
		return false, err
	}
	if m.Outcome != "pending" {
		return true, nil
	}
	if m.Sending {
		// We died with the request perhaps on its way.
		m.Sending, m.MaybeAccepted = false, true
	}
	sleep(ctx, time.Until(m.Due))
	select {
	case w.atOnce <- struct{}{}:
		defer func() { <-w.atOnce }()
	case <-ctx.Done():
	}
	if ctx.Err() != nil {
		return false, nil
	}
	if rule := w.policy.Forbids(m, time.Now()); rule != "" {
		w.policy.giveUp(&m, rule)
		slog.Warn("set aside", "intent", m.Intent, "outcome", m.Outcome, "reason", rule)
		return true, w.spool.Save(m)
	}
	m.Sending = true
	m.Attempts++
	if m.First.IsZero() {
		m.First = time.Now()
	}
	if err := w.spool.Save(m); err != nil {
		return false, err // not recorded, so not sent
	}
	answer := w.provider.Submit(m)
	w.policy.Settle(&m, answer, time.Now())
	slog.Info("attempt ended", "intent", m.Intent, "attempt", m.Attempts,
		"status", answer.Status, "outcome", m.Outcome, "reason", m.Reason)
	for {
		// What is known of an attempt must not be lost to a full disk.
		if err = w.spool.Save(m); err == nil || ctx.Err() != nil {
			return m.Outcome != "pending", err
		}
		slog.Warn("not written yet", "intent", m.Intent, "error", err)
		sleep(ctx, w.poll)
	}
}

func sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

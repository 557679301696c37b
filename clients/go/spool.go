package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// Message is one file of the spool: what is asked for, and how far it is. It is written whole,
// before a request leaves and after its answer is understood.
type Message struct {
	Intent    string     `json:"intent"`
	Customer  string     `json:"customer"`
	Key       string     `json:"key"`
	Request   string     `json:"request"` // the request's bytes: every attempt sends the same ones
	ExpiresAt *time.Time `json:"expires_at,omitempty"`

	Outcome       string    `json:"outcome"` // pending, sent, unknown, dead
	Reason        string    `json:"reason,omitempty"`
	Attempts      int       `json:"attempts"`
	Sending       bool      `json:"sending"`        // an attempt has begun and is not settled
	MaybeAccepted bool      `json:"maybe_accepted"` // never goes back to false
	First         time.Time `json:"first"`
	Due           time.Time `json:"due"`
}

var errConflict = errors.New("the key is there already and stands for something else")

// Spool is a directory with one file for each key, as a mail queue is.
type Spool struct{ dir string }

func openSpool(dir string) (Spool, error) {
	return Spool{dir}, os.MkdirAll(dir, 0o700)
}

// Enqueue is all or nothing: a hard link appears at once or not at all, and only once.
func (s Spool) Enqueue(m Message) error {
	temp, err := s.write(m)
	if err != nil {
		return err
	}
	defer os.Remove(temp)
	path := s.path(m.Customer, m.Key)
	err = os.Link(temp, path)
	if !errors.Is(err, fs.ErrExist) {
		return errors.Join(err, s.sync())
	}
	there, err := s.Load(filepath.Base(path))
	if err != nil {
		return err
	}
	if there.Intent != m.Intent || there.Request != m.Request {
		return errConflict
	}
	return nil
}

// Names lists the messages.
func (s Spool) Names() ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	names := make([]string, 0, len(entries))
	for _, entry := range entries {
		if strings.HasSuffix(entry.Name(), ".json") {
			names = append(names, entry.Name())
		}
	}
	return names, err
}

// Load reads a message.
func (s Spool) Load(name string) (m Message, err error) {
	raw, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		return m, err
	}
	if err = json.Unmarshal(raw, &m); err != nil {
		return m, fmt.Errorf("%s: %w", name, err)
	}
	return m, nil
}

// Save replaces a message; a reader sees the old one or the new one.
func (s Spool) Save(m Message) error {
	temp, err := s.write(m)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, s.path(m.Customer, m.Key)); err != nil {
		return err
	}
	return s.sync()
}

// TryLock takes a message for this process. The kernel gives it back when the process is gone,
// however it went, and not before: no lease that could be too short.
func (s Spool) TryLock(name string) (unlock func(), taken bool, err error) {
	path := filepath.Join(s.dir, strings.TrimSuffix(name, ".json")+".lock")
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, false, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = nil
		}
		return nil, false, err
	}
	return func() { file.Close() }, true, nil
}

func (s Spool) write(m Message) (string, error) {
	raw, err := json.Marshal(m)
	if err != nil {
		return "", err
	}
	file, err := os.CreateTemp(s.dir, "*.temp")
	if err != nil {
		return "", err
	}
	_, err = file.Write(raw)
	return file.Name(), errors.Join(err, file.Sync(), file.Close())
}

// sync makes the directory's entries survive a power cut.
func (s Spool) sync() error {
	dir, err := os.Open(s.dir)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// path names the file by the key's hash: keys are long, differ in case, and belong to a customer.
func (s Spool) path(customer, key string) string {
	sum := sha256.Sum256([]byte(customer + "\x00" + key))
	return filepath.Join(s.dir, hex.EncodeToString(sum[:])+".json")
}

func requestBytes(to, body string) (string, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		To   string `json:"to"`
		Body string `json:"body"`
	}{to, body})
	return strings.TrimSuffix(buffer.String(), "\n"), err
}

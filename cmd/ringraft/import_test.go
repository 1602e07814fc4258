package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/bubble"
	"github.com/ringraft/ringraft/internal/fakenode"
	"github.com/ringraft/ringraft/internal/media"
	"github.com/ringraft/ringraft/op"
)

func TestImportOfAnExportRestoresEverything(t *testing.T) {
	t.Parallel()
	from, to := newShell(t), newShell(t)
	for i := range 20 {
		from.put(t, "", fmt.Sprint("k", i), fmt.Sprint("v", i))
	}
	from.put(t, "\x00\xff\n", "--key-base64", "/w==", "-")
	from.put(t, "", "empty", "")
	from.put(t, "", "short", "lived", "--ttl", "1h")
	exported := from.run(t, "export")
	if exported.code != exitDone {
		t.Fatalf("export: exit code %d: %s", exported.code, exported.err)
	}
	to.runWith(t, exported.out, "import", "-", "-o", "json").check(t, exitDone, `{"lines":23,"stored":23,"failed":0}`+"\n", "")
	to.run(t, "get", "k7").check(t, exitDone, "v7", "")
	to.run(t, "get", "empty").check(t, exitDone, "", "")
	to.run(t, "get", "--key-base64", "/w==").check(t, exitDone, "\x00\xff\n", "")
	if o := to.run(t, "ttl", "short"); o.code != exitDone || o.out == "none\n" {
		t.Errorf("ttl of the record that expires: exit code %d, %q", o.code, o.out)
	}
	if o := from.run(t, "export", "--prefix", "k1"); strings.Count(o.out, "\n") != 11 {
		t.Errorf("export --prefix k1 prints %q; want 11 records", o.out)
	}
}

// TestImportOfAnExportKeepsMediaTypes, but not one that was of an earlier value.
func TestImportOfAnExportKeepsMediaTypes(t *testing.T) {
	t.Parallel()
	from, to := newShell(t), newShell(t)
	for key, of := range map[string]string{"page": "<p>", "changed": "what stood there before"} {
		from.put(t, "", key, "<p>", "--ttl", "1h")
		record := op.Set{Key: media.Key([]byte(key)), Value: media.Record("text/html; charset=utf-8", []byte(of))}
		if res := from.cluster.Do(t.Context(), op.Request{Op: record}); res.Err != nil {
			t.Fatal(res.Err)
		}
	}
	exported := from.run(t, "export")
	if n := strings.Count(exported.out, `"media_type":"text/html; charset=utf-8"`); n != 1 {
		t.Errorf("the export has %d media types, want 1: %s", n, exported.out)
	}
	to.runWith(t, exported.out, "import", "-", "-o", "json").check(t, exitDone, `{"lines":2,"stored":2,"failed":0}`+"\n", "")
	for key, want := range map[string]string{"page": "text/html; charset=utf-8", "changed": media.Bytes} {
		kept := to.cluster.Do(t.Context(), op.Request{Op: op.Get{Key: media.Key([]byte(key))}})
		if got := media.Of(kept.Value, []byte("<p>")); got != want || kept.Found && kept.TTL == 0 {
			t.Errorf("%s is %s with %d ms to live, want %s for as long as its value", key, got, kept.TTL, want)
		}
	}
	to.runWith(t, `{"key":"a","value":"b","media_type":"no type"}`, "import", "-").
		check(t, exitFailed, "1 lines done, 0 records stored, 1 lines failed\n", "line 1: media_type: is")
}

// TestAPairIsPutWithItsMediaType or has failed.
func TestAPairIsPutWithItsMediaType(t *testing.T) {
	t.Parallel()
	batch := []numberedPair{{pair: pair{key: "a"}}, {pair: pair{key: "b", mediaType: "x/y"}}, {pair: pair{key: "c", mediaType: "x/y"}}}
	bad := errors.New("bad")
	got := withTypes(batch, []client.Result{{Key: "a"}, {Key: "b"}, {Key: "c"}, {}, {Err: bad}})
	if len(got) != 3 || got[0].Err != nil || got[1].Err != nil || got[2].Err != bad {
		t.Errorf("%+v; want the third to have failed", got)
	}
}

func TestImportReportsBadLinesAndGoesOn(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	path := filepath.Join(t.TempDir(), "records")
	lines := `{"key":"a","value":"1"}
nonsense
{"key":"b","value":"2"}

{"key":"","value":"3"}
`
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	o := s.run(t, "import", path, "-o", "json")
	o.check(t, exitFailed, `{"lines":5,"stored":2,"failed":2}`+"\n", "line 2: no JSON object")
	if !strings.Contains(o.err, "line 5: key: has 0 bytes") {
		t.Errorf("messages %q; want line 5 in them", o.err)
	}
	s.run(t, "import", path, "--skip", "3").check(t, exitFailed, "5 lines done, 0 records stored, 1 lines failed\n", "line 5")
	s.run(t, "import", path+"-absent").check(t, exitFailed, "", "no such file")
}

func TestImportBlamesTheLineAtFault(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	s.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		if set, ok := req.Op.(op.MSet); ok {
			for _, p := range set.Pairs {
				if string(p.Value) == "bad" {
					return &fakenode.Fault{Err: op.Invalid("value", "is bad")}
				}
			}
		}
		return nil
	})
	var in strings.Builder
	for i := range 40 {
		value := "good"
		if i == 20 {
			value = "bad"
		}
		fmt.Fprintf(&in, "{\"key\":\"k%d\",\"value\":%q}\n", i, value)
	}
	s.runWith(t, in.String(), "import", "-", "-o", "json").
		check(t, exitFailed, `{"lines":40,"stored":39,"failed":1}`+"\n", "line 21: value: is bad")
}

// table is a store that fails as it is told.
type tableStore struct {
	mu     sync.Mutex
	values map[string]string
	fail   func(pairs []client.Pair) error
}

func (s *tableStore) SetMany(_ context.Context, pairs []client.Pair, _ ...client.WriteOption) ([]client.Result, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fail != nil {
		if err := s.fail(pairs); err != nil {
			results := make([]client.Result, len(pairs))
			for i := range results {
				results[i].Err = err
			}
			return results, err
		}
	}
	for _, p := range pairs {
		s.values[p.Key] = string(p.Value)
	}
	return make([]client.Result, len(pairs)), nil
}

// Resolve tells nothing.
func (s *tableStore) Resolve(context.Context, client.Ticket) (client.Resolution, error) {
	return client.Resolution{}, new(client.UnknownOutcomeError)
}

func linesOf(pairs int, keys int) string {
	var b strings.Builder
	for i := range pairs {
		fmt.Fprintf(&b, "{\"key\":\"k%d\",\"value\":\"%d\"}\n", i%keys, i)
	}
	return b.String()
}

func TestImportKeepsTheLastValueOfAKey(t *testing.T) {
	t.Parallel()
	s := &tableStore{values: map[string]string{}}
	im := newImporter(s, 0, func(line int64, err error) { t.Errorf("line %d: %v", line, err) })
	if err := im.run(t.Context(), strings.NewReader(linesOf(5000, 10))); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		if got, want := s.values[fmt.Sprint("k", i)], fmt.Sprint(4990+i); got != want {
			t.Errorf("k%d = %s, want %s", i, got, want)
		}
	}
	if got, want := im.counts(), (importCounts{Lines: 5000, Stored: 5000}); got != want {
		t.Errorf("counts %+v, want %+v", got, want)
	}
}

func TestImportOutlivesAFailover(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		failures := 3
		s := &tableStore{values: map[string]string{}, fail: func([]client.Pair) error {
			if failures--; failures >= 0 {
				return op.UnknownOutcome("the leader is gone")
			}
			return nil
		}}
		im := newImporter(s, 0, func(line int64, err error) { t.Errorf("line %d: %v", line, err) })
		if err := im.run(t.Context(), strings.NewReader(linesOf(100, 100))); err != nil {
			t.Fatal(err)
		}
		if got, want := im.counts(), (importCounts{Lines: 100, Stored: 100}); got != want {
			t.Errorf("counts %+v, want %+v", got, want)
		}
	})
}

// TestImportAsksForLostAnswers before it goes on to later lines of a key: each line is
// stored once, so the versions count the lines.
func TestImportAsksForLostAnswers(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	var first sync.Once
	var heal time.Time // longer after the first attempt than a call lasts
	s.cluster.Intercept(func(_ string, req op.Request) *fakenode.Fault {
		first.Do(func() { heal = time.Now().Add(3 * time.Second) })
		if req.Op.Code() == op.CodeMSet && time.Now().Before(heal) {
			return &fakenode.Fault{Cut: true}
		}
		return nil
	})
	s.runWith(t, linesOf(10, 1), "import", "-", "--timeout", "2s").check(t, exitDone, "10 lines done, 10 records stored, 0 lines failed\n", "")
	s.run(t, "get", "k0", "-o", "json").check(t, exitDone, `{"key":"k0","value":"9","version":10,"ttl_ms":null}`+"\n", "")
}

// TestImportStopsAtWhatMayYetBeDone, where asking again tells nothing.
func TestImportStopsAtWhatMayYetBeDone(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		sets := 0
		s := &tableStore{values: map[string]string{}, fail: func([]client.Pair) error {
			sets++
			return new(client.UnknownOutcomeError)
		}}
		im := newImporter(s, 0, func(line int64, err error) { t.Errorf("line %d: %v", line, err) })
		if err := im.run(t.Context(), strings.NewReader(linesOf(100, 1))); !errors.Is(err, op.ErrUnknownOutcome) {
			t.Fatalf("err = %v, want unknown", err)
		}
		if sets != 1 || im.counts().Stored != 0 {
			t.Errorf("put %d times, counts %+v; want one try", sets, im.counts())
		}
	})
}

func TestImportThatStopsSaysWhereToGoOn(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		s := &tableStore{values: map[string]string{}, fail: func(pairs []client.Pair) error {
			if slices.ContainsFunc(pairs, func(p client.Pair) bool { return string(p.Value) == "300" }) {
				return op.Unavailable("nobody leads")
			}
			return nil
		}}
		im := newImporter(s, 0, func(line int64, err error) { t.Errorf("line %d: %v", line, err) })
		err := im.run(t.Context(), strings.NewReader(linesOf(1000, 1000)))
		if !errors.Is(err, op.ErrUnavailable) {
			t.Fatalf("err = %v, want unavailable", err)
		}
		reached := im.counts().Lines
		if reached > 300 {
			t.Errorf("%d lines are called done; line 301 is not", reached)
		}
		s.fail = nil
		again := newImporter(s, reached, func(line int64, err error) { t.Errorf("line %d: %v", line, err) })
		if err := again.run(t.Context(), strings.NewReader(linesOf(1000, 1000))); err != nil {
			t.Fatal(err)
		}
		if len(s.values) != 1000 || again.counts().Lines != 1000 {
			t.Errorf("%d records, counts %+v; want 1000", len(s.values), again.counts())
		}
	})
}

func TestImportEndsWhenItIsInterrupted(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	s := &tableStore{values: map[string]string{}}
	r, w := io.Pipe() // its reader blocks until the end of the test
	defer w.Close()
	ended := make(chan error)
	im := newImporter(s, 0, func(line int64, err error) { t.Errorf("line %d: %v", line, err) })
	go func() { ended <- im.run(ctx, r) }()
	if _, err := io.WriteString(w, linesOf(10, 10)); err != nil {
		t.Fatal(err)
	}
	interrupt()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want canceled", err)
	}
}

func TestWatermarkIsTheEndOfTheFirstRunOfLines(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const first, count = 5, 30
		lines := make([]int64, count)
		for i := range lines {
			lines[i] = int64(first + 1 + i)
		}
		w := newWatermark(first)
		marked := map[int64]bool{}
		for _, line := range rapid.Permutation(lines).Draw(t, "order") {
			w.mark(line)
			marked[line] = true
			want := int64(first)
			for marked[want+1] {
				want++
			}
			if w.reached != want {
				t.Fatalf("reached %d, want %d", w.reached, want)
			}
		}
		if len(w.ahead) != 0 {
			t.Fatalf("%d lines are still remembered", len(w.ahead))
		}
	})
}

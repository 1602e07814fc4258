package resp

import (
	"container/list"
	"context"
	"strings"
	"sync"

	"github.com/ringraft/ringraft/transport/resp/script"
)

const (
	// maxScripts bounds the scripts that a node keeps, maxScriptBytes their texts. Those
	// that were not used for the longest time go first.
	maxScripts     = 1024
	maxScriptBytes = 4 << 20
)

// scripts are those that a node keeps, by the SHA-1 of their texts, and the machines that
// run them. Other nodes keep theirs.
type scripts struct {
	pool *script.Pool

	mu    sync.Mutex
	bySHA map[string]*list.Element
	used  *list.List // of *script.Script, the last used first
	bytes int        // of their texts
}

func newScripts() *scripts {
	return &scripts{pool: script.NewPool(), bySHA: map[string]*list.Element{}, used: list.New()}
}

// find returns the script of a name, in any case, nil if it is not kept.
func (s *scripts) find(sha string) *script.Script {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.bySHA[strings.ToLower(sha)]
	if e == nil {
		return nil
	}
	s.used.MoveToFront(e)
	return e.Value.(*script.Script)
}

// load compiles a text, unless its script is kept, and keeps it.
func (s *scripts) load(ctx context.Context, text string) (*script.Script, error) {
	if known := s.find(script.SHA(text)); known != nil {
		return known, nil
	}
	made, err := s.pool.Compile(ctx, text)
	switch {
	case ctx.Err() != nil:
		return nil, errLate
	case err != nil:
		return nil, failure(err.Error())
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bySHA[made.SHA] == nil {
		s.bySHA[made.SHA] = s.used.PushFront(made)
		s.bytes += made.Size
	}
	for s.used.Len() > maxScripts || s.bytes > maxScriptBytes {
		oldest := s.used.Remove(s.used.Back()).(*script.Script)
		delete(s.bySHA, oldest.SHA)
		s.bytes -= oldest.Size
	}
	return made, nil
}

func (s *scripts) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.bySHA)
	s.used.Init()
	s.bytes = 0
}

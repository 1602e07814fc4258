package script

import (
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// MaxText is the longest script, in bytes. The time of compiling grows with the square.
const MaxText = 64 << 10

// chunkName is the name of a script in the errors that it makes.
const chunkName = "user_script"

// Script is one that was compiled. It does not change, and may run many times at once.
type Script struct {
	SHA      string // of the text: its name, in lower case
	Size     int    // of the text, in bytes
	ReadOnly bool   // it has said that it does not write
	proto    *lua.FunctionProto
}

// SHA returns the name of a text: its SHA-1 in hex.
func SHA(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Compile returns the script of a text. Its error is for whoever wrote it.
func Compile(text string) (s *Script, err error) {
	if len(text) > MaxText {
		return nil, compileError("it has %d bytes; the limit is %d", len(text), MaxText)
	}
	s = &Script{SHA: SHA(text), Size: len(text)}
	if text, err = s.shebang(text); err != nil {
		return nil, err
	}
	defer func() {
		if cause := recover(); cause != nil { // by which the compiler says that it gave up
			s, err = nil, compileError("%v", cause)
		}
	}()
	chunk, err := parse.Parse(strings.NewReader(text), chunkName)
	if err != nil {
		return nil, syntaxError(err, text)
	}
	if chunk, err = rewrite(chunk); err != nil {
		return nil, compileError("%s: %v", chunkName, err)
	}
	s.proto, err = lua.Compile(chunk, chunkName)
	var bad *lua.CompileError
	switch {
	case errors.As(err, &bad):
		return nil, compileError("%s:%d: %s", chunkName, bad.Line, bad.Message)
	case err != nil:
		return nil, compileError("%v", err)
	}
	return s, nil
}

func compileError(format string, args ...any) error {
	return errors.New("ERR Error compiling script (new function): " + fmt.Sprintf(format, args...))
}

// syntaxError says where in the text the parser stopped.
func syntaxError(err error, text string) error {
	var bad *parse.Error
	if !errors.As(err, &bad) {
		return compileError("%v", err)
	}
	line, near := bad.Pos.Line, bad.Token
	if line < 1 { // the end
		line, near = 1+strings.Count(text, "\n"), "<eof>"
	}
	return compileError("%s:%d: %s near '%s'", chunkName, line, bad.Message, near)
}

// shebang reads a first line such as #!lua flags=no-writes, and returns the text without
// it, with as many lines.
func (s *Script) shebang(text string) (string, error) {
	rest, found := strings.CutPrefix(text, "#!")
	if !found {
		return text, nil
	}
	line, _, _ := strings.Cut(rest, "\n")
	words := strings.Fields(line)
	if len(words) == 0 || words[0] != "lua" {
		return "", errors.New("ERR Unexpected engine in script shebang: " + strings.Join(words[:min(1, len(words))], ""))
	}
	for _, word := range words[1:] {
		flags, ok := strings.CutPrefix(word, "flags=")
		if !ok {
			return "", errors.New("ERR Unknown lua shebang option: " + word)
		}
		for flag := range strings.SplitSeq(flags, ",") {
			if !slices.Contains([]string{"", "no-writes", "allow-oom", "allow-stale", "no-cluster", "allow-cross-slot-keys"}, flag) {
				return "", errors.New("ERR Unexpected flag in script shebang: " + flag)
			}
			s.ReadOnly = s.ReadOnly || flag == "no-writes"
		}
	}
	return rest[len(line):], nil
}

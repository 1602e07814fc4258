package script

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	lua "github.com/yuin/gopher-lua"
)

// token is a word of JSON, named as errors name it.
type token string

const (
	tokenObject    token = "T_OBJ_BEGIN"
	tokenObjectEnd token = "T_OBJ_END"
	tokenList      token = "T_ARR_BEGIN"
	tokenListEnd   token = "T_ARR_END"
	tokenText      token = "T_STRING"
	tokenNumber    token = "T_NUMBER"
	tokenBool      token = "T_BOOLEAN"
	tokenNull      token = "T_NULL"
	tokenColon     token = "T_COLON"
	tokenComma     token = "T_COMMA"
	tokenEnd       token = "T_END"
	tokenInvalid   token = "invalid token"
)

func jsonDecode(c call) int {
	if c.L.GetTop() != 1 {
		c.badArg(1, "expected 1 argument")
	}
	d := decoder{c: c, text: c.str(1)}
	d.next()
	v := d.value(0)
	if d.next(); d.kind != tokenEnd {
		d.expected("the end")
	}
	return c.push(v)
}

// decoder reads JSON, and a little more: numbers may be hexadecimal, infinite or none.
type decoder struct {
	c     call
	text  string
	at    int // behind the token
	start int // of the token
	kind  token
	datum lua.LValue // of a token that is a value
}

// expected raises an error that names the token.
func (d *decoder) expected(what string) {
	d.c.fail("Expected %s but found %s at character %d", what, d.kind, d.start+1)
}

// value reads the value that begins with the token.
func (d *decoder) value(depth int) lua.LValue {
	switch d.kind {
	case tokenText, tokenNumber, tokenBool, tokenNull:
		return d.datum
	case tokenList, tokenObject:
		if depth++; depth > maxNested {
			d.c.fail("Found too many nested data structures (%d)", depth)
		}
		if d.kind == tokenList {
			return d.list(depth)
		}
		return d.object(depth)
	}
	d.expected("value")
	return lua.LNil
}

func (d *decoder) list(depth int) lua.LValue {
	t := d.c.newTable(0, 0)
	d.next()
	if d.kind == tokenListEnd {
		return t
	}
	for i := 1; ; i++ {
		d.c.put(t, lua.LNumber(i), d.value(depth))
		d.next()
		switch d.kind {
		case tokenListEnd:
			return t
		case tokenComma:
			d.next()
		default:
			d.expected("comma or array end")
		}
	}
}

func (d *decoder) object(depth int) lua.LValue {
	t := d.c.newTable(0, 0)
	d.next()
	if d.kind == tokenObjectEnd {
		return t
	}
	for {
		if d.kind != tokenText {
			d.expected("object key string")
		}
		key := d.datum
		if d.next(); d.kind != tokenColon {
			d.expected("colon")
		}
		d.next()
		d.c.put(t, key, d.value(depth))
		d.next()
		switch d.kind {
		case tokenObjectEnd:
			return t
		case tokenComma:
			d.next()
		default:
			d.expected("comma or object end")
		}
	}
}

// next reads a token.
func (d *decoder) next() {
	d.c.work(1)
	for d.at < len(d.text) && strings.IndexByte(" \t\r\n", d.text[d.at]) >= 0 {
		d.at++
	}
	d.start = d.at
	if d.at == len(d.text) {
		d.kind = tokenEnd
		return
	}
	punctuation := map[byte]token{'{': tokenObject, '}': tokenObjectEnd, '[': tokenList, ']': tokenListEnd, ':': tokenColon, ',': tokenComma}
	kind, ok := punctuation[d.text[d.at]]
	switch {
	case ok:
		d.kind = kind
		d.at++
	case d.text[d.at] == '"':
		d.string()
	case d.word("true", tokenBool, lua.LTrue), d.word("false", tokenBool, lua.LFalse), d.word("null", tokenNull, d.c.null):
	default:
		d.number()
	}
}

func (d *decoder) word(text string, kind token, v lua.LValue) bool {
	if !strings.HasPrefix(d.text[d.at:], text) {
		return false
	}
	d.at += len(text)
	d.kind, d.datum = kind, v
	return true
}

func (d *decoder) number() {
	end := d.at
	for end < len(d.text) && strings.IndexByte("+-.0123456789abcdefinxABCDEFINXty", d.text[end]) >= 0 {
		end++
	}
	word := d.text[d.at:end]
	if word == "" || strings.IndexByte("-0123456789iInN", word[0]) < 0 {
		d.kind = tokenInvalid
		return
	}
	n, ok := parseNumber(word)
	if !ok {
		if d.kind = "invalid number"; word[0] > '9' {
			d.kind = tokenInvalid
		}
		return
	}
	d.at, d.kind, d.datum = end, tokenNumber, lua.LNumber(n)
}

// string reads a text in quotes.
func (d *decoder) string() {
	i := d.at + 1
	plain := strings.IndexAny(d.text[i:], "\"\\")
	if plain >= 0 && d.text[i+plain] == '"' {
		d.c.demand(stringCost)
		d.at, d.kind, d.datum = i+plain+1, tokenText, lua.LString(d.text[i:i+plain])
		return
	}
	d.c.room(len(d.text) - i)
	b := []byte{}
	for i < len(d.text) {
		switch ch := d.text[i]; ch {
		case '"':
			d.at, d.kind = i+1, tokenText
			d.datum = d.c.text(string(b))
			return
		case '\\':
			n, wrong := 0, token("")
			if b, n, wrong = unescape(b, d.text[i:]); wrong != "" {
				d.start, d.kind = i, wrong
				return
			}
			i += n
		default:
			b = append(b, ch)
			i++
		}
	}
	d.start, d.kind = i, "unexpected end of string"
}

// unescape appends what the escape stands for that s begins with, and returns its length.
func unescape(b []byte, s string) (out []byte, n int, wrong token) {
	if len(s) < 2 {
		return b, 0, "unexpected end of string"
	}
	if i := strings.IndexByte(`"\/bfnrt`, s[1]); i >= 0 {
		return append(b, "\"\\/\b\f\n\r\t"[i]), 2, ""
	}
	if s[1] != 'u' {
		return b, 0, "invalid escape code"
	}
	const bad = token("invalid unicode escape code")
	r, ok := codeUnit(s)
	if !ok {
		return b, 0, bad
	}
	n = 6
	if utf16.IsSurrogate(r) {
		low, ok := codeUnit(s[6:])
		if r = utf16.DecodeRune(r, low); !ok || r == utf8.RuneError {
			return b, 0, bad
		}
		n = 12
	}
	return utf8.AppendRune(b, r), n, ""
}

// codeUnit reads \uXXXX.
func codeUnit(s string) (rune, bool) {
	if len(s) < 6 || s[:2] != `\u` {
		return 0, false
	}
	n, err := strconv.ParseUint(s[2:6], 16, 16)
	return rune(n), err == nil
}

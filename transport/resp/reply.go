package resp

import (
	"strconv"
	"strings"
)

// reply is an answer under construction, in the protocol version of its connection:
// what RESP3 has types for, RESP2 says with strings and arrays.
type reply struct {
	b     []byte
	proto int // 2 or 3
}

func (r *reply) simple(s string) { r.b = append(append(append(r.b, '+'), s...), "\r\n"...) }
func (r *reply) ok()             { r.simple("OK") }

// maxFailure bounds the text of an error, which may repeat what the client has sent.
const maxFailure = 1 << 10

// fail appends an error: its first word, which clients branch on, and a text. Line
// breaks, which would end the answer, become spaces.
func (r *reply) fail(text string) {
	r.b = append(r.b, '-')
	r.b = append(r.b, oneLine.Replace(text[:min(len(text), maxFailure)])...)
	r.b = append(r.b, "\r\n"...)
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

func (r *reply) integer(n int64) { r.head(':', n) }

func (r *reply) flag(yes bool) {
	if yes {
		r.integer(1)
	} else {
		r.integer(0)
	}
}

func (r *reply) bulk(v []byte) {
	r.head('$', int64(len(v)))
	r.b = append(append(r.b, v...), "\r\n"...)
}

func (r *reply) text(s string) {
	r.head('$', int64(len(s)))
	r.b = append(append(r.b, s...), "\r\n"...)
}

// verbatim appends plain text for people.
func (r *reply) verbatim(s string) {
	if r.proto < 3 {
		r.text(s)
		return
	}
	r.head('=', int64(len(s))+4)
	r.b = append(append(append(r.b, "txt:"...), s...), "\r\n"...)
}

// null appends the answer "there is nothing", nullArray the same in the place of an array.
func (r *reply) null() {
	if r.proto < 3 {
		r.b = append(r.b, "$-1\r\n"...)
	} else {
		r.b = append(r.b, "_\r\n"...)
	}
}

func (r *reply) nullArray() {
	if r.proto < 3 {
		r.b = append(r.b, "*-1\r\n"...)
	} else {
		r.b = append(r.b, "_\r\n"...)
	}
}

// array appends the head of an array; its n elements come next.
func (r *reply) array(n int) { r.head('*', int64(n)) }

// dict appends the head of a map; its n pairs, a key and a value each, come next.
func (r *reply) dict(n int) {
	if r.proto < 3 {
		r.array(2 * n)
	} else {
		r.head('%', int64(n))
	}
}

// set appends the head of a set; its n elements come next.
func (r *reply) set(n int) {
	if r.proto < 3 {
		r.array(n)
	} else {
		r.head('~', int64(n))
	}
}

func (r *reply) head(kind byte, n int64) {
	r.b = append(strconv.AppendInt(append(r.b, kind), n, 10), "\r\n"...)
}

// bulks appends an array of byte strings.
func (r *reply) bulks(list [][]byte) {
	r.array(len(list))
	for _, v := range list {
		r.bulk(v)
	}
}

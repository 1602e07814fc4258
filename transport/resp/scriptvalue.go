package resp

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/ringraft/ringraft/transport/resp/script"
)

// valueOf returns what a script gets of an answer.
func valueOf(answer []byte) script.Value {
	v, _ := cutValue(answer)
	return v
}

// cutValue reads the first value of what a reply has written, and returns the rest.
func cutValue(b []byte) (v script.Value, rest []byte) {
	line, rest, _ := bytes.Cut(b, []byte("\r\n"))
	text := string(line[1:])
	n, _ := strconv.Atoi(text) // 0 where none stands
	switch line[0] {
	case '+':
		return script.Status(text), rest
	case '-':
		return script.Failure(text), rest
	case ':':
		return int64(n), rest
	case '$', '=':
		if n < 0 {
			return nil, rest
		}
		kind := 0
		if line[0] == '=' {
			kind = len("txt:")
		}
		return string(rest[kind:n]), rest[n+2:]
	case '*', '~':
		if n < 0 {
			return nil, rest
		}
		list := make([]script.Value, n)
		for i := range list {
			list[i], rest = cutValue(rest)
		}
		if line[0] == '~' {
			return script.Set(list), rest
		}
		return script.Array(list), rest
	case '%':
		m := make(script.Map, n)
		for i := range m {
			m[i].Key, rest = cutValue(rest)
			m[i].Value, rest = cutValue(rest)
		}
		return m, rest
	}
	return nil, rest
}

// value appends what a script answers.
func (r *reply) value(v script.Value) {
	switch v := v.(type) {
	case nil:
		r.null()
	case int64:
		r.integer(v)
	case string:
		r.text(v)
	case bool:
		r.boolean(v)
	case script.Status:
		r.simple(oneLine.Replace(string(v)))
	case script.Failure:
		r.fail(string(v))
	case script.Double:
		r.double(float64(v))
	case script.Array:
		r.array(len(v))
		r.values(v)
	case script.Set:
		r.set(len(v))
		r.values(v)
	case script.Map:
		r.dict(len(v))
		for _, p := range v {
			r.value(p.Key)
			r.value(p.Value)
		}
	}
}

func (r *reply) values(list []script.Value) {
	for _, v := range list {
		r.value(v)
	}
}

func (r *reply) boolean(yes bool) {
	switch {
	case r.proto < 3:
		r.flag(yes)
	case yes:
		r.b = append(r.b, "#t\r\n"...)
	default:
		r.b = append(r.b, "#f\r\n"...)
	}
}

func (r *reply) double(f float64) {
	text := strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', 17, 64), "+"))
	if r.proto < 3 {
		r.text(text)
		return
	}
	r.b = append(append(append(r.b, ','), text...), "\r\n"...)
}

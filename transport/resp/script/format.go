package script

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// directive is one of string.format: %, flags, width, precision, verb.
type directive struct {
	flags     string
	width     int
	precision int // -1: none
	verb      byte
}

// stringFormat is that of C, but for lengths and the verbs a, n and p; q quotes for Lua.
func stringFormat(c call) int {
	format := c.str(1)
	var b strings.Builder
	add := func(part string) {
		c.room(2 * len(part))
		b.WriteString(part)
	}
	arg := 1
	for format != "" {
		text, rest, found := strings.Cut(format, "%")
		add(text)
		if !found {
			break
		}
		if strings.HasPrefix(rest, "%") {
			add("%")
			format = rest[1:]
			continue
		}
		var d directive
		d, format = c.parseDirective(rest)
		arg++
		if arg > c.L.GetTop() {
			c.badArg(arg, "no value")
		}
		add(c.formatted(d, arg))
	}
	return c.pushText(b.String())
}

func (c call) parseDirective(s string) (d directive, rest string) {
	digits := func(most int) (n int) {
		i := 0
		for i < len(s) && '0' <= s[i] && s[i] <= '9' {
			i++
		}
		if i > most {
			c.fail("invalid format (width or precision too long)")
		}
		n, _ = strconv.Atoi(s[:i]) // digits, or nothing for 0
		s = s[i:]
		return n
	}
	for s != "" && strings.IndexByte("-+ #0", s[0]) >= 0 {
		d.flags, s = d.flags+s[:1], s[1:]
	}
	if len(d.flags) > 5 {
		c.fail("invalid format (repeated flags)")
	}
	d.width, d.precision = digits(2), -1
	if strings.HasPrefix(s, ".") {
		s = s[1:]
		d.precision = digits(2)
	}
	if s == "" {
		c.fail("invalid option '%%' to 'format'")
	}
	d.verb = s[0]
	return d, s[1:]
}

// spec is the directive as package fmt takes it, with another verb.
func (d directive) spec(verb byte) string {
	s := "%" + d.flags
	if d.width > 0 {
		s += strconv.Itoa(d.width)
	}
	if d.precision >= 0 {
		s += "." + strconv.Itoa(d.precision)
	}
	return s + string(verb)
}

func (c call) formatted(d directive, n int) string {
	switch d.verb {
	case 'c':
		return d.padded(string([]byte{byte(c.int(n))}))
	case 'd', 'i':
		return fmt.Sprintf(d.spec('d'), c.int(n))
	case 'u':
		return fmt.Sprintf(d.spec('d'), uint64(c.int(n)))
	case 'o', 'x', 'X':
		return fmt.Sprintf(d.spec(d.verb), uint64(c.int(n)))
	case 'e', 'E', 'f', 'g', 'G':
		return d.float(c.num(n))
	case 'q':
		s := c.str(n)
		c.room(4 * len(s))
		return quoted(s)
	case 's':
		s := c.str(n)
		if d.precision >= 0 {
			s = s[:min(len(s), d.precision)]
		}
		return d.padded(s)
	}
	c.fail("invalid option '%%%c' to 'format'", d.verb)
	return ""
}

func (d directive) padded(s string) string {
	pad := strings.Repeat(" ", max(d.width-len(s), 0))
	if strings.Contains(d.flags, "-") {
		return s + pad
	}
	return pad + s
}

func (d directive) float(f float64) string {
	if math.IsInf(f, 0) || math.IsNaN(f) {
		text := formatNumber(f)
		if strings.Contains(d.flags, "+") && !strings.HasPrefix(text, "-") {
			text = "+" + text
		}
		return d.padded(text)
	}
	if d.precision < 0 {
		d.precision = 6
	}
	return fmt.Sprintf(d.spec(d.verb), f)
}

// quoted is a string as Lua reads it.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(s) {
		switch s[i] {
		case '"', '\\', '\n':
			b.WriteByte('\\')
			b.WriteByte(s[i])
		case '\r':
			b.WriteString(`\r`)
		case 0:
			b.WriteString(`\000`)
		default:
			b.WriteByte(s[i])
		}
	}
	b.WriteByte('"')
	return b.String()
}

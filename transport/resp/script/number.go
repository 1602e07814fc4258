package script

import (
	"math"
	"strconv"
	"strings"

	lua "github.com/yuin/gopher-lua"
)

var infinity = math.Inf(1)

// formatNumber is a number as Lua prints it, with 14 digits.
func formatNumber(f float64) string { return formatDigits(f, 14) }

// formatDigits is %.{digits}g of C.
func formatDigits(f float64, digits int) string {
	switch {
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	case math.IsNaN(f):
		return "nan"
	case f == math.Trunc(f) && math.Abs(f) < 1e14 && !(f == 0 && math.Signbit(f)):
		return strconv.FormatInt(int64(f), 10)
	}
	return strconv.FormatFloat(f, 'g', digits, 64)
}

// parseNumber reads a number as Lua does: decimal, or hexadecimal without a fraction, with
// spaces around.
func parseNumber(s string) (float64, bool) {
	s = strings.Trim(s, " \t\n\r\f\v")
	sign, digits := 1.0, s
	if digits != "" && (digits[0] == '-' || digits[0] == '+') {
		if digits[0] == '-' {
			sign = -1
		}
		digits = digits[1:]
	}
	if len(digits) > 2 && digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') {
		n, err := strconv.ParseUint(digits[2:], 16, 64)
		return sign * float64(n), err == nil
	}
	if strings.ContainsAny(digits, "_xXpP") { // what else a float of Go may have
		return 0, false
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil || math.IsInf(f, 0)
}

// parseBased reads an integer of a base from 2 to 36.
func parseBased(s string, base int) (float64, bool) {
	s = strings.Trim(s, " \t\n\r\f\v")
	if base == 16 {
		s = strings.TrimPrefix(strings.TrimPrefix(s, "0x"), "0X")
	}
	n, err := strconv.ParseInt(s, base, 64)
	return float64(n), err == nil
}

// drand48 is the generator of that name, which gives every run the same numbers.
type drand48 uint64

func (r *drand48) seed(n uint32) { *r = drand48(n)<<16 | 0x330e }

// next returns a number of 31 bits.
func (r *drand48) next() uint32 {
	*r = (*r*0x5deece66d + 0xb) & (1<<48 - 1)
	return uint32(*r >> 17)
}

func mathLibrary() map[string]builtin {
	lib := map[string]builtin{
		"max": func(c call) int { return extreme(c, func(a, b float64) bool { return a > b }) },
		"min": func(c call) int { return extreme(c, func(a, b float64) bool { return a < b }) },
		"modf": func(c call) int {
			f := c.num(1)
			if math.IsInf(f, 0) {
				return c.push(lua.LNumber(f), lua.LNumber(0))
			}
			whole, part := math.Modf(f)
			return c.push(lua.LNumber(whole), lua.LNumber(part))
		},
		"frexp": func(c call) int {
			part, exp := math.Frexp(c.num(1))
			return c.push(lua.LNumber(part), lua.LNumber(exp))
		},
		"ldexp":      func(c call) int { return c.pushNumber(math.Ldexp(c.num(1), max(min(c.int(2), 1<<20), -1<<20))) },
		"random":     random,
		"randomseed": func(c call) int { c.random.seed(uint32(c.int(1))); return 0 },
	}
	for name, f := range map[string]func(float64) float64{
		"abs": math.Abs, "acos": math.Acos, "asin": math.Asin, "atan": math.Atan, "ceil": math.Ceil, "cos": math.Cos, "cosh": math.Cosh,
		"exp": math.Exp, "floor": math.Floor, "log": math.Log, "log10": math.Log10, "sin": math.Sin, "sinh": math.Sinh, "sqrt": math.Sqrt,
		"tan": math.Tan, "tanh": math.Tanh,
		"deg": func(f float64) float64 { return f * 180 / math.Pi }, "rad": func(f float64) float64 { return f * math.Pi / 180 },
	} {
		lib[name] = func(c call) int { return c.pushNumber(f(c.num(1))) }
	}
	for name, f := range map[string]func(a, b float64) float64{"atan2": math.Atan2, "fmod": math.Mod, "pow": math.Pow} {
		lib[name] = func(c call) int { return c.pushNumber(f(c.num(1), c.num(2))) }
	}
	return lib
}

func extreme(c call, better func(a, b float64) bool) int {
	best := c.num(1)
	for i := 2; i <= c.L.GetTop(); i++ {
		if f := c.num(i); better(f, best) {
			best = f
		}
	}
	return c.pushNumber(best)
}

// random is a fraction, or a number from 1 or m to n.
func random(c call) int {
	r := float64(c.random.next()%math.MaxInt32) / math.MaxInt32
	low, high := 1.0, 0.0
	switch c.L.GetTop() {
	case 0:
		return c.pushNumber(r)
	case 1:
		high = float64(c.int(1))
	case 2:
		low, high = float64(c.int(1)), float64(c.int(2))
	default:
		c.fail("wrong number of arguments")
	}
	if low > high {
		c.badArg(c.L.GetTop(), "interval is empty")
	}
	return c.pushNumber(math.Floor(r*(high-low+1)) + low)
}

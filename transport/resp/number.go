package resp

import (
	"bytes"
	"math/big"
	"strconv"
	"strings"
)

// parseInteger accepts only what strconv prints: no plus sign, space, or leading zero.
func parseInteger(b []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(b), 10, 64)
	if err != nil || len(b) > 1 && (b[0] == '0' || b[0] == '+' || b[0] == '-' && b[1] == '0') {
		return 0, false
	}
	return n, true
}

// The numbers of INCRBYFLOAT are those of an 80-bit float: 64 bits of mantissa, and an
// exponent between these bounds.
const (
	floatPrecision = 64
	maxFloatExp    = 16384
	minFloatExp    = -16445
	maxFloatText   = 256 // bytes
)

// parseFloat returns the number that b stands for. It may be infinite.
func parseFloat(b []byte) (*big.Float, bool) {
	text := strings.ToLower(string(b))
	if len(b) == 0 || len(b) > maxFloatText || strings.ContainsAny(text, "_po \t\n\r") || bytes.HasPrefix(bytes.TrimLeft(b, "+-"), []byte("0b")) {
		return nil, false
	}
	switch strings.TrimLeft(text, "+-") {
	case "inf", "infinity":
		return new(big.Float).SetInf(text[0] == '-'), len(text)-len(strings.TrimLeft(text, "+-")) <= 1
	}
	f, _, err := big.ParseFloat(text, 0, floatPrecision, big.ToNearestEven)
	if err != nil {
		return nil, false
	}
	return bounded(f), true
}

// bounded returns what an 80-bit float makes of f.
func bounded(f *big.Float) *big.Float {
	switch exp := f.MantExp(nil); {
	case f.IsInf() || exp > maxFloatExp:
		return new(big.Float).SetInf(f.Signbit())
	case exp < minFloatExp:
		return new(big.Float).SetPrec(floatPrecision)
	}
	return f
}

// addFloats returns the sum as text, and false if it is not finite.
func addFloats(a, b *big.Float) (string, bool) {
	if a.IsInf() || b.IsInf() {
		return "", false
	}
	sum := bounded(new(big.Float).SetPrec(floatPrecision).Add(a, b))
	if sum.IsInf() {
		return "", false
	}
	text := strings.TrimRight(sum.Text('f', 17), "0")
	if text = strings.TrimSuffix(text, "."); text == "-0" {
		text = "0"
	}
	return text, true
}

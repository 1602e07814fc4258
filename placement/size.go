package placement

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// sizeUnits are the powers of 1024, from the first up. The decimal kB, MB… are not
// accepted: half of the people who write them mean the other thing.
const sizeUnits = "KMGTP"

const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

// ParseSize returns the bytes that s stands for: a whole decimal number and, if it
// does not count bytes, a unit from K to P, which may end in "i" or "iB". Units are
// powers of 1024, in either case: "65536", "64k" and "64KiB" are the same.
func ParseSize(s string) (int64, error) {
	digits := strings.TrimRight(s, letters)
	shift, known := unitShift(s[len(digits):])
	n, err := strconv.ParseUint(digits, 10, 64)
	switch {
	case !known, err != nil && !errors.Is(err, strconv.ErrRange):
		return 0, fmt.Errorf("%.40q is no size: write a whole number of bytes, or one with a unit (powers of 1024), as 64k, 256MiB or 1GiB", s)
	case err != nil, n > math.MaxInt64>>shift:
		return 0, fmt.Errorf("%.40q is over the limit of a signed 64-bit number of bytes", s)
	}
	return int64(n << shift), nil
}

// unitShift returns the exponent of the power of two that unit stands for.
func unitShift(unit string) (shift int, known bool) {
	unit = strings.ToUpper(unit)
	if unit == "" || unit == "B" {
		return 0, true
	}
	power := strings.IndexByte(sizeUnits, unit[0]) + 1
	suffix := unit[1:]
	return 10 * power, power > 0 && (suffix == "" || suffix == "I" || suffix == "IB")
}

// FormatSize returns n, which is not negative, in the largest unit that keeps it
// exact: "1GiB", "1536MiB", "1000". [ParseSize] reads it back.
func FormatSize(n int64) string {
	power := 0
	for n != 0 && n%1024 == 0 && power < len(sizeUnits) {
		n /= 1024
		power++
	}
	if power == 0 {
		return strconv.FormatInt(n, 10)
	}
	return strconv.FormatInt(n, 10) + sizeUnits[power-1:power] + "iB"
}

// Package defaults fills in what a configuration leaves out.
package defaults

import (
	"fmt"
	"time"
)

// Set replaces a zero and refuses a negative number, by the field's name.
func Set[T int | int64 | time.Duration](name string, v *T, otherwise T) error {
	if *v < 0 {
		return fmt.Errorf("%s is %v; it must not be negative", name, *v)
	}
	if *v == 0 {
		*v = otherwise
	}
	return nil
}

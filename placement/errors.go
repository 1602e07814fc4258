package placement

import "fmt"

// FieldError refuses a value and names the field, setting or parameter that it was
// given for.
type FieldError struct {
	Field   string
	Message string // says the bound that was passed
}

func (e *FieldError) Error() string { return e.Field + ": " + e.Message }

func refuse(field, format string, args ...any) error {
	return &FieldError{Field: field, Message: fmt.Sprintf(format, args...)}
}

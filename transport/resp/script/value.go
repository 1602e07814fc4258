package script

// Value is what passes between a script and its host: nil, a bool, an int64, a string, a
// Status, a Failure, a Double, an Array, a Map or a Set.
type Value any

// Status is an answer such as OK.
type Status string

// Failure is an error as an answer. Its first word says of which kind it is.
type Failure string

// Double is a number that may have a fraction.
type Double float64

// Array is a list.
type Array []Value

// Map is pairs, in an order of no meaning.
type Map []Pair

// Pair is one of a map.
type Pair struct{ Key, Value Value }

// Set is a list without an order.
type Set []Value

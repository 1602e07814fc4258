// Package script runs the Lua scripts of Redis clients, in a sandbox. A script sees its
// keys and arguments and what its [Host] answers, and nothing else: no clock, no chance,
// no files, no other script.
//
// A run is bounded by steps and by the memory that it asks for, both counted and not
// measured, so that the same script ends at the same place everywhere. The machine is
// gopher-lua; what it would do without a bound is taken from it. The text is rewritten
// before it is compiled, so that strings, tables and functions are made through functions
// of ours that ask for the memory first; and the library is ours where a call could take
// long or much.
package script

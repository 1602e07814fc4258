// Package resp is the front that speaks the Redis protocol, in its versions 2 and 3. It
// translates commands to operations of package op, and holds no data of its own.
//
// A connection is a session: it reads its own writes, and never goes back. Pipelined
// commands are answered in their order; reads run at once, writes side by side, and a
// command that depends on an earlier one waits for it.
package resp

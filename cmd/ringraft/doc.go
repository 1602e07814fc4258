// Ringraft is the command line: it runs nodes, and it talks to them.
//
// Every verb is a file. What all of them share: app.go puts the verbs together,
// arrange.go lets flags stand behind arguments, flags.go holds the common flags,
// exit.go gives every error its exit code. Data goes to standard output, messages
// to standard error.
package main

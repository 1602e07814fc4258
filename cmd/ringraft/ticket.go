package main

import (
	"errors"
	"os"

	"github.com/ringraft/ringraft/client"
)

// shownTicket bounds a ticket that a message shows, in bytes. Longer ones, of long
// values, go to a file: a command line would not take the longest.
const shownTicket = 2 << 10

// tellTickets tells how to ask for the outcomes that err leaves unknown, unless nobody
// can tell any more.
func (con *console) tellTickets(err error) {
	if errors.Is(err, client.ErrSessionEnded) {
		return
	}
	for _, ticket := range tickets(err) {
		text := ticket.String()
		if len(text) <= shownTicket {
			con.note("ringraft: to ask for the outcome: ringraft resolve %s", text)
			continue
		}
		path, err := keepTicket(text)
		if err != nil {
			con.note("ringraft: the ticket to ask for the outcome with was not saved: %v", err)
			continue
		}
		con.note("ringraft: to ask for the outcome: ringraft resolve - < %s", path)
	}
}

// tickets returns those of the unknown outcomes in the tree of err.
func tickets(err error) []client.Ticket {
	switch e := err.(type) {
	case *client.UnknownOutcomeError:
		return []client.Ticket{e.Ticket}
	case interface{ Unwrap() error }:
		return tickets(e.Unwrap())
	case interface{ Unwrap() []error }:
		var all []client.Ticket
		for _, err := range e.Unwrap() {
			all = append(all, tickets(err)...)
		}
		return all
	}
	return nil
}

// keepTicket writes a ticket, which holds keys and values, to a file that its owner
// alone can read.
func keepTicket(text string) (path string, err error) {
	f, err := os.CreateTemp("", "ringraft-ticket-*")
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(text + "\n")
	return f.Name(), errors.Join(err, f.Close())
}

package client_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"slices"
	"time"

	"github.com/ringraft/ringraft/client"
	"github.com/ringraft/ringraft/internal/fakenode"
)

// connect returns a client of a cluster that is there for the example, and what
// ends both.
func connect() (c *client.Client, end func()) {
	nodes, err := fakenode.Start(fakenode.Config{})
	if err != nil {
		log.Fatal(err)
	}
	c, err = client.New(context.Background(), client.Config{Endpoints: nodes.Endpoints()})
	if err != nil {
		log.Fatal(err)
	}
	return c, func() {
		c.Close()
		nodes.Close()
	}
}

func ExampleNew() {
	nodes, err := fakenode.Start(fakenode.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer nodes.Close()

	c, err := client.New(context.Background(), client.Config{Endpoints: nodes.Endpoints()})
	if err != nil {
		log.Fatal(err)
	}
	defer c.Close()

	m, err := c.Map(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(m.Nodes), "nodes,", len(m.Groups), "groups")
	// Output: 3 nodes, 4 groups
}

func ExampleClient_Set() {
	c, end := connect()
	defer end()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()

	_, err := c.Set(ctx, "session/42", []byte("alice"), client.WithTTL(30*time.Minute))
	switch {
	case errors.Is(err, client.ErrUnknownOutcome):
		fmt.Println("it may be stored: the error's ticket asks again")
	case err != nil:
		log.Fatal(err)
	}
	v, err := c.Get(ctx, "session/42", client.At(client.Linearizable))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %v left\n", v.Bytes, v.TTL.Round(time.Minute))
	// Output: alice, 30m0s left
}

func ExampleClient_Add_bounds() {
	c, end := connect()
	defer end()
	ctx := context.Background()

	if _, err := c.Set(ctx, "seats", []byte("1")); err != nil {
		log.Fatal(err)
	}
	for range 2 {
		left, err := c.Add(ctx, "seats", -1, client.AtLeast(0))
		switch {
		case errors.Is(err, client.ErrConditionNotMet):
			fmt.Println("sold out")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println("yours;", left, "left")
		}
	}
	// Output:
	// yours; 0 left
	// sold out
}

func ExampleClient_Update() {
	c, end := connect()
	defer end()

	version, lost, err := c.Update(context.Background(), "visitors", func(old client.Value, found bool) ([]byte, error) {
		return append(old.Bytes, "alice,"...), nil
	}, client.KeepTTL())
	fmt.Println(version, lost, err)
	// Output: 1 0 <nil>
}

func ExampleClient_Txn() {
	c, end := connect()
	defer end()

	res, err := c.Txn(context.Background(), client.Txn{
		If:   []client.Compare{client.When("{order 7}state", client.IfAbsent())},
		Then: []client.Op{client.SetOp("{order 7}state", []byte("paid")), client.AddOp("{order 7}changes", 1)},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(res.Met, res.Results[1].Number)
	// Output: true 1
}

func ExampleClient_Resolve() {
	c, end := connect()
	defer end()
	ctx := context.Background()

	_, err := c.Add(ctx, "balance", 100)
	var unknown *client.UnknownOutcomeError
	if errors.As(err, &unknown) {
		// Keep unknown.Ticket.String(), and ask again when there is time.
		answer, err := c.Resolve(ctx, unknown.Ticket)
		fmt.Println(answer.Number, err)
	}
}

func ExampleClient_Get() {
	c, end := connect()
	defer end()

	_, err := c.Get(context.Background(), "nobody")
	fmt.Println(errors.Is(err, client.ErrNotFound))
	// Output: true
}

func ExampleClient_Add() {
	c, end := connect()
	defer end()

	for range 3 {
		n, err := c.Add(context.Background(), "visits", 1)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(n)
	}
	// Output:
	// 1
	// 2
	// 3
}

func ExampleClient_GetMany() {
	c, end := connect()
	defer end()
	ctx := context.Background()

	if _, err := c.SetMany(ctx, []client.Pair{{Key: "a", Value: []byte("1")}, {Key: "b", Value: []byte("2")}}); err != nil {
		log.Fatal(err)
	}
	results, err := c.GetMany(ctx, []string{"a", "b", "c"})
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range results {
		fmt.Println(r.Key, r.Existed, string(r.Value.Bytes))
	}
	// Output:
	// a true 1
	// b true 2
	// c false
}

func ExampleClient_Scan() {
	c, end := connect()
	defer end()
	ctx := context.Background()

	for _, key := range []string{"user/ann", "user/bob", "order/1"} {
		if _, err := c.Set(ctx, key, nil); err != nil {
			log.Fatal(err)
		}
	}
	var users []string
	for e, err := range c.Scan(ctx, "user/") {
		if err != nil {
			log.Fatal(err)
		}
		users = append(users, e.Key)
	}
	slices.Sort(users)
	fmt.Println(users)
	// Output: [user/ann user/bob]
}

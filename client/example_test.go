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
		fmt.Println("it may be stored: read it to know")
	case err != nil:
		log.Fatal(err)
	}
	v, err := c.Get(ctx, "session/42", client.WithLevel(client.Linearizable))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s, %v left\n", v.Bytes, v.TTL.Round(time.Minute))
	// Output: alice, 30m0s left
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

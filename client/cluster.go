package client

import (
	"context"
	"fmt"

	"github.com/ringraft/ringraft/op"
	"github.com/ringraft/ringraft/placement"
)

// Map asks a node for the cluster map. The caller must not change what it holds.
func (c *Client) Map(ctx context.Context) (placement.Map, error) {
	res, err := c.do(ctx, op.ClusterMap{}, Local)
	if err != nil {
		return placement.Map{}, err
	}
	m, err := decodeMap(res.Detail)
	if err != nil {
		return placement.Map{}, err
	}
	c.install(m)
	return m, nil
}

// Status returns what every node of the cluster tells of itself and its replicas.
func (c *Client) Status(ctx context.Context) ([]op.NodeStatus, error) {
	res, err := c.do(ctx, op.Status{All: true}, Local)
	if err != nil {
		return nil, err
	}
	var nodes []op.NodeStatus
	if err := op.DecodeDetail(res.Detail, &nodes); err != nil {
		return nil, fmt.Errorf("the status cannot be read: %w", err)
	}
	return nodes, nil
}

// Transfer hands the leadership of group to the node to, or to the group's best
// follower if that is "", makes the new leader the preferred one, and returns its id.
func (c *Client) Transfer(ctx context.Context, group uint64, to string) (leader string, err error) {
	res, err := c.do(ctx, op.Transfer{Group: group, To: to}, Local)
	if err != nil {
		return "", err
	}
	if err := op.DecodeDetail(res.Detail, &leader); err != nil {
		return "", fmt.Errorf("the new leader's id cannot be read: %w", err)
	}
	return leader, nil
}

// SetConfig changes the cluster's setting name to value, both spelled as
// placement.Settings spells them.
func (c *Client) SetConfig(ctx context.Context, name, value string) error {
	_, err := c.do(ctx, op.SetConfig{Name: name, Value: value}, Local)
	return err
}

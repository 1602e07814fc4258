package placement

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// maxNodeID is the longest node id, in bytes.
const maxNodeID = 64

// CheckNodeID refuses ids that are not 1 to 64 of the characters A-Z, a-z, 0-9,
// '.', '_' and '-'.
func CheckNodeID(id string) error {
	if len(id) < 1 || len(id) > maxNodeID {
		return refuse("node id", "has %d characters; it must have 1 to %d", len(id), maxNodeID)
	}
	if i := strings.IndexFunc(id, notInNodeID); i >= 0 {
		return refuse("node id", "%q holds a character other than A-Z, a-z, 0-9, '.', '_' and '-'", id)
	}
	return nil
}

func notInNodeID(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return r != '.' && r != '_' && r != '-'
}

// ServerID returns "node/group/generation", the replica's Raft server id and
// address. A generation is never used twice for a node and group: Raft stores votes
// as addresses, and an empty replica must not inherit those of the one it replaces.
func (r Replica) ServerID(group uint64) string {
	return r.Node + "/" + strconv.FormatUint(group, 10) + "/" + strconv.FormatUint(r.Generation, 10)
}

// ParseServerID takes apart what [Replica.ServerID] returned, and refuses all else.
func ParseServerID(s string) (node string, group, generation uint64, err error) {
	node, rest, _ := strings.Cut(s, "/")
	groupDigits, generationDigits, found := strings.Cut(rest, "/")
	if !found {
		return "", 0, 0, fmt.Errorf("server id %.100q is not node/group/generation", s)
	}
	if err := CheckNodeID(node); err != nil {
		return "", 0, 0, fmt.Errorf("server id %.100q: %w", s, err)
	}
	if group, err = parseCanonical(groupDigits); err != nil {
		return "", 0, 0, fmt.Errorf("server id %.100q: group %w", s, err)
	}
	if generation, err = parseCanonical(generationDigits); err != nil {
		return "", 0, 0, fmt.Errorf("server id %.100q: generation %w", s, err)
	}
	return node, group, generation, nil
}

var errNotCanonical = errors.New("is no unsigned 64-bit number without sign or leading zeros")

// parseCanonical accepts only what strconv prints, so that equal ids are equal strings.
func parseCanonical(digits string) (uint64, error) {
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || strconv.FormatUint(n, 10) != digits {
		return 0, errNotCanonical
	}
	return n, nil
}

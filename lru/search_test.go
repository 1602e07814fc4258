package lru

// Hint finds the item at key, step by step, and asks for a hint.
func (c *Cache) Hint(slot uint16, key []byte, now uint32) bool {
	var s Search
	s.Begin(c, slot, key)
	s.Enter()
	s.Choose()
	s.Approach()
	s.Fetch()
	_, found := s.Item()
	return found && s.Hint(now)
}

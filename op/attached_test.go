package op

import (
	"bytes"
	"testing"
)

func TestAttachedRecordStandsInTheSlotThatItsKeyNames(t *testing.T) {
	t.Parallel()
	for _, slot := range []uint16{0, 1, 255, 256, Slots - 1} {
		key := AttachedKey(slot, 'x', []byte("{tag}name"))
		if got := SlotOf(key); got != slot {
			t.Errorf("slot %d, want %d", got, slot)
		}
		if _, attached := attachedSlot(string(key)); !attached {
			t.Errorf("the key of slot %d is not attached", slot)
		}
	}
}

func TestOtherKeysAreNotAttached(t *testing.T) {
	t.Parallel()
	whole := AttachedKey(7, 'x', nil)
	over := bytes.Clone(whole)
	over[len(attachedPrefix)] = 0xff // no slot has that number
	for _, key := range [][]byte{nil, {0}, whole[:len(whole)-1], over, whole[1:], []byte("\x00ringraf\x00abc")} {
		if _, attached := attachedSlot(string(key)); attached {
			t.Errorf("%q is attached", key)
		}
	}
}

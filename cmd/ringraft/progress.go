package main

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// newProgress returns a bar on standard error, which shows only if that is a
// terminal. total is -1 where it is not known.
func (con *console) newProgress(total int64, what string, inBytes bool) *progressbar.ProgressBar {
	w := con.err
	if !con.errTerminal {
		w = io.Discard
	}
	return progressbar.NewOptions64(total,
		progressbar.OptionSetWriter(w),
		progressbar.OptionSetVisibility(con.errTerminal),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowBytes(inBytes),
		progressbar.OptionShowCount(),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionSetSpinnerChangeInterval(0), // else the bar starts a goroutine
		progressbar.OptionClearOnFinish(),
	)
}

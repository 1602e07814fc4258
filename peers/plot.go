package main

import (
	"encoding/json"
	"fmt"
	"html"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// The size of a drawing, in pixels.
const (
	plotWidth, plotHeight = 860, 350
	left, right           = 80, 20
	top, bottom           = 84, 46
	innerWidth            = plotWidth - left - right
	innerHeight           = plotHeight - top - bottom
)

// drawing is a chart of bars: one group of bars for each case, a colour for each system.
type drawing struct {
	file, title string
	rows        []string
	unit        string
}

func drawings() []drawing {
	return []drawing{
		{"writes.svg", "Durable quorum writes per second, three nodes, 128-byte values", []string{rowWrites}, opsPerS},
		{"writes-p99.svg", "Durable quorum writes, p99 latency, ms", []string{rowWrites}, p99},
		{"groups.svg", "Durable quorum writes per second by groups and leaders", []string{rowGroups}, opsPerS},
		{"reads.svg", "Local reads per second of one node, × requests in one write", []string{rowReads}, opsPerS},
		{"linearizable.svg", "Linearizable reads per second, three nodes", []string{rowLinearizable}, opsPerS},
		{"idle.svg", "Idle: percent of one core, three nodes in all", []string{rowIdle}, cpu},
		{"gaps.svg", "A node dies, or falls silent: longest gap of the worst of 16 groups, ms", []string{rowKill, rowSilence}, gap},
		{"mixed.svg", "90 % reads, 10 % writes at a rate: p99 latency, ms", []string{rowMixed}, p99},
	}
}

func color(system string) string {
	return map[string]string{ringraft: "#1f6feb", etcd: "#1a7f37", nats: "#bc4c00", redis: "#cf222e", echo: "#8c959f", bare: "#57606a"}[system]
}

// drawAll draws the figures of the JSON file into the directory.
func drawAll(path, dir string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	var t tally
	if err := json.Unmarshal(b, &t); err != nil {
		return fmt.Errorf("%s holds no figures: %w", path, err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, d := range drawings() {
		svg := d.svg(&t)
		if svg == "" {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, d.file), []byte(svg), 0o644); err != nil {
			return err
		}
		fmt.Println(filepath.Join(dir, d.file))
	}
	return nil
}

// svg returns the drawing, "" if nothing of it was measured.
func (d drawing) svg(t *tally) string {
	var figures []*figure
	var cases, systems []string
	highest := 0.0
	for _, f := range t.Figures {
		if !slices.Contains(d.rows, f.Row) || f.Unit != d.unit {
			continue
		}
		figures = append(figures, f)
		highest = max(highest, f.Max)
		if !slices.Contains(cases, f.Case) {
			cases = append(cases, f.Case)
		}
		if !slices.Contains(systems, f.System) {
			systems = append(systems, f.System)
		}
	}
	if highest == 0 {
		return ""
	}
	var b strings.Builder
	d.frame(&b, t, systems, highest)
	slot := float64(innerWidth) / float64(len(cases))
	bar := slot * 0.8 / float64(len(systems))
	scale := float64(innerHeight) / ceiling(highest)
	for i, name := range cases {
		d.label(&b, left+slot*(float64(i)+0.5), name, min(11, slot/7))
	}
	for _, f := range figures {
		x := left + slot*(float64(slices.Index(cases, f.Case))+0.1) + bar*float64(slices.Index(systems, f.System))
		y := top + innerHeight - f.Median*scale
		fmt.Fprintf(&b, `<rect x="%.1f" y="%.1f" width="%.1f" height="%.1f" fill="%s"><title>%s</title></rect>`+"\n",
			x+1, y, bar-2, f.Median*scale, color(f.System), html.EscapeString(f.System+", "+f.Case+": "+commas(f.Median)))
		fmt.Fprintf(&b, `<path d="M%.1f %.1fV%.1f" stroke="#1f2328"/>`+"\n", x+bar/2, top+innerHeight-f.Min*scale, top+innerHeight-f.Max*scale)
		fmt.Fprintf(&b, `<text x="%.1f" y="%.1f" text-anchor="middle" font-size="10">%s</text>`+"\n", x+bar/2, top+innerHeight-f.Max*scale-4, commas(f.Median))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// label writes the name of a case under its bars, a line for each of its parts.
func (d drawing) label(b *strings.Builder, x float64, name string, size float64) {
	for i, part := range strings.Split(name, ", ") {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" text-anchor="middle" font-size="%.1f">%s</text>`+"\n", x, plotHeight-bottom+18+14*i, size, html.EscapeString(part))
	}
}

// frame draws what is round the bars.
func (d drawing) frame(b *strings.Builder, t *tally, systems []string, highest float64) {
	fmt.Fprintf(b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="system-ui, sans-serif" font-size="12" fill="#1f2328">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(b, `<rect width="%d" height="%d" fill="#fff"/>`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(b, `<text x="%d" y="20" font-size="14" font-weight="600">%s</text>`+"\n", left, html.EscapeString(d.title))
	subtitle := fmt.Sprintf("%s, %d cores; medians of %d, the lines reach from least to most", t.Started.Format("2006-01-02"), t.Machine.Cores, t.Runs)
	fmt.Fprintf(b, `<text x="%d" y="38" fill="#59636e">%s</text>`+"\n", left, html.EscapeString(subtitle))
	for i, system := range systems {
		x := left + 90*i
		fmt.Fprintf(b, `<rect x="%d" y="49" width="10" height="10" fill="%s"/><text x="%d" y="59">%s</text>`+"\n", x, color(system), x+14, system)
	}
	for i := range 6 {
		value := ceiling(highest) * float64(i) / 5
		y := top + innerHeight*(1-float64(i)/5)
		fmt.Fprintf(b, `<path d="M%d %.1fH%d" stroke="#d1d9e0"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, y, left+innerWidth, left-6, y+4, commas(value))
	}
}

// ceiling returns the least round number that is at least x, which is over 0.
func ceiling(x float64) float64 {
	unit := math.Pow(10, math.Floor(math.Log10(x)))
	for _, factor := range []float64{1, 1.5, 2, 3, 4, 5, 7.5} {
		if factor*unit >= x {
			return factor * unit
		}
	}
	return 10 * unit
}

// commas writes x with commas between thousands, and one digit after the point under 100.
func commas(x float64) string {
	if x < 100 {
		return strconv.FormatFloat(math.Round(10*x)/10, 'f', -1, 64)
	}
	text := strconv.FormatFloat(x, 'f', 0, 64)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

package bench

import (
	"fmt"
	"html/template"
	"math"
	"strconv"
	"strings"
)

// The size of a chart, in the SVG's own units, which are pixels at full width.
const (
	chartWidth, chartHeight = 860, 240
	marginLeft, marginRight = 70, 20
	marginTop, marginBottom = 30, 34
	plotWidth               = chartWidth - marginLeft - marginRight
	plotHeight              = chartHeight - marginTop - marginBottom
	wantTicks               = 5
)

// line is a series of a chart.
type line struct {
	name, color string
	ys          []float64 // as many as the chart has xs
}

// chart draws lines over time: xs are seconds.
type chart struct {
	title string
	xs    []float64
	lines []line
}

// svg returns the chart as an element that stands for itself.
func (c *chart) svg() template.HTML {
	top := 0.0
	for _, l := range c.lines {
		for _, y := range l.ys {
			top = max(top, y)
		}
	}
	right := 0.0
	if len(c.xs) > 0 {
		right = c.xs[len(c.xs)-1]
	}
	yTicks, xTicks := ticks(top), ticks(right)
	top, right = yTicks[len(yTicks)-1], max(right, xTicks[1])
	var b strings.Builder
	fmt.Fprintf(&b, `<svg viewBox="0 0 %d %d" role="img" aria-label="%s">`, chartWidth, chartHeight, template.HTMLEscapeString(c.title))
	fmt.Fprintf(&b, `<text x="%d" y="18" class="title">%s</text>`, marginLeft, template.HTMLEscapeString(c.title))
	for _, y := range yTicks {
		at := marginTop + plotHeight*(1-y/top)
		fmt.Fprintf(&b, `<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" class="grid"/>`, marginLeft, marginLeft+plotWidth, at, at)
		fmt.Fprintf(&b, `<text x="%d" y="%.1f" text-anchor="end">%s</text>`, marginLeft-6, at+4, grouped(y))
	}
	for _, x := range xTicks {
		if x <= right {
			fmt.Fprintf(&b, `<text x="%.1f" y="%d" text-anchor="middle">%s s</text>`, marginLeft+plotWidth*x/right, chartHeight-12, grouped(x))
		}
	}
	for i, l := range c.lines {
		c.draw(&b, l, right, top)
		fmt.Fprintf(&b, `<text x="%d" y="18" text-anchor="end" fill="%s">%s</text>`,
			marginLeft+plotWidth-90*(len(c.lines)-1-i), l.color, template.HTMLEscapeString(l.name))
	}
	b.WriteString("</svg>")
	return template.HTML(b.String()) // of numbers and escaped text
}

func (c *chart) draw(b *strings.Builder, l line, right, top float64) {
	fmt.Fprintf(b, `<polyline fill="none" stroke="%s" stroke-width="1.5" points="`, l.color)
	for i, y := range l.ys {
		fmt.Fprintf(b, "%.1f,%.1f ", marginLeft+plotWidth*c.xs[i]/right, marginTop+plotHeight*(1-y/top))
	}
	b.WriteString(`"/>`)
}

// ticks returns round numbers, as many as are wanted or some more, from 0 to the first one
// that is at least high. There are two at least.
func ticks(high float64) []float64 {
	if !(high > 0) {
		high = 1
	}
	step := math.Pow(10, math.Floor(math.Log10(high/wantTicks)))
	for _, factor := range []float64{1, 2, 5, 10} {
		if factor*step*wantTicks >= high {
			step *= factor
			break
		}
	}
	list := []float64{0}
	for n := 1.0; list[len(list)-1] < high; n++ {
		list = append(list, n*step)
	}
	return list
}

// grouped writes x with commas between thousands, and no more digits than it needs.
func grouped(x float64) string {
	text := strconv.FormatFloat(x, 'f', -1, 64)
	if x < 1000 {
		return strconv.FormatFloat(x, 'g', 6, 64)
	}
	whole, fraction, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if fraction == "" || x >= 1e4 {
		return whole
	}
	return whole + "." + fraction[:1]
}

package bench

import (
	"fmt"
	"html/template"
	"io"
	"time"
)

// WriteReport writes r as a page of HTML that needs nothing else: throughput and
// latency over time are drawn in it, and it runs no script.
func WriteReport(w io.Writer, r Result) error {
	return reportPage().Execute(w, struct {
		Started string
		Facts   []fact
		Load    []fact
		Charts  []template.HTML
	}{r.Load.Started.UTC().Format(time.DateTime + " UTC"), r.facts(), r.Load.facts(), r.charts()})
}

// fact is a line of a table.
type fact struct{ Name, Value string }

func (r *Result) facts() []fact {
	return []fact{
		{"operations/s", grouped(r.OpsPerS)},
		{"latency p50 / p99 / p99.9 / max", fmt.Sprintf("%v / %v / %v / %v ms", r.P50, r.P99, r.P999, r.Max)},
		{"longest gap, of all / of a group", fmt.Sprintf("%v / %v ms", r.MaxGap, r.MaxGroupGap)},
		{"answered / failed / unknown / not sent", fmt.Sprintf("%d / %d / %d / %d", r.OK, r.Errors, r.Unknown, r.Unsent)},
		{"measured for", fmt.Sprintf("%v s", r.Seconds)},
	}
}

func (d *Description) facts() []fact {
	loop := "closed loop"
	if d.Rate > 0 {
		loop = fmt.Sprintf("open loop, %s requests/s offered", grouped(d.Rate))
	}
	facts := []fact{
		{"load", loop},
		{"target", d.Target},
		{"clients × pipeline", fmt.Sprintf("%d × %d", d.Clients, d.Pipeline)},
		{"reads", fmt.Sprintf("%v %%, %s", rounded(100*d.Reads), orNone(d.Level))},
		{"keys", fmt.Sprintf("%d, Zipf %v", d.Keys, d.Zipf)},
		{"value size", d.ValueSize + " bytes"},
	}
	if d.TTL > 0 {
		facts = append(facts, fact{"time to live", fmt.Sprintf("%v s", d.TTL)})
	}
	if d.Wait > 0 {
		facts = append(facts, fact{"replicas waited for", fmt.Sprint(d.Wait)})
	}
	return facts
}

func orNone(text string) string {
	if text == "" {
		return "no level"
	}
	return text
}

func (r *Result) charts() []template.HTML {
	n := len(r.Series)
	at, ops, p50, p99, failed := make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n), make([]float64, n)
	for i, p := range r.Series {
		at[i], ops[i], p50[i], p99[i], failed[i] = p.At, p.OpsPerS, p.P50, p.P99, float64(p.Failed)
	}
	charts := []chart{
		{"Operations per second", at, []line{{"answered", "#1f6feb", ops}}},
		{"Latency, ms", at, []line{{"p50", "#1a7f37", p50}, {"p99", "#bc4c00", p99}}},
	}
	if r.Errors+r.Unknown > 0 {
		charts = append(charts, chart{"Requests without an answer", at, []line{{"failed", "#cf222e", failed}}})
	}
	var drawn []template.HTML
	for _, c := range charts {
		drawn = append(drawn, c.svg())
	}
	return drawn
}

func reportPage() *template.Template {
	return template.Must(template.New("report").Parse(`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>ringraft bench, {{.Started}}</title>
<style>
body { font: 15px/1.5 system-ui, sans-serif; color: #1f2328; max-width: 900px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.4em }
table { border-collapse: collapse; margin: 1em 0 }
td { padding: .15em 1.5em .15em 0; vertical-align: top }
td:first-child { color: #59636e }
svg { width: 100%; margin: .5em 0; font: 12px system-ui, sans-serif }
svg .title { font-weight: 600 }
svg .grid { stroke: #d1d9e0; stroke-width: 1 }
</style>
</head>
<body>
<h1>ringraft bench, {{.Started}}</h1>
<table>{{range .Facts}}<tr><td>{{.Name}}</td><td>{{.Value}}</td></tr>
{{end}}</table>
{{range .Charts}}{{.}}
{{end}}
<table>{{range .Load}}<tr><td>{{.Name}}</td><td>{{.Value}}</td></tr>
{{end}}</table>
</body>
</html>
`))
}

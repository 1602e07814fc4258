package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// leastRuns are those of which medians are compared.
const leastRuns = 3

// key names a figure.
type key struct{ row, name, system, unit string }

// figure is what was read of one thing, in all runs.
type figure struct {
	Row    string    `json:"row"`
	Case   string    `json:"case"`
	System string    `json:"system"`
	Setup  string    `json:"setup"`
	Unit   string    `json:"unit"`
	Values []float64 `json:"values"`
	Median float64   `json:"median"`
	Min    float64   `json:"min"`
	Max    float64   `json:"max"`
	// Idle and Steal are how busy the machine was when each value was read, in percent of
	// its processors' time; none where that cannot be seen.
	Idle  []float64 `json:"idle,omitempty"`
	Steal []float64 `json:"steal,omitempty"`
}

func (f *figure) key() key { return key{f.Row, f.Case, f.System, f.Unit} }

// ratio is how two medians relate, and what is to be reached.
type ratio struct {
	Name    string  `json:"name"`
	Ratio   float64 `json:"ratio"`
	Reach   float64 `json:"reach,omitempty"`
	Verdict string  `json:"verdict,omitempty"`
}

// tally is all that was measured, and the JSON that is written.
type tally struct {
	Started time.Time `json:"started"`
	Machine machine   `json:"machine"`
	// Versions are the systems' own, by their names.
	Versions map[string]string `json:"versions"`
	Runs     int               `json:"runs"`
	Seconds  float64           `json:"seconds"` // of one load
	Figures  []*figure         `json:"figures"`
	Ratios   []ratio           `json:"ratios"` // of medians
	Bounds   []bound           `json:"bounds"`
	// Skipped says what could not be measured here, and why.
	Skipped []string `json:"skipped,omitempty"`
}

// machine is where it was measured.
type machine struct {
	System string `json:"system"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel,omitempty"`
	CPU    string `json:"cpu,omitempty"`
	Cores  int    `json:"cores"`
	Go     string `json:"go"`
}

func newTally(o options) *tally {
	return &tally{Started: time.Now().UTC().Truncate(time.Second), Machine: thisMachine(), Runs: o.runs, Seconds: o.duration.Seconds()}
}

func thisMachine() machine {
	m := machine{System: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version()}
	if out, err := exec.Command("uname", "-r").Output(); err == nil {
		m.Kernel = strings.TrimSpace(string(out))
	}
	cpus, _ := os.ReadFile("/proc/cpuinfo") // where it is missing, so is the name
	for line := range strings.Lines(string(cpus)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			m.CPU = strings.Trim(name, "\t :\n")
			break
		}
	}
	return m
}

// add counts a reading, and sums up anew.
func (t *tally) add(s scenario, name string, r reading) {
	f := t.figure(key{s.row, name, s.system, r.unit})
	if f == nil {
		f = &figure{Row: s.row, Case: name, System: s.system, Setup: s.setup, Unit: r.unit}
		t.Figures = append(t.Figures, f)
	}
	f.Values = append(f.Values, math.Round(r.value*1000)/1000)
	if r.busy != nil {
		f.Idle = append(f.Idle, math.Round(10*r.busy.idle)/10)
		f.Steal = append(f.Steal, math.Round(10*r.busy.steal)/10)
	}
	f.Min, f.Max, f.Median = slices.Min(f.Values), slices.Max(f.Values), median(f.Values)
	t.Ratios, t.Bounds = t.ratios(), t.bounds()
}

// skip notes what could not be measured, once.
func (t *tally) skip(what string) {
	if !slices.Contains(t.Skipped, what) {
		t.Skipped = append(t.Skipped, what)
	}
}

// median returns the middle of the values in their order, or the mean of the two in the middle.
func median(values []float64) float64 {
	sorted, n := slices.Sorted(slices.Values(values)), len(values)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

func (t *tally) figure(k key) *figure {
	for _, f := range t.Figures {
		if f.key() == k {
			return f
		}
	}
	return nil
}

// ratios returns those of which both figures were measured.
func (t *tally) ratios() []ratio {
	var list []ratio
	for _, goal := range targets() {
		of, by := t.figure(goal.of), t.figure(goal.by)
		if of == nil || by == nil || by.Median == 0 {
			continue
		}
		r := ratio{Name: goal.name, Ratio: math.Round(100*of.Median/by.Median) / 100, Reach: goal.reach}
		switch {
		case r.Reach == 0: // nothing is wanted of it
		case r.Ratio < r.Reach:
			r.Verdict = missed
		case min(len(of.Values), len(by.Values)) < leastRuns:
			r.Verdict = unproven
		default:
			r.Verdict = reached
		}
		list = append(list, r)
	}
	return list
}

// print writes the figures and the ratios as tables.
func (t *tally) print(w io.Writer) error {
	fmt.Fprintf(w, "\n%s, %d cores of %s, %d runs\n\n", t.Started.Format(time.DateTime+" UTC"), t.Machine.Cores, t.Machine.CPU, t.Runs)
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ROW\tCASE\tSYSTEM\tMEDIAN\tMIN\tMAX\tUNIT\tIDLE %\tSTEAL %")
	for _, f := range t.Figures {
		system := strings.TrimSpace(f.System + " " + f.Setup)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Row, f.Case, system,
			short(f.Median), short(f.Min), short(f.Max), f.Unit, share(f.Idle), share(f.Steal))
	}
	if len(t.Ratios) > 0 {
		fmt.Fprintln(table, "\nRATIO OF MEDIANS\t\t\t\tTO REACH\t\t")
	}
	for _, r := range t.Ratios {
		reach := ""
		if r.Reach > 0 {
			reach = fmt.Sprint(r.Reach)
		}
		fmt.Fprintf(table, "%s\t\t\t%.2f\t%s\t%s\t\n", r.Name, r.Ratio, reach, r.Verdict)
	}
	if len(t.Bounds) > 0 {
		fmt.Fprintln(table, "\nFIGURE\t\t\t\tAT MOST\t\t")
	}
	for _, b := range t.Bounds {
		fmt.Fprintf(table, "%s\t\t\t%.2f\t%v\t%s\t%s\n", b.Name, b.Value, b.Most, b.Verdict, b.Why)
	}
	for _, what := range t.Skipped {
		fmt.Fprintf(table, "\n%s\n", what)
	}
	return table.Flush()
}

// share writes the median of percentages, "" if there is none.
func share(percent []float64) string {
	if len(percent) == 0 {
		return ""
	}
	return fmt.Sprintf("%.0f", median(percent))
}

// short writes a value with no more digits than say something.
func short(x float64) string {
	if x >= 100 || x == 0 {
		return fmt.Sprintf("%.0f", x)
	}
	return fmt.Sprintf("%.1f", x)
}

// write writes the tally as JSON to the file path.
func (t *tally) write(path string) error {
	b, err := json.MarshalIndent(t, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, append(b, '\n'), 0o644)
}

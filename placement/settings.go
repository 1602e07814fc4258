package placement

import "strings"

// Settings are what an operator can change while the cluster runs. In [New], zero
// fields mean the defaults.
type Settings struct {
	// MaxBytes is each group's limit on the logical bytes of its records.
	MaxBytes int64 `codec:"max_bytes"`
	// MaxValueBytes is the longest value that a client may write.
	MaxValueBytes int64 `codec:"max_value_bytes"`
}

// Setting is one of the settings, for people.
type Setting struct {
	Name  string // as Set takes it
	Value string // as Set takes it
	Help  string // one line: meaning, bounds, default
}

// setting describes a field of Settings, in bytes.
type setting struct {
	name, meaning      string
	least, most, usual int64 // usual is the default
	field              func(*Settings) *int64
}

// settings returns every setting, in the order in which they are listed.
func settings() []setting {
	return []setting{
		{
			name: "max-bytes", meaning: "logical bytes of records that each group holds before it evicts",
			least: 1 << 20, most: 1 << 50, usual: 256 << 20,
			field: func(s *Settings) *int64 { return &s.MaxBytes },
		},
		{
			name: "max-value-bytes", meaning: "bytes of the longest value",
			least: 1, most: 16 << 20, usual: 1 << 20,
			field: func(s *Settings) *int64 { return &s.MaxValueBytes },
		},
	}
}

// List returns the settings in a fixed order.
func (s Settings) List() []Setting {
	var list []Setting
	for _, d := range settings() {
		list = append(list, Setting{
			Name:  d.name,
			Value: FormatSize(*d.field(&s)),
			Help:  d.meaning + ", " + d.bounds() + ", default " + FormatSize(d.usual),
		})
	}
	return list
}

// Set returns s with the setting name at value. It refuses, with a [FieldError],
// names that are no setting and values out of bounds.
func (s Settings) Set(name, value string) (Settings, error) {
	for _, d := range settings() {
		if d.name != name {
			continue
		}
		n, err := ParseSize(value)
		if err != nil {
			return s, &FieldError{Field: name, Message: err.Error()}
		}
		changed := s
		*d.field(&changed) = n
		if err := d.check(changed); err != nil {
			return s, err
		}
		return changed, nil
	}
	return s, refuse("setting", "%.40q is not known; there are %s", name, settingNames())
}

func settingNames() string {
	var names []string
	for _, d := range settings() {
		names = append(names, d.name)
	}
	return strings.Join(names, ", ")
}

// withDefaults returns s with the default in every zero field.
func (s Settings) withDefaults() Settings {
	for _, d := range settings() {
		if n := d.field(&s); *n == 0 {
			*n = d.usual
		}
	}
	return s
}

func (s Settings) check() error {
	for _, d := range settings() {
		if err := d.check(s); err != nil {
			return err
		}
	}
	return nil
}

func (d setting) check(s Settings) error {
	if n := *d.field(&s); n < d.least || n > d.most {
		return refuse(d.name, "is %d bytes; it must lie %s", n, d.bounds())
	}
	return nil
}

func (d setting) bounds() string {
	return "between " + FormatSize(d.least) + " and " + FormatSize(d.most)
}

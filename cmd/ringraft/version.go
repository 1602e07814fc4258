package main

import (
	"runtime"
	"runtime/debug"

	"github.com/urfave/cli/v2"
)

func (con *console) versionCommand() *cli.Command {
	return &cli.Command{
		Name:        "version",
		Usage:       "print the program's version",
		Description: "ringraft version\nringraft version -o json",
		Flags:       []cli.Flag{outputFlag("text")},
		Action:      con.version,
	}
}

func (con *console) version(c *cli.Context) error {
	if _, err := arguments(c, 0, 0); err != nil {
		return err
	}
	inJSON, err := asJSON(c)
	if err != nil {
		return err
	}
	if inJSON {
		return con.printJSON(map[string]string{"version": version(), "go": runtime.Version()})
	}
	return con.printVersion()
}

func (con *console) printVersion() error {
	return con.print("ringraft " + version() + " " + runtime.Version())
}

// version returns the module version that the program was built from.
func version() string {
	build, ok := debug.ReadBuildInfo()
	if !ok || build.Main.Version == "" {
		return "(devel)"
	}
	return build.Main.Version
}

// Command chart packs the Helm chart; its tests hold the chart to what Kubernetes
// reads.
package main

import (
	"fmt"
	"os"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
)

func main() {
	if err := pack(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// pack writes the chart of a folder as an archive into another.
func pack(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: chart FOLDER OUT")
	}
	c, err := loader.Load(args[0])
	if err != nil {
		return err
	}
	path, err := chartutil.Save(c, args[1])
	if err == nil {
		fmt.Println(path)
	}
	return err
}

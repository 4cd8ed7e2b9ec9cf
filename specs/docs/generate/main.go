// Command generate writes the generated sections of README.md and actors/README.md; run by go generate.
package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/troupe-mq/troupe/specs/docs"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	cards, err := docs.Cards(filepath.Join(root, "actors"))
	if err != nil {
		return err
	}
	table, err := docs.ConfigurationTable(filepath.Join(root, "runtime"), "Config", "ConcurrentConfig", "OrderlyConfig", "BroadcastConfig", "PullConfig")
	if err != nil {
		return err
	}
	publisher, err := docs.ConfigurationTable(filepath.Join(root, "runtime"), "PublisherConfig")
	if err != nil {
		return err
	}
	cluster, err := docs.ConfigurationTable(filepath.Join(root, "adapters/rocketmq"), "Cluster", "Credentials", "AddressServer", "Environment")
	if err != nil {
		return err
	}
	for _, s := range []struct{ page, section, text string }{
		{"README.md", "cast", docs.Diagram(cards)},
		{"README.md", "configuration", table},
		{"README.md", "publisher configuration", publisher},
		{"README.md", "cluster configuration", cluster},
		{"actors/README.md", "cast", docs.CastTable(cards)},
		{"actors/README.md", "diagram", docs.Diagram(cards)},
	} {
		path := filepath.Join(root, s.page)
		page, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		out, err := docs.Replace(string(page), s.section, s.text)
		if err != nil {
			return fmt.Errorf("%s: %w", s.page, err)
		}
		if err := os.WriteFile(path, []byte(out), 0o644); err != nil {
			return err
		}
	}
	return nil
}

package config

import (
	"fmt"
	"io"
	"log/slog"
	"os"
)

// StateError wraps an error about an unusable state directory.
func StateError(err error) error {
	return fmt.Errorf("state directory: %w; XDG_STATE_HOME says where else it may be", err)
}

// OpenLog opens a log file. If file is empty, the logger writes nothing.
func OpenLog(file string) (*slog.Logger, io.Closer, error) {
	if file == "" {
		return slog.New(slog.DiscardHandler), io.NopCloser(nil), nil
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("log: %w", err)
	}
	return slog.New(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug})), f, nil
}

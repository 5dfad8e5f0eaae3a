package transcript

// FormatNames returns the formats that are read from a file.
func FormatNames() (names []string) {
	for _, f := range formats() {
		names = append(names, f.Name)
	}
	return names
}

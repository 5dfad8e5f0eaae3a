package tool

import "encoding/json"

// Failure returns the text of a failed FileOperationResult that has only the reason: a JSON object.
func Failure(code Code, message string) string {
	text, err := json.Marshal(struct {
		Success bool   `json:"success"`
		Error   string `json:"error"`
	}{false, string(code) + ": " + message})
	if err != nil {
		return `{"success":false}` // strings always marshal
	}
	return string(text)
}

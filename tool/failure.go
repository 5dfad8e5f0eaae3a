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

// Complaint returns the error that the text of a result has: a string, or the message of an object. It is "" if there is none.
func Complaint(text string) string {
	var result struct {
		Error json.RawMessage `json:"error"`
	}
	var words string
	var object struct{ Message string }
	if json.Unmarshal([]byte(text), &result) != nil || json.Unmarshal(result.Error, &words) == nil {
		return words
	}
	_ = json.Unmarshal(result.Error, &object) // another form has no message
	return object.Message
}

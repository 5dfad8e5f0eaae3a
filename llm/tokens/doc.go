// Package tokens counts the tokens of texts and requests: by an estimate from the characters ([Estimate]), exactly if the model's
// vocabulary is public ([Exact]), and from the usage that the provider reported ([FromUsage]). Reported usage also corrects the
// estimate ([Calibration], [Meter]).
//
// All counts are of decoded text: strings as a model reads them, not as a JSON body quotes them.
package tokens

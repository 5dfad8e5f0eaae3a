package demo

import (
	"encoding/json"

	"github.com/stet-dev/stet/llm/llmtest"
)

// script has the answers of the agent's model: it reads files several times, as agents do, and then changes some. No
// write needs the one before it.
func script() llmtest.Script {
	const beds, season = "beds.py", "season.py"
	return llmtest.Script{
		Turns: []llmtest.Turn{
			llmtest.Say("I look at how the beds are watered.", llmtest.Read(beds)),
			llmtest.Say("And at the calendar.", llmtest.Read(season)),
			llmtest.Say("Do the names agree? I look at the beds once more.", llmtest.Read(beds)),
			llmtest.Say("Mulch keeps a part of the water in the bed, and rain counts for the rows that it falls on.", replacing(beds,
				"WATER_LEVEL = 5", "WATER_LEVEL = 5  # litres that a row keeps of 1 mm of rain\nMULCH_KEEPS = 0.25",
				"    litres: float\n\n    def water", "    litres: float\n    mulched: bool = False\n\n    def water",
				"        need = self.litres * self.rows - rain * WATER_LEVEL\n        return max(0.0, round(need, 1))",
				"        need = (self.litres - rain * WATER_LEVEL / 10) * self.rows\n        if self.mulched:\n            need *= 1 - MULCH_KEEPS\n        return max(0.0, round(need, 1))",
				`    Bed("squash", rows=2, litres=3.5),`, `    Bed("squash", rows=2, litres=3.5, mulched=True),`,
				`    Bed("tomatoes", rows=3, litres=5.5),`, `    Bed("tomatoes", rows=3, litres=5.5, mulched=True),`)),
			llmtest.Say("I write down how it is reckoned.", llmtest.Write("WATER.md",
				"# Water\n\nA bed takes its litres a day for each row, less what the rain brings. Mulch\nkeeps a quarter of that in the ground.\n")),
			llmtest.Say("I look at the calendar once more.", llmtest.Read(season)),
			llmtest.Say("And the calendar can say which beds of the month are mulched.", replacing(season,
				"def check() -> list[str]:", "def mulched(month: str) -> list[str]:\n"+
					"    \"\"\"List the plants of a month whose beds are mulched.\"\"\"\n"+
					"    return [plant for plant in sow(month) if beds.find(plant).mulched]\n\n\ndef check() -> list[str]:")),
		},
		End: "That is all; what you let me write is written.",
	}
}

// replacing edits a file: texts has old and new text in turn.
func replacing(file string, texts ...string) llmtest.Action {
	type edit struct {
		Old string `json:"old_text"`
		New string `json:"new_text"`
	}
	args := struct {
		Path  string `json:"path"`
		Edits []edit `json:"edits"`
	}{Path: file}
	for i := 0; i+1 < len(texts); i += 2 {
		args.Edits = append(args.Edits, edit{texts[i], texts[i+1]})
	}
	b, err := json.Marshal(args)
	if err != nil {
		panic(err) // strings always marshal
	}
	return llmtest.Call("edit_file", string(b))
}

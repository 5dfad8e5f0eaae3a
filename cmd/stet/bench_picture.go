package main

import (
	"errors"
	"io"
	"math"

	"github.com/wcharczuk/go-chart/v2"
	"github.com/wcharczuk/go-chart/v2/drawing"

	"github.com/stet-dev/stet/history"
	"github.com/stet-dev/stet/prices"
	"github.com/stet-dev/stet/replay"
)

// The colours of the picture: our policies, those of others, bounds.
var (
	oursColour  = drawing.ColorFromHex("2f6f4f")
	otherColour = drawing.ColorFromHex("9aa5b1")
	boundColour = drawing.ColorFromHex("d9c38c")
)

// benchPicture draws what every policy costs beside off, a bar each, as SVG.
func benchPicture(w io.Writer, b *replay.Bench) error {
	low, high := -5.0, 5.0
	var bars []chart.Value
	for _, f := range b.Policies {
		if f.Name == string(history.Off) {
			continue
		}
		rel := 100 * f.Rel
		low, high = min(low, rel-5), max(high, rel+5)
		colour := otherColour
		if _, err := history.ParsePolicy(f.Name); err == nil {
			colour = oursColour
		} else if f.Source == "" {
			colour = boundColour
		}
		bars = append(bars, chart.Value{
			Value: rel, Label: f.Name + " " + signed(f.Rel),
			Style: chart.Style{FillColor: colour, StrokeColor: colour, StrokeWidth: 1},
		})
	}
	if len(bars) == 0 {
		return errors.New("there is no policy beside off")
	}
	picture := chart.BarChart{
		Title:      "Input cost beside off, per cent (" + prices.Anthropic5m + ", " + count(b.Sessions, "session") + ")",
		TitleStyle: chart.Style{FontSize: 12},
		Background: chart.Style{Padding: chart.Box{Top: 50, Left: 20, Right: 20, Bottom: 130}},
		Width:      max(480, 120+66*len(bars)), Height: 580, BarWidth: 40, BarSpacing: 24,
		XAxis:        chart.Style{TextRotationDegrees: 60, FontSize: 9, TextWrap: chart.TextWrapNone},
		YAxis:        chart.YAxis{Range: &chart.ContinuousRange{Min: low, Max: high}, Ticks: tens(low, high)},
		UseBaseValue: true,
		Bars:         bars,
	}
	return picture.Render(chart.SVG, w)
}

// tens returns the ticks between low and high that are multiples of ten.
func tens(low, high float64) []chart.Tick {
	var ticks []chart.Tick
	for v := 10 * math.Ceil(low/10); v <= high; v += 10 {
		ticks = append(ticks, chart.Tick{Value: v, Label: signed(v / 100)})
	}
	return ticks
}

package main

import (
	"fmt"
	"sync"
)

// line is a row of the table: work that stet and another program do.
type line struct {
	work, stet, peer string
	beside           string // the other program
	ratio            string // stet ÷ the other program, unless the text says otherwise
	goal             string
}

var printHead = sync.OnceFunc(func() {
	fmt.Println("\n| work | stet | peer | beside | stet ÷ peer | goal |\n|---|--:|--:|---|--:|---|")
})

func (l line) print() {
	printHead()
	fmt.Printf("| %s | %s | %s | %s | %s | %s |\n", l.work, l.stet, l.peer, l.beside, l.ratio, l.goal)
}

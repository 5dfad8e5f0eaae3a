package sqlite

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// Messages are divided into blocks, in the order in which they were stored. Blocks are grouped into segments. Each segment has a
// table of bits. The table has one row for each hash of two, three or five bytes, and each row has one bit for each block. The
// bit is set if a text of the block contains bytes with that hash. So a block that contains a word has the bits of all hashes of
// the word set. If all these bits are set, the block may contain the word, and its texts are read.
const (
	blockBytes    = 24 << 10 // minimum size of the bodies in a block; the last block of a segment may be smaller
	segmentBlocks = 256      // maximum number of blocks in a segment
	segmentBytes  = blockBytes * segmentBlocks
	hashBits      = 16
	rowBytes      = segmentBlocks / 8
	partRows      = 126 // rows of a part: as many as fit into a page of the database
	parts         = (1<<hashBits + partRows - 1) / partRows
	partsKey      = 1024 // factor of the segment in a key; greater than parts
	maxHashes     = 40   // maximum number of rows that a search reads from a table
)

// block is the stored data of a block, without its bits.
type block struct {
	until  int64 // place of its last message
	newest int64 // time of its newest message, in microseconds
}

// hashes has a bit for each hash that is in the texts of a block.
type hashes [1 << hashBits / 64]uint64

// hashOf returns the hash of the last n bytes of a text. last has the last 8 bytes, and the last byte is the highest.
func hashOf(last uint64, n int) uint32 {
	return uint32((last>>(64-8*n) + uint64(n)<<40) * 0x9e3779b97f4a7c15 >> (64 - hashBits))
}

// add adds the hashes of a text.
func (h *hashes) add(text string) {
	var last uint64
	for i := range len(text) {
		last = last>>8 | uint64(text[i])<<56
		for _, n := range [...]int{2, 3, 5} {
			if i+1 >= n {
				bit := hashOf(last, n)
				h[bit/64] |= 1 << (bit % 64)
			}
		}
	}
}

// table returns the table of bits of a segment with these blocks, in parts.
func table(blocks []*hashes) [][]byte {
	out := make([][]byte, parts)
	for i := range out {
		out[i] = make([]byte, partRows*rowBytes)
	}
	for i, b := range blocks {
		for at, word := range b {
			for ; word != 0; word &= word - 1 {
				n := at*64 + bits.TrailingZeros64(word)
				out[n/partRows][n%partRows*rowBytes+i/8] |= 1 << (i % 8)
			}
		}
	}
	return out
}

// wordHashes returns hashes that a block with all the words must have. The result is empty if each word has less than two bytes.
func wordHashes(words []string) (out []uint32) {
	for _, w := range words {
		var last uint64
		for i := range len(w) {
			last = last>>8 | uint64(w[i])<<56
			for _, n := range [...]int{2, 3, 5} {
				if i+1 >= n && (n > 2 || len(w) == 2) { // three bytes select better than two
					out = append(out, hashOf(last, n))
				}
			}
		}
	}
	slices.Sort(out)
	out = slices.Compact(out)
	return out[:min(len(out), maxHashes)]
}

// filterStatement returns a statement that reads all segments in order: for each its blocks, and its rows for these hashes.
func filterStatement(of []uint32) string {
	var b strings.Builder
	b.WriteString("SELECT blocks")
	for _, n := range of {
		fmt.Fprintf(&b, ", (SELECT substr(bits, %d, %d) FROM words_bits WHERE key = segment * %d + %d)",
			n%partRows*rowBytes+1, rowBytes, partsKey, n/partRows)
	}
	b.WriteString(" FROM words_blocks ORDER BY segment")
	return b.String()
}

// inAll returns the numbers of the blocks whose bit is set in all rows.
func inAll[R ~[]byte](rows []R, blocks int) []int {
	all := slices.Repeat([]byte{math.MaxUint8}, rowBytes)
	for _, row := range rows {
		if len(row) < rowBytes {
			continue // the row is missing: any block may have the hash
		}
		for i := range all {
			all[i] &= row[i]
		}
	}
	var out []int
	for i := range blocks {
		if all[i/8]>>(i%8)&1 == 1 {
			out = append(out, i)
		}
	}
	return out
}

func packBlocks(blocks []block) []byte {
	var out []byte
	for _, b := range blocks {
		out = binary.LittleEndian.AppendUint64(out, uint64(b.until))
		out = binary.LittleEndian.AppendUint64(out, uint64(b.newest))
	}
	return out
}

func unpackBlocks(p []byte) (out []block) {
	for ; len(p) >= 16; p = p[16:] {
		out = append(out, block{int64(binary.LittleEndian.Uint64(p)), int64(binary.LittleEndian.Uint64(p[8:]))})
	}
	return out
}

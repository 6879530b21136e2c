package search

// BM25 returns the parameters of BM25 for texts of a mean length in words: k1, how much a word's repetition counts, and b,
// how much a text's length counts against it. A turn of ten words repeats nothing and is as long as what it says. A page
// repeats what it is about, and holds more words of any query the longer it is.
func BM25(mean float64) (k1, b float64) {
	t := pages(mean)
	return .6 + t*(1.2-.6), .3 + t*(.75-.3)
}

// pages returns how much texts of a mean length in words are like pages, 0 to 1.
func pages(mean float64) float64 {
	const short, long = 30, 80
	return min(1, max(0, (mean-short)/(long-short)))
}

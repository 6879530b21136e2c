package parsers

import (
	"strconv"
	"strings"
	"sync"

	"golang.org/x/text/unicode/norm"
)

// standardHigh is the upper half of PDF's StandardEncoding, as far as it is used.
var standardHigh = sync.OnceValue(func() map[int]string {
	return map[int]string{
		0xa1: "¡",
		0xa2: "¢",
		0xa3: "£",
		0xa4: "⁄",
		0xa5: "¥",
		0xa6: "ƒ",
		0xa7: "§",
		0xa8: "¤",
		0xa9: "'",
		0xaa: "“",
		0xab: "«",
		0xac: "‹",
		0xad: "›",
		0xae: "fi",
		0xaf: "fl",
		0xb1: "–",
		0xb2: "†",
		0xb3: "‡",
		0xb4: "·",
		0xb6: "¶",
		0xb7: "•",
		0xb8: "‚",
		0xb9: "„",
		0xba: "”",
		0xbb: "»",
		0xbc: "…",
		0xbd: "‰",
		0xbf: "¿",
		0xc1: "`",
		0xc2: "´",
		0xc3: "ˆ",
		0xc4: "˜",
		0xc5: "¯",
		0xc6: "˘",
		0xc7: "˙",
		0xc8: "¨",
		0xca: "˚",
		0xcb: "¸",
		0xcd: "˝",
		0xce: "˛",
		0xcf: "ˇ",
		0xd0: "—",
		0xe1: "Æ",
		0xe3: "ª",
		0xe8: "Ł",
		0xe9: "Ø",
		0xea: "Œ",
		0xeb: "º",
		0xf1: "æ",
		0xf5: "ı",
		0xf8: "ł",
		0xf9: "ø",
		0xfa: "œ",
		0xfb: "ß",
	}
})

// glyphs names what is neither a letter nor a letter with an accent.
var glyphs = sync.OnceValue(glyphTable)

func glyphTable() map[string]string {
	m := map[string]string{}
	const ascii = "space exclam quotedbl numbersign dollar percent ampersand quotesingle parenleft parenright asterisk plus " +
		"comma hyphen period slash " +
		"zero one two three four five six seven eight nine colon semicolon less equal greater question at"
	for i, name := range strings.Fields(ascii) {
		m[name] = string(rune(' ' + i))
	}
	const pairs = "bracketleft [ backslash \\ bracketright ] asciicircum ^ underscore _ grave ` braceleft { bar | braceright } " +
		"asciitilde ~ quoteright ’ quoteleft ‘ quotedblleft “ quotedblright ” quotedblbase „ quotesinglbase ‚ " +
		"guillemotleft « guillemotright » guilsinglleft ‹ guilsinglright › endash – emdash — bullet • ellipsis … dagger " +
		"† daggerdbl ‡ section § paragraph ¶ periodcentered · perthousand ‰ minus − fi fi fl fl ff ff ffi ffi ffl ffl " +
		"germandbls ß AE Æ ae æ OE Œ oe œ Oslash Ø oslash ø Lslash Ł lslash ł dotlessi ı Eth Ð eth ð Thorn Þ thorn þ " +
		"exclamdown ¡ questiondown ¿ cent ¢ sterling £ yen ¥ Euro € euro € currency ¤ florin ƒ copyright © registered ® " +
		"trademark ™ degree ° plusminus ± multiply × divide ÷ fraction ⁄ onehalf ½ onequarter ¼ threequarters ¾ onesuperior " +
		"¹ twosuperior ² threesuperior ³ mu µ ordfeminine ª ordmasculine º brokenbar ¦ logicalnot ¬ acute ´ dieresis ¨ " +
		"macron ¯ cedilla ¸ circumflex ˆ tilde ˜ caron ˇ breve ˘ ring ˚ lessequal ≤ greaterequal ≥ notequal ≠ approxequal " +
		"≈ infinity ∞ summation ∑ product ∏ integral ∫ radical √ partialdiff ∂ element ∈ arrowright → arrowleft ← " +
		"arrowup ↑ arrowdown ↓ arrowdblright ⇒ universal ∀ existential ∃ emptyset ∅ union ∪ intersection ∩ alpha α " +
		"beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ nu ν xi ξ omicron ο pi π rho ρ " +
		"sigma σ tau τ upsilon υ phi φ chi χ psi ψ omega ω Gamma Γ Delta Δ Theta Θ Lambda Λ Xi Ξ Pi Π Sigma Σ Phi Φ Psi " +
		"Ψ Omega Ω nbspace \u2007 sfthyphen - hyphenminus -"
	fields := strings.Split(pairs, " ")
	for i := 0; i+1 < len(fields); i += 2 {
		m[fields[i]] = fields[i+1]
	}
	return m
}

// accents maps the end of a glyph's name to the mark that combines with the letter before it.
var accents = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"acute":        "\u0301",
		"grave":        "\u0300",
		"circumflex":   "\u0302",
		"dieresis":     "\u0308",
		"tilde":        "\u0303",
		"ring":         "\u030a",
		"caron":        "\u030c",
		"cedilla":      "\u0327",
		"macron":       "\u0304",
		"breve":        "\u0306",
		"ogonek":       "\u0328",
		"dotaccent":    "\u0307",
		"hungarumlaut": "\u030b",
		"commaaccent":  "\u0326",
	}
})

// glyphText returns the text that a glyph's name stands for: from the tables, from a number behind uni or u, or letter and accent.
func glyphText(name string) string {
	if base, _, cut := strings.Cut(name, "."); cut && base != "" {
		name = base
	}
	if t, ok := glyphs()[name]; ok {
		return t
	}
	if len(name) == 1 {
		return name
	}
	if strings.Contains(name, "_") && len(name) < 64 {
		var b strings.Builder
		for part := range strings.SplitSeq(name, "_") {
			if part != "" {
				b.WriteString(glyphText(part))
			}
		}
		return b.String()
	}
	for _, prefix := range []string{"uni", "u"} {
		digits, ok := strings.CutPrefix(name, prefix)
		if !ok || len(digits) < 4 || len(digits) > 6 {
			continue
		}
		if v, err := strconv.ParseUint(digits, 16, 32); err == nil && v > 0 && v < 0x110000 {
			return string(rune(v))
		}
	}
	if mark, ok := accents()[name[1:]]; ok {
		return norm.NFC.String(name[:1] + mark)
	}
	return ""
}
